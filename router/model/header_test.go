package model

import (
	"strings"
	"testing"
)

// TestHeaderName: names are tokens of RFC 9110, as the CRDs have it.
func TestHeaderName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"X-User": true, "x_user": true, "A!#$%&'*+.^_`|~-9": true, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false,
		"": false, "a b": false, "a:": false, "a\n": false, "a\r\nb": false, "a\x00": false, "\u00e9": false, "a(b)": false, "a/b": false, "a=b": false, "a;b": false, "a\"b": false,
	} {
		if HeaderName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
