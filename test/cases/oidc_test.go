package cases

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/test/openid"
)

// loginBed is a router with Routes that ask for a login, and their provider.
type loginBed struct {
	*bed
	op *openid.Provider
}

const (
	loginRoute = `kind: Route
metadata: {namespace: po, name: %s, annotations: {fairlead.dev/policy: %s}}
spec: {host: %s, path: %s, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}`
	loginSpec = `kind: RoutePolicy
metadata: {namespace: po, name: %s}
spec: {targetRefs: [{group: route.openshift.io, kind: Route, name: none}], authentication: {oidc: {issuer: "%s", clientID: shop, clientSecret: client, caSecret: provider, claimsToHeaders: [{claim: sub, header: X-User}]%s}}}`
	loginGuard = `kind: ClusterRoutePolicy
metadata: {name: guard}
spec: {guard: {externalURLs: [198.18.250.63]}}`
)

func newLoginBed(t *testing.T) *loginBed {
	t.Helper()
	return startLogins(t, newBed(t, "haproxy", newMemory()), openid.New(t, "198.18.250.63"))
}

// startLogins starts a router whose Routes ask for a login at a provider.
func startLogins(t *testing.T, router *bed, op *openid.Provider) *loginBed {
	t.Helper()
	b := &loginBed{bed: router, op: op}
	b.startAgent()
	b.start()
	var s step
	if err := s.services([]string{"po/web http=8080 web@198.18.250.60"}); err != nil {
		t.Fatal(err)
	}
	secret := func(name, key, value string) metav1.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "po", Name: name}, Data: map[string][]byte{key: []byte(value)}}
	}
	objects := []string{
		loginGuard, fmt.Sprintf(loginSpec, "members", b.op.Issuer, ""), fmt.Sprintf(loginSpec, "admins", b.op.Issuer, ", scopes: [admin]"),
		fmt.Sprintf(loginRoute, "shop", "members", "shop.po.test", "/"), fmt.Sprintf(loginRoute, "admin", "admins", "shop.po.test", "/admin"),
		fmt.Sprintf(loginRoute, "other", "members", "other.po.test", "/"), fmt.Sprintf(loginRoute, "keyless", "members", "sub.other.po.test", "/app"),
		strings.Replace(fmt.Sprintf(loginRoute, "open", "", "shop.po.test", "/open"), ", annotations: {fairlead.dev/policy: }", "", 1),
		strings.Replace(fmt.Sprintf(loginRoute, "plain", "members", "plain.po.test", "/"), ", tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}", "", 1),
	}
	s.change.put = append(s.change.put, secret("client", "client-secret", openid.ClientSecret), secret("provider", "ca.crt", b.op.CA()))
	for _, o := range objects {
		s.change.put = append(s.change.put, objectsChange(t, o).put...)
	}
	b.apply(s.change)
	b.eventually("a login begins", func() error { return b.browser("shop.po.test").wants("GET", "/", 302) })
	return b
}

// browser keeps the cookies of one host.
type browser struct {
	b    *loginBed
	host string
	jar  map[string]string
}

func (b *loginBed) browser(host string) *browser {
	return &browser{b, host, map[string]string{"theme": "dark"}}
}

// do opens a page.
func (w *browser) do(method, target string, header ...string) response {
	w.b.t.Helper()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(w.jar)) {
		all = append(all, name+"="+w.jar[name])
	}
	r := request{method: method, tls: true, host: w.host, target: target, header: append([]string{"Accept: text/html", "Cookie: " + strings.Join(all, "; ")}, header...)}
	res := r.do(w.b.http, w.b.https)
	for _, c := range res.cookies {
		if !strings.HasPrefix(c.Name, "__Host-fl-") { // those of stickiness
			continue
		}
		if !c.Secure || !c.HttpOnly || c.Path != "/" {
			w.b.t.Errorf("cookie %s", c)
		}
		if c.MaxAge < 0 || c.Value == "" {
			delete(w.jar, c.Name)
		} else {
			w.jar[c.Name] = c.Value
		}
	}
	if res.pod != nil {
		for _, v := range res.pod.Header.Values("Cookie") {
			if strings.Contains(v, "__Host-fl-") {
				w.b.t.Errorf("the pod gets the cookies %q", v)
			}
		}
	}
	return res
}

func (w *browser) wants(method, target string, status int, header ...string) error {
	if r := w.do(method, target, header...); r.status != status {
		return fmt.Errorf("%s %s: status %d, want %d (%w)", method, target, r.status, status, r.err)
	}
	return nil
}

func (w *browser) must(method, target string, status int, header ...string) {
	w.b.t.Helper()
	if err := w.wants(method, target, status, header...); err != nil {
		w.b.t.Error(err)
	}
}

// atProvider opens a page and goes to the provider; the result is where that leads back.
func (w *browser) atProvider(target string) string {
	w.b.t.Helper()
	r := w.do("GET", target)
	client := w.b.op.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Get(r.header.Get("Location"))
	if err != nil {
		w.b.t.Fatalf("status %d, then %v", r.status, err)
	}
	defer res.Body.Close()
	u, err := res.Location()
	if err != nil {
		w.b.t.Fatalf("the provider answers %d", res.StatusCode)
	}
	return u.RequestURI()
}

// login logs in, and demands that it ends where it began.
func (w *browser) login(target string) {
	w.b.t.Helper()
	r := w.do("GET", w.atProvider(target))
	if got := r.header.Get("Location"); r.status != 302 || got != "https://"+w.host+target {
		w.b.t.Fatalf("the login ends with %d, %q, %s", r.status, got, r.body)
	}
}

// TestOIDC: a user logs in at a provider, and the pod learns who it is, and none of the
// cookies.
func TestOIDC(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	w := b.browser("shop.po.test")
	w.login("/deep?link=%2F&x=1")
	if r := w.do("GET", "/", "X-User: root", "X_User: root"); r.pod == nil || r.pod.Header.Get("X-User") != "alice" || r.pod.Header.Get("Cookie") != "theme=dark" || len(r.pod.Header.Values("X_user")) > 0 {
		t.Errorf("status %d, the pod sees %v", r.status, r.pod)
	}
	for _, path := range []string{"/open", "/open/%61"} {
		if r := w.do("GET", path, "X-User: root"); r.pod == nil || r.pod.Header.Get("Cookie") != "theme=dark" {
			t.Errorf("a Route without a login: status %d, the pod sees %v", r.status, r.pod)
		}
	}
	only := b.browser("shop.po.test")
	only.jar = maps.Clone(w.jar)
	delete(only.jar, "theme")
	if r := only.do("GET", "/open"); r.pod == nil || len(r.pod.Header.Values("Cookie")) > 0 {
		t.Errorf("a Route without a login, and no other cookies: status %d, the pod sees %v", r.status, r.pod)
	}
	over2 := request{method: "GET", tls: true, host: w.host, target: "/", alpn: []string{"h2"}}
	for name, v := range w.jar {
		over2.header = append(over2.header, "Cookie: "+name+"="+v)
	}
	if r := over2.do(b.http, b.https); r.pod == nil || r.pod.Header.Get("Cookie") != "theme=dark" {
		t.Errorf("HTTP/2: status %d, the pod sees %v", r.status, r.pod)
	}
	stranger := b.browser("shop.po.test")
	stranger.must("GET", "/x", 401, "Sec-Fetch-Mode: cors")
	stranger.must("POST", "/x", 303)
	stranger.must("GET", "/oauth2/callback?code=a&state=bbbbbbbbbbbbbbbb", 400)
	ws := request{method: "GET", tls: true, host: w.host, target: "/", ws: true}
	if r := ws.do(b.http, b.https); r.status != 401 {
		t.Errorf("a WebSocket without a session: status %d", r.status)
	}
	plain := request{method: "GET", host: w.host, target: "/a?b"}
	if r := plain.do(b.http, b.https); r.status != 302 || r.header.Get("Location") != "https://shop.po.test/a?b" {
		t.Errorf("without TLS: status %d, %v", r.status, r.header)
	}
	thief := b.browser("other.po.test")
	thief.jar = maps.Clone(w.jar)
	thief.must("GET", "/", 401, "Sec-Fetch-Mode: cors")
	thief.must("GET", "/", 302)
	// The same host, and another policy: a login of its own, beside the first one.
	w.must("GET", "/admin", 302)
	w.login("/admin/users")
	w.must("GET", "/admin/users", 200)
	w.must("GET", "/", 200)
	w.must("GET", "/admin/oauth2/logout", 302)
	w.must("GET", "/admin", 302)
	w.must("GET", "/", 200)
	copied := b.browser("shop.po.test")
	copied.jar = maps.Clone(w.jar)
	if r := w.do("GET", "/oauth2/logout"); r.status != 302 || !strings.HasPrefix(r.header.Get("Location"), b.op.URL+"/logout?") {
		t.Errorf("logout: %d %v", r.status, r.header)
	}
	w.must("GET", "/", 302)
	for range 10 { // both workers
		copied.must("GET", "/", 401, "Sec-Fetch-Mode: cors")
	}
	if r := b.get("plain.po.test"); r.status != 503 {
		t.Errorf("a Route without TLS: status %d", r.status)
	}
	app := b.browser("sub.other.po.test")
	app.login("/app/start")
	app.must("GET", "/app", 200)
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// TestOIDCAgentEnds: a worker that ends during a step costs at most that step.
func TestOIDCAgentEnds(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	w := b.browser("shop.po.test")
	soon := func(method, target string, status int) {
		t.Helper()
		b.eventually(fmt.Sprintf("%s %s gets %d", method, target, status), func() error { return w.wants(method, target, status) })
	}
	b.signalWorkers(syscall.SIGKILL)
	soon("GET", "/", 302)
	w.jar = map[string]string{}
	back := w.atProvider("/deep")
	b.signalWorkers(syscall.SIGKILL)
	soon("GET", back, 302)
	soon("GET", "/deep", 200)
	// The workers end while the provider thinks about the code.
	w = b.browser("shop.po.test")
	back = w.atProvider("/late")
	killed := make(chan struct{})
	b.op.Set(func(o *openid.Options) {
		o.Answer = func(map[string]any) {
			select {
			case <-killed:
			default:
				close(killed)
				b.signalWorkers(syscall.SIGKILL)
			}
		}
	})
	r := w.do("GET", back)
	for end := time.Now().Add(patience); r.status == 503 && time.Now().Before(end); {
		r = w.do("GET", back)
	}
	// The code is used up, so the provider is asked once more.
	if at, _ := url.Parse(r.header.Get("Location")); r.status != 302 || at.Path != "/authorize" {
		t.Fatalf("status %d, %v: %s", r.status, r.header, r.body)
	}
	w.login("/late")
	soon("GET", "/late", 200)
	b.killWorkers()
	b.eventually("without an agent it is closed", func() error { return w.wants("GET", "/", 503) })
	b.agent.down.Store(false)
	soon("GET", "/", 200)
}

// TestOIDCKeys: keys of sessions rotate without a login, and without keys all is closed;
// so it is without the client's Secret.
func TestOIDCKeys(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	w := b.browser("shop.po.test")
	w.login("/")
	set := func(keys ...snapshot.SessionKey) { b.agent.sessions.Store(&keys) }
	set(sessionKey(2, time.Minute), sessionKey(1, time.Hour))
	for range 20 {
		w.must("GET", "/", 200)
	}
	set()
	b.eventually("without keys it is closed", func() error { return w.wants("GET", "/", 503) })
	b.browser("shop.po.test").must("GET", "/", 503)
	set(sessionKey(1, time.Hour))
	b.eventually("the session goes on", func() error { return w.wants("GET", "/", 200) })
	set(sessionKey(3, time.Hour))
	b.eventually("other keys end it", func() error { return w.wants("GET", "/", 302) })
	b.apply(change{del: []model.Object{parseObject("Secret", "po/client")}})
	b.eventually("without its Secret it is closed", func() error { return w.wants("GET", "/", 503) })
}
