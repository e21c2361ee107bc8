package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// pagesOf reads errors with some ConfigMaps, by name.
func pagesOf(maps map[string]map[string]string, errorPages ...v1alpha1.ErrorPage) (*model.Pages, []Problem) {
	r := PageReader{ConfigMap: func(name string) (*ConfigMap, error) {
		data, ok := maps[name]
		if !ok {
			return nil, errors.New("no " + name)
		}
		return NewConfigMap(&corev1.ConfigMap{Data: data}), nil
	}}
	return r.Read(&v1alpha1.Pages{Errors: errorPages})
}

func page(codes, name, key string) v1alpha1.ErrorPage {
	e := v1alpha1.ErrorPage{ConfigMap: &v1alpha1.PageSource{Name: v1alpha1.ObjectName(name), Key: key}}
	for code := range strings.FieldsSeq(codes) {
		e.Codes = append(e.Codes, v1alpha1.StatusCodes(code))
	}
	return e
}

func TestPages(t *testing.T) {
	t.Parallel()
	site := map[string]map[string]string{"site": {
		"404": "bare", "5xx.json": "class", "503.txt": "exact", "error-page-502.http": "HTTP/1.1 502 Bad\r\nX: y\r\nContent-Type: text/css\r\n\r\nwhole",
		"501.http": "no answer", "50x": "no class", "299.html": "no error", "logo.svg": "x", "long.html": strings.Repeat("x", model.MaxPage+1), "empty": "",
	}}
	tests := map[string]struct {
		errors []v1alpha1.ErrorPage
		// want are pages of pods: status, text and type.
		want    map[int]string
		problem string
	}{
		"keys named after statuses": {
			[]v1alpha1.ErrorPage{page("", "site", "")},
			map[int]string{404: "bare text/html;charset=utf-8", 500: "class application/json", 503: "exact text/plain;charset=utf-8", 502: "whole text/css", 501: "no answer text/html;charset=utf-8", 405: ""},
			"",
		},
		"some of them":       {[]v1alpha1.ErrorPage{page("500-502", "site", "")}, map[int]string{404: "", 500: "class application/json", 503: ""}, ""},
		"the first one wins": {[]v1alpha1.ErrorPage{page("404", "site", "503.txt"), page("", "site", "")}, map[int]string{404: "exact text/plain;charset=utf-8", 500: "class application/json"}, ""},
		"too long":           {[]v1alpha1.ErrorPage{page("404", "site", "long.html")}, map[int]string{404: ""}, "longer than 16000 bytes"},
		"empty":              {[]v1alpha1.ErrorPage{page("404", "site", "empty")}, map[int]string{404: ""}, "is empty"},
		"no key":             {[]v1alpha1.ErrorPage{page("404", "site", "none")}, map[int]string{404: ""}, "does not exist"},
		"no ConfigMap":       {[]v1alpha1.ErrorPage{page("404", "none", "")}, map[int]string{404: ""}, "no none"},
		"no status":          {[]v1alpha1.ErrorPage{page("", "other", "")}, map[int]string{404: ""}, "no other"},
		"wrong range":        {[]v1alpha1.ErrorPage{page("599-400", "site", "404")}, map[int]string{404: ""}, "neither a status"},
		"no error":           {[]v1alpha1.ErrorPage{page("200", "site", "404")}, map[int]string{200: ""}, "neither a status"},
		"hostile code":       {[]v1alpha1.ErrorPage{page("4\n4", "site", "404")}, map[int]string{404: ""}, "neither a status"},
		"a key alone":        {[]v1alpha1.ErrorPage{page("", "site", "404")}, map[int]string{404: ""}, "needs codes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problems := pagesOf(site, test.errors...)
			for status, want := range test.want {
				text := ""
				if got != nil && got.Pod[status].Page != nil {
					text = got.Pod[status].Text + " " + got.Pod[status].Type
				}
				if text != want {
					t.Errorf("%d shows %q, want %q", status, text, want)
				}
			}
			if text := fmt.Sprint(problems); test.problem == "" && len(problems) > 0 || !strings.Contains(text, test.problem) {
				t.Errorf("problems %s, want %q", text, test.problem)
			}
		})
	}
}

// TestPagesOfOneRoute: more different pages than a route may show are left out.
func TestPagesOfOneRoute(t *testing.T) {
	t.Parallel()
	data := map[string]string{}
	for status := 400; status < 440; status++ {
		data[fmt.Sprint(status)] = fmt.Sprint("page ", status)
	}
	got, problems := pagesOf(map[string]map[string]string{"a": data}, page("", "a", ""))
	if len(got.Asked()) != maxPages || len(problems) != 1 || problems[0].Reason != api.ReasonLimitExceeded {
		t.Errorf("%d pages, %v", len(got.Asked()), problems)
	}
}

// FuzzPages: whatever a ConfigMap and a policy hold, each value for HAProxy is one word.
func FuzzPages(f *testing.F) {
	f.Add("404.html", "<h1>x</h1>\n", "text/html; charset=utf-8", "404")
	f.Add("error-page-503.http", "HTTP/1.0 503 x\r\ncontent-type: a/b;charset=c d\r\n\r\nx", "", "400-599")
	for _, s := range []string{"a\nb", "a\tb", "a\rb", "a\x00b", "a\fb", "text/html\n", "a/b|c", "a/b;charset=x|y"} {
		f.Add(s, s, s, s)
		f.Add("503.http", "HTTP/1.0 503 x\nContent-Type: "+s+"\n\nx", s, "503")
	}
	f.Fuzz(func(t *testing.T, key, text, kind, codes string) {
		for _, k := range []string{"", key} {
			e := page(codes, "a", k)
			e.ContentType = kind
			got, _ := pagesOf(map[string]map[string]string{"a": {key: text}}, e)
			for key, use := range got.Keys() {
				word := key + use.Word()
				if strings.Count(word, "|") != 1 || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
					t.Fatalf("%q", word)
				}
				if len(use.Text) > model.MaxPage || use.Text == "" {
					t.Fatalf("a page of %d bytes", len(use.Text))
				}
			}
		}
	})
}
