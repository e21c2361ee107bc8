package match_test

import (
	"testing"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// TestPlainName: no value of a plain name can look like another part.
func TestPlainName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"CN=ann": true, "CN=ann,OU=staff,O=Example Inc.": true, "CN=a#b,emailAddress=a@b.test,1.2.3=x": true, "DC=a,DC=b": true,
		"": false, "CN": false, "CN=": false, "=a": false, "CN=a,": false, ",CN=a": false, "CN=a=b": false, "CN=OU=staff": false, "CN=a\\,OU=staff": false,
		"CN=a+OU=b": false, "1.2.3=#0C0161": false, "CN=a\"b": false, "CN=a\\0Ab": false, "CN=a\nb": false, "CN=zo\u00eb": false, "CN=a\x00": false, "CN=a;b": false, "C N=a": false,
	} {
		if got, _ := match.PlainName(name); got != want {
			t.Errorf("%q is plain: %t", name, got)
		}
	}
	if _, n := match.PlainName("CN=a,OU=CN,CN=b"); n != 2 {
		t.Errorf("%d common names", n)
	}
}

// TestAdmitsSubject: expressions match whole names, and the last common name only if it is the
// only one.
func TestAdmitsSubject(t *testing.T) {
	t.Parallel()
	c := &model.ClientCertificate{Subjects: []model.Subject{
		{Value: "CN=exact"},
		{Prefix: true, Value: "CN=pre"},
		{Common: true, Value: "exact,2"},
		{Expression: true, Longest: 10, Value: `\A(?:CN=r[0-9]*)\z`},
		{Common: true, Expression: true, Longest: 5, Value: `\A(?:a[b]*)\z`},
	}}
	for _, tt := range []struct {
		name, common string
		want         bool
	}{
		{"CN=exact", "exact", true},
		{"CN=prefix", "prefix", true},
		{`CN=exact\,2`, "exact,2", true},
		{"CN=other", "other", false},
		{"CN=r1", "r1", true},
		{"CN=r123456", "r123456", true},
		{"CN=r1234567", "r1234567", false},
		{"CN=r1,O=x", "r1", false},
		{"CN=ab,O=x", "ab", true},
		{"CN=ab,CN=x", "ab", false},
		{`CN=ab,O=x\,y`, "ab", false},
		{"CN=abbbbb", "abbbbb", false},
		{"O=x", "", false},
		{"", "", false},
	} {
		if got := match.AdmitsSubject(c, tt.name, tt.common); got != tt.want {
			t.Errorf("%s is let in: %t", tt.name, got)
		}
	}
	if !match.AdmitsSubject(&model.ClientCertificate{}, "", "") {
		t.Error("without subjects, each is let in")
	}
}
