package cases

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/haproxytech/client-native/v5/runtime"
	"github.com/haproxytech/client-native/v5/runtime/options"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/settings"
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

// keptBed is a router that keeps verdicts of sessions, and its access log.
type keptBed struct {
	*loginBed
	lines *logServer
}

// keptSpec is a policy whose sessions write nothing for the pod.
func keptSpec(b *loginBed) string {
	return strings.Replace(fmt.Sprintf(loginSpec, "kept", b.op.Issuer, ""), ", claimsToHeaders: [{claim: sub, header: X-User}]", "", 1)
}

// newKeptBed has Routes whose sessions write nothing for the pod, so that HAProxy keeps verdicts. The format is
// that of an access log, if there is one.
func newKeptBed(t *testing.T, format string) *keptBed {
	t.Helper()
	router := newBed(t, "haproxy", newMemory())
	lines := syslog(t)
	router.adjust = func(s *settings.Settings) {
		if format != "" {
			s.Render.Log = render.Log{Target: fmt.Sprint("127.0.0.1:", lines.port), Format: format}
		}
	}
	b := &keptBed{startLogins(t, router, openid.New(t, "198.18.250.63")), lines}
	for _, o := range []string{keptSpec(b.loginBed), fmt.Sprintf(loginRoute, "kept", "kept", "kept.po.test", "/"), fmt.Sprintf(loginRoute, "beside", "kept", "beside.po.test", "/")} {
		b.apply(objectsChange(t, o))
	}
	b.eventually("a login begins", func() error { return b.browser("kept.po.test").wants("GET", "/", 302) })
	return b
}

// TestOIDCKept: HAProxy lets requests of a session on by itself for some seconds, for the same
// host, path, method and cookies, and no pod gets the cookies. A logout that the router sees ends that.
func TestOIDCKept(t *testing.T) {
	t.Parallel()
	b := newKeptBed(t, "")
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
	b := newKeptBed(t, "")
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

// beside has a Route of another namespace with a login of its own, and a user who is logged in there.
func (b *keptBed) beside(t *testing.T) *browser {
	t.Helper()
	var s step
	if err := s.services([]string{"qo/web http=8080 web@198.18.250.60"}); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]map[string][]byte{"client": {"client-secret": []byte(openid.ClientSecret)}, "provider": {"ca.crt": []byte(b.op.CA())}} {
		s.change.put = append(s.change.put, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "qo", Name: name}, Data: data})
	}
	for _, o := range []string{keptSpec(b.loginBed), fmt.Sprintf(loginRoute, "kept", "kept", "kept.qo.test", "/")} {
		s.change.put = append(s.change.put, objectsChange(t, strings.Replace(o, "namespace: po", "namespace: qo", 1)).put...)
	}
	b.apply(s.change)
	w := b.browser("kept.qo.test")
	b.eventually("a login begins", func() error { return w.wants("GET", "/", 302) })
	w.login("/")
	w.must("GET", "/", 200)
	return w
}

// questions counts those that a request of a browser takes.
func (b *keptBed) questions(w *browser) int {
	b.t.Helper()
	before := b.decisions()
	w.must("GET", "/", 200)
	return b.decisions() - before
}

// TestOIDCKeptTenants: users of one namespace who log out without end have no verdict of another one's
// sessions forgotten, and each logout holds at once.
func TestOIDCKeptTenants(t *testing.T) {
	t.Parallel()
	b := newKeptBed(t, "")
	quiet, began, questions := b.beside(t), time.Now(), 0
	b.questions(quiet)
	const logouts = 25
	for range logouts {
		w := b.browser("kept.po.test")
		w.login("/")
		w.must("GET", "/", 200)
		copied := b.browser("kept.po.test")
		copied.jar = maps.Clone(w.jar)
		w.must("GET", "/oauth2/logout", 302)
		copied.must("GET", "/", 401, "Sec-Fetch-Mode: cors")
		questions += b.questions(quiet)
	}
	took := time.Since(began)
	t.Logf("%d questions about the other namespace during %d logouts in %s", questions, logouts, took)
	if most := 1 + int(took/(8*time.Second)); questions > most { // a verdict is kept for ten seconds
		t.Errorf("%d questions about a session of another namespace, want %d at most", questions, most)
	}
}

// TestOIDCKeptNoRoom: a logout that HAProxy has no room to note for its namespace holds for all of them.
func TestOIDCKeptNoRoom(t *testing.T) {
	t.Parallel()
	b := newKeptBed(t, "")
	quiet := b.beside(t)
	var socket runtime.SingleRuntime
	if err := socket.Init(b.layout.RunDir()+"/admin.sock", 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
		t.Fatal(err)
	}
	fill := func() {
		t.Helper()
		for from := 0; from < 20<<10; from += 256 {
			var commands strings.Builder
			for i := range 256 {
				fmt.Fprintf(&commands, "set table router_ends key f%d;", from+i)
			}
			if _, err := socket.ExecuteWithResponse(strings.TrimSuffix(commands.String(), ";")); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.eventually("a logout without room counts for all namespaces", func() error {
		fill() // each time: entries expire
		w := b.browser("kept.po.test")
		w.login("/")
		w.must("GET", "/", 200)
		copied := b.browser("kept.po.test")
		copied.jar = maps.Clone(w.jar)
		for b.questions(quiet) > 0 {
		}
		w.must("GET", "/oauth2/logout", 302)
		copied.must("GET", "/", 401, "Sec-Fetch-Mode: cors")
		if b.questions(quiet) == 0 {
			return errors.New("the other namespace has its verdicts kept")
		}
		return nil
	})
}

// TestKeptLog: lines of an access log say where a verdict came from, and where they name its user,
// each of them does.
func TestKeptLog(t *testing.T) {
	t.Parallel()
	const from = "at=%HP from=%[var(txn.verdict_from)]"
	for name, wants := range map[string][]string{
		"where from": {"at=/ from=agent.", "at=/ from=kept."},
		"users":      {"at=/ from=agent user=alice.", "at=/ from=agent user=alice.", "at=/ from=agent user=alice."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			named, format := name == "users", from+"."
			if named {
				format = from + " user=%[var(txn.fl.consumer)]."
			}
			b := newKeptBed(t, format)
			w := b.browser("kept.po.test")
			w.login("/")
			for range 5 {
				w.must("GET", "/", 200)
			}
			for _, want := range wants {
				b.lines.expect(want)
			}
			w.must("GET", "/last", 200)
			for line := ""; !strings.Contains(line, "at=/last "); {
				select {
				case line = <-b.lines.lines:
				case <-time.After(patience):
					t.Fatal("no line of the last request")
				}
				if named && (strings.Contains(line, "at=/ ") || strings.Contains(line, "at=/last ")) && !strings.Contains(line, "user=alice.") {
					t.Errorf("no user in %q", line)
				}
			}
		})
	}
}
