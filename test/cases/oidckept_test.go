package cases

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/test/openid"
)

// decisions counts the questions that both workers have answered.
func (b *bed) decisions() (n int) {
	b.t.Helper()
	families, err := process.Gatherer(b.agent.dir).Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "fairlead_agent_decisions_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			n += int(m.GetCounter().GetValue())
		}
	}
	return n
}

// newKeptBed has Routes whose sessions write nothing for the pod, so that HAProxy keeps verdicts.
func newKeptBed(t *testing.T) *loginBed {
	t.Helper()
	b := startLogins(t, newBed(t, "haproxy", newMemory()), openid.New(t, "198.18.250.63"))
	spec := strings.Replace(fmt.Sprintf(loginSpec, "kept", b.op.Issuer, ""), ", claimsToHeaders: [{claim: sub, header: X-User}]", "", 1)
	for _, o := range []string{spec, fmt.Sprintf(loginRoute, "kept", "kept", "kept.po.test", "/"), fmt.Sprintf(loginRoute, "beside", "kept", "beside.po.test", "/")} {
		b.apply(objectsChange(t, o))
	}
	b.eventually("a login begins", func() error { return b.browser("kept.po.test").wants("GET", "/", 302) })
	return b
}

// TestOIDCKept: HAProxy lets requests of a session on by itself for some seconds, for the same
// host, path, method and cookies, and no pod gets the cookies. A logout that the router sees ends that.
func TestOIDCKept(t *testing.T) {
	t.Parallel()
	b := newKeptBed(t)
	w := b.browser("kept.po.test")
	w.login("/page")
	asked := func(what string, requests, most int, do func()) int {
		t.Helper()
		before := b.decisions()
		for range requests {
			do()
		}
		n := b.decisions() - before
		if n > most {
			t.Errorf("%s: %d questions for %d requests, want %d at most", what, n, requests, most)
		}
		return n
	}
	page := func() { w.must("GET", "/page?a=b", 200) }
	page()
	n := asked("kept", 1000, 20, page)
	headers := b.browser("shop.po.test")
	headers.login("/page")
	all := asked("with headers for the pod", 200, 200, func() { headers.must("GET", "/page", 200) })
	t.Logf("%d questions for 1000 requests; %d for 200 of a policy with headers for the pod", n, all)
	if all != 200 {
		t.Errorf("%d questions for 200 requests with headers for the pod", all)
	}
	b.eventually("a verdict is kept", func() error {
		page()
		if n := asked("", 1, 1, page); n != 0 {
			return fmt.Errorf("%d questions", n)
		}
		return nil
	})
	for _, target := range []string{"/page/", "/Page", "/other", "/" + strings.Repeat("x", 3000)} {
		if n := asked(target, 1, 1, func() { w.must("GET", target, 200) }); n != 1 {
			t.Errorf("another path: %d questions", n)
		}
	}
	if r := w.do("GET", "/page"); r.pod == nil || r.pod.Header.Get("Cookie") != "theme=dark" {
		t.Errorf("status %d, the pod sees %v", r.status, r.pod)
	}
	w.must("HEAD", "/page", 200)
	thief := b.browser("beside.po.test")
	thief.jar = maps.Clone(w.jar)
	thief.must("GET", "/page", 401, "Sec-Fetch-Mode: cors")
	stranger := b.browser("kept.po.test")
	stranger.must("GET", "/page", 401, "Sec-Fetch-Mode: cors")
	plain := request{method: "GET", host: w.host, target: "/page"}
	for name, v := range w.jar {
		plain.header = append(plain.header, "Cookie: "+name+"="+v)
	}
	if r := plain.do(b.http, b.https); r.status != 302 || r.pod != nil {
		t.Errorf("without TLS: status %d", r.status)
	}
	w.must("GET", "/oauth2/logout/x", 200)
	copied := b.browser("kept.po.test")
	copied.jar = maps.Clone(w.jar)
	copied.must("GET", "/page", 200)
	w.must("GET", "/oauth2/logout", 302)
	for range 10 {
		copied.must("GET", "/page", 401, "Sec-Fetch-Mode: cors")
	}
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// TestOIDCKeptEnds: a logout that the provider reports ends what HAProxy keeps, at once; one that
// ends no session does not.
func TestOIDCKeptEnds(t *testing.T) {
	t.Parallel()
	b := newKeptBed(t)
	b.op.Set(func(o *openid.Options) { o.Claims = func(c map[string]any) { c["sid"] = "kept" } })
	w := b.browser("kept.po.test")
	w.login("/")
	w.must("GET", "/", 200)
	before := b.decisions()
	b.browser("kept.po.test").do("GET", "/oauth2/logout")
	b.report("kept.po.test", "logout_token=x")
	if n := b.decisions() - before; n != 2 {
		t.Errorf("%d questions for a logout without a session, and a report that is none", n)
	}
	w.must("GET", "/", 200)
	if n := b.decisions() - before; n != 2 {
		t.Errorf("%d questions: what ends no session has HAProxy forget a verdict", n)
	}
	if r := b.report("kept.po.test", "logout_token="+b.op.LogoutToken("", logoutOf("kept"))); r.status != 200 {
		t.Fatalf("status %d", r.status)
	}
	for range 10 {
		w.must("GET", "/", 401, "Sec-Fetch-Mode: cors")
	}
}
