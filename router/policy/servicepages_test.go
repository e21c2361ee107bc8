package policy

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/model"
)

// FuzzPageUse: whatever a pod answers, its type is one word without what separates values in
// HAProxy's maps, and a page fits.
func FuzzPageUse(f *testing.F) {
	f.Add([]byte("<h1>gone</h1>"), "text/html; charset=utf-8")
	f.Add([]byte(""), "")
	f.Add([]byte("x"), "a/b|c\r\n; charset=\"%[src]\"")
	f.Add([]byte("\x00\xff"), "text/html;charset=utf-8;charset=x")
	f.Fuzz(func(t *testing.T, text []byte, kind string) {
		use, err := NewPageUse(text, kind)
		if err != nil {
			return
		}
		if use.Text != string(text) || len(use.Text) == 0 || len(use.Text) > model.MaxPage {
			t.Errorf("a page of %d bytes", len(use.Text))
		}
		if use.Type == "" || strings.ContainsFunc(use.Type, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("|\"%\\,", c) }) {
			t.Errorf("the type %q", use.Type)
		}
	})
}
