package cases

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/openid"
)

// report has the provider report a logout, or another client something like it.
func (b *loginBed) report(host, body string, change ...func(*request)) response {
	b.t.Helper()
	r := request{
		method: "POST", tls: true, host: host, target: "/oauth2/logout/backchannel", header: []string{"Content-Type: application/x-www-form-urlencoded"},
		form: body, body: len(body),
	}
	for _, f := range change {
		f(&r)
	}
	return r.do(b.http, b.https)
}

// in logs in with a name of the session at the provider.
func (b *loginBed) in(sid string) *browser {
	b.t.Helper()
	b.op.Set(func(o *openid.Options) { o.Claims = func(c map[string]any) { c["sid"] = sid } })
	w := b.browser("shop.po.test")
	w.login("/")
	w.must("GET", "/", 200)
	return w
}

func logoutOf(sid string) func(map[string]any) {
	return func(c map[string]any) {
		delete(c, "sub")
		c["sid"] = sid
	}
}

// TestOIDCBackChannel: a logout that the provider reports ends the session, however the request comes, and what is no
// logout of the provider ends none. No pod gets the token.
func TestOIDCBackChannel(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	kept := b.in("kept")
	for name, change := range map[string]func(*request){
		"HTTP/1.1":                 func(*request) {},
		"HTTP/1.1, chunked":        func(r *request) { r.untold = true },
		"HTTP/2":                   func(r *request) { r.alpn = []string{"h2"} },
		"HTTP/2, without a length": func(r *request) { r.alpn, r.untold = []string{"h2"}, true },
		"with a query":             func(r *request) { r.target += "?x=1" },
	} {
		w := b.in(name)
		token := b.op.LogoutToken("logout+jwt", logoutOf(name))
		if r := b.report("shop.po.test", "logout_token="+token, change); r.status != 200 || r.header.Get("Cache-Control") != "no-store" || r.pod != nil || r.body != "" {
			t.Errorf("%s: status %d, %v, %q, %v", name, r.status, r.header, r.body, r.err)
		}
		for range 6 { // both workers
			b.eventually(name+": the session has ended", func() error { return w.wants("GET", "/", 401, "Sec-Fetch-Mode: cors") })
		}
		b.eventually("a token that comes again is refused", func() error {
			if r := b.report("shop.po.test", "logout_token="+token, change); r.status != 400 && r.status != 429 {
				return fmt.Errorf("status %d", r.status)
			}
			return nil
		})
	}
	// Of another host, so that its address has not been refused before.
	good := "logout_token=" + b.op.LogoutToken("", logoutOf("kept"))
	b.op.Rotate(t, "another")
	forged := "logout_token=" + b.op.LogoutToken("", logoutOf("kept"))
	b.op.Rotate(t, "a third") // so that the provider does not publish that key
	for name, r := range map[string]response{
		"a body that is too long":  b.report("other.po.test", good+"&x="+strings.Repeat("x", 9<<10)),
		"one without a length":     b.report("other.po.test", good+"&x="+strings.Repeat("x", 100<<10), func(r *request) { r.untold = true }),
		"one of HTTP/2":            b.report("other.po.test", good+"&x="+strings.Repeat("x", 20<<10), func(r *request) { r.alpn, r.untold = []string{"h2"}, true }),
		"an unknown key":           b.report("other.po.test", forged),
		"another method":           b.report("other.po.test", good, func(r *request) { r.method = "PUT" }),
		"another type of the body": b.report("other.po.test", good, func(r *request) { r.header = []string{"Content-Type: text/plain"} }),
	} {
		if r.status != 400 && r.status != 429 || r.header.Get("Cache-Control") != "no-store" || r.pod != nil {
			t.Errorf("%s: status %d, %v, %v", name, r.status, r.header, r.err)
		}
	}
	kept.must("GET", "/", 200)
	b.slowReport(good)
	kept.must("GET", "/", 200)
	open := b.report("shop.po.test", good, func(r *request) { r.target = "/open/oauth2/logout/backchannel" })
	if open.pod == nil {
		t.Errorf("a Route without a login: status %d", open.status)
	}
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// slowReport demands that a body that does not come is not waited for.
func (b *loginBed) slowReport(body string) {
	b.t.Helper()
	c, err := tls.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(b.https)), &tls.Config{InsecureSkipVerify: true, ServerName: "sub.other.po.test"})
	if err != nil {
		b.t.Fatal(err)
	}
	defer c.Close()
	began := time.Now()
	_ = c.SetDeadline(began.Add(clientTimeout))
	_, _ = fmt.Fprintf(c, "POST /app/oauth2/logout/backchannel HTTP/1.1\r\nHost: sub.other.po.test\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:20])
	head := make([]byte, 12)
	if _, err := io.ReadFull(c, head); err != nil || string(head) != "HTTP/1.1 408" || time.Since(began) > 5*time.Second {
		b.t.Errorf("a body that does not come: %q after %s, %v", head, time.Since(began), err)
	}
}
