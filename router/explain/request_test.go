package explain

import (
	"strings"
	"testing"
)

func TestParseRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args RequestArgs
		want Request // URL and Headers are not compared
		err  string
	}{
		{"host only", RequestArgs{URL: "http://a.test"}, Request{Host: "a.test", Path: "/"}, ""},
		{"query without path", RequestArgs{URL: "http://a.test?x=1"}, Request{Host: "a.test", Path: "/", Query: "?x=1"}, ""},
		{"raw path", RequestArgs{URL: "http://a.test//x/../%66?a=/b#frag"}, Request{Host: "a.test", Path: "//x/../%66", Query: "?a=/b"}, ""},
		{"user and port", RequestArgs{URL: "https://me:pw@A.test:8443/x"}, Request{Secure: true, Host: "A.test:8443", Path: "/x", SNI: "A.test"}, ""},
		{"websocket", RequestArgs{URL: "wss://a.test/ws"}, Request{Secure: true, Host: "a.test", Path: "/ws", SNI: "a.test"}, ""},
		{"no name for an address", RequestArgs{URL: "https://[2001:db8::1]:443/"}, Request{Secure: true, Host: "[2001:db8::1]:443", Path: "/"}, ""},
		{"host header", RequestArgs{URL: "https://10.0.0.1/", Headers: []string{"hOST: b.test:80"}}, Request{Secure: true, Host: "b.test:80", Path: "/"}, ""},
		{"other name", RequestArgs{URL: "https://a.test/", SNI: "b.test", SNISet: true}, Request{Secure: true, Host: "a.test", Path: "/", SNI: "b.test"}, ""},
		{"no name", RequestArgs{URL: "https://a.test/", SNI: "-", SNISet: true}, Request{Secure: true, Host: "a.test", Path: "/"}, ""},
		{"scheme missing", RequestArgs{URL: "a.test/x"}, Request{}, "write http://a.test/x or https://a.test/x"},
		{"other scheme", RequestArgs{URL: "ftp://a.test/x"}, Request{}, "not one of http, https, ws and wss"},
		{"no host", RequestArgs{URL: "http:///x"}, Request{}, "names no host"},
		{"port", RequestArgs{URL: "http://a.test:99999/"}, Request{}, "not a number from 1 to 65535"},
		{"space", RequestArgs{URL: "http://a.test/a b"}, Request{}, "percent-encode"},
		{"beyond ASCII", RequestArgs{URL: "http://bücher.test/"}, Request{}, "punycode"},
		{"header", RequestArgs{URL: "http://a.test/", Headers: []string{"no colon"}}, Request{}, "write -H 'Name: value'"},
		{"header lines", RequestArgs{URL: "http://a.test/", Headers: []string{"A: b\r\nC: d"}}, Request{}, "one line"},
		{"client address", RequestArgs{URL: "http://a.test/", ClientIP: "x"}, Request{}, "not an IP address"},
		{"name without TLS", RequestArgs{URL: "http://a.test/", SNI: "b", SNISet: true}, Request{}, "write https://"},
	} {
		r, err := ParseRequest(tt.args)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		default:
			got := *r
			got.URL, got.Headers = "", nil
			if got.Host != tt.want.Host || got.Path != tt.want.Path || got.Query != tt.want.Query || got.SNI != tt.want.SNI || got.Secure != tt.want.Secure {
				t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
			}
		}
	}
}

// TestParseSubject: the name in a certificate is read as OpenSSL writes it by RFC 2253, and its
// first common name is the last one of the certificate.
func TestParseSubject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, name, common, wrong string }{
		{"CN=alice", "CN=alice", "alice", ""},
		{"subject=CN=alice,OU=a\\,b,O=X", "CN=alice,OU=a\\,b,O=X", "alice", ""},
		{"O=X,CN=first+UID=1,CN=second", "O=X,CN=first+UID=1,CN=second", "first", ""},
		{`CN=a\2Cb\C3\BC\+`, `CN=a\2Cb\C3\BC\+`, "a,bü+", ""},
		{"O=X", "O=X", "", ""},
		{"/CN=alice", "", "", "not a name as RFC 2253"},
		{"CN = alice, O = X", "", "", "not a name as RFC 2253"},
		{"alice", "", "", "not a name as RFC 2253"},
		{"CN=alice,", "", "", "not a name as RFC 2253"},
		{"CN=alice\\", "", "", "escape"},
		{`CN=alice,O=\z`, "", "", "escape"},
	} {
		r, err := ParseRequest(RequestArgs{URL: "https://a.test/", Subject: tt.text})
		switch {
		case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)):
			t.Errorf("%q: error %v, want %q", tt.text, err, tt.wrong)
		case tt.wrong == "" && err != nil:
			t.Errorf("%q: %v", tt.text, err)
		case tt.wrong == "" && *r.Subject != (Subject{Name: tt.name, Common: tt.common}):
			t.Errorf("%q: %+v", tt.text, *r.Subject)
		}
	}
	if r, err := ParseRequest(RequestArgs{URL: "https://a.test/", Subject: "-"}); err != nil || !r.Subject.None {
		t.Errorf("no certificate: %+v, %v", r, err)
	}
	if _, err := ParseRequest(RequestArgs{URL: "http://a.test/", Subject: "CN=a"}); err == nil {
		t.Error("a name without TLS is taken")
	}
}

// FuzzParseRequest: whatever is taken could be sent as it is, on one line.
func FuzzParseRequest(f *testing.F) {
	f.Add("http://a.test/x?y#z", "Host: b.test", "b.test", "10.0.0.1")
	f.Add("https://u@[::1]:443//%2f", "Cookie: a=b; c=d", "-", "::ffff:10.0.0.1")
	f.Add("wss://*.test", ":", "", "")
	for _, s := range []string{"\n", "\t", "\r", "\x00", "\f"} {
		f.Add("http://a.test/x"+s+"y?a"+s, "A: b"+s+"c", "a"+s, "10.0.0.1"+s)
	}
	f.Fuzz(func(t *testing.T, url, header, sni, ip string) {
		r, err := ParseRequest(RequestArgs{URL: url, Headers: []string{header}, SNI: sni, SNISet: sni != "", ClientIP: ip})
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		for what, text := range map[string]string{"host": r.Host, "path": r.Path, "query": r.Query, "server name": r.SNI} {
			if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
				t.Errorf("%s %q would break the request line", what, text)
			}
		}
		if !strings.HasPrefix(r.Path, "/") || strings.ContainsAny(r.Path, "?#") || r.Query != "" && r.Query[0] != '?' {
			t.Errorf("path %q, query %q", r.Path, r.Query)
		}
		for _, h := range r.Headers {
			if strings.ContainsAny(h.Name+h.Value, "\r\n") {
				t.Errorf("header %q would be two", h)
			}
		}
		if again, err := ParseRequest(RequestArgs{URL: url}); err != nil || again.Path != r.Path {
			t.Errorf("headers changed the path: %v, %v", again, err)
		}
	})
}
