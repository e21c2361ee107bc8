package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	"golang.org/x/net/html"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/router/explain"
)

// rightsOf is an API server with tokens.
type rightsOf struct {
	mu sync.Mutex
	// users are those of tokens, sees the namespaces of users, "" for all.
	users map[string]Identity
	sees  map[string][]string
	fails bool
	asked []string // the questions about rights
	seen  int      // the questions about tokens
}

func (r *rightsOf) Review(_ context.Context, token string) (Identity, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen++
	user, known := r.users[token]
	switch {
	case r.fails:
		return Identity{}, errors.New("zzmark: the API server does not answer")
	case !known:
		return Identity{}, ErrRefused
	}
	return user, nil
}

func (r *rightsOf) MaySee(_ context.Context, user Identity, namespace string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails {
		return false, errors.New("zzmark: the API server does not answer")
	}
	r.asked = append(r.asked, user.Name+" "+namespace)
	return slices.Contains(r.sees[user.Name], namespace), nil
}

func (r *rightsOf) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// tenantsBed is a console of a cluster with two users: tenant sees alpha, admin all.
type tenantsBed struct {
	*bed
	entrance *Entrance
	rights   *rightsOf
}

func newTenantsBed(t *testing.T, o *explain.Objects) *tenantsBed {
	t.Helper()
	b := &tenantsBed{bed: &bed{t: t, source: &given{}, base: "/"}, rights: &rightsOf{
		users: map[string]Identity{"tenant-token": {Name: "system:serviceaccount:alpha:tenant"}, "admin-token": {Name: "admin"}},
		sees:  map[string][]string{"system:serviceaccount:alpha:tenant": {"alpha"}, "admin": {""}},
	}}
	b.source.snapshot.Store(decided(t, o))
	var err error
	b.entrance, err = NewEntrance(Options{
		Source: b.source, Cluster: true, Now: func() time.Time { return testNow.Add(time.Duration(b.now.Load()) * time.Second) },
		Command: func(l Line) string {
			return strings.Join(append([]string{"tool", l.Command, l.Subject}, l.Flags...), " ")
		},
	}, EntranceOptions{Base: "/", Rights: b.rights, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(b.entrance)
	t.Cleanup(server.Close)
	b.root = server.URL
	b.client = newBrowser(t)
	b.client.Transport = server.Client().Transport
	return b
}

// login logs a browser in, and returns the status and the page that it gets.
func (b *tenantsBed) login(token string) (code int, body string) {
	b.t.Helper()
	r := b.post("login", url.Values{"token": {token}})
	code, _, body = b.do(r)
	return code, body
}

func (b *tenantsBed) post(path string, form url.Values) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.root+b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", b.root)
	return r
}

// another returns a bed with a browser of its own.
func (b *tenantsBed) another() *tenantsBed {
	own := &bed{t: b.t, source: b.source, root: b.root, base: b.base, client: newBrowser(b.t)}
	own.client.Transport = b.client.Transport
	return &tenantsBed{bed: own, entrance: b.entrance, rights: b.rights}
}

// mark is in each text of what a tenant must not see.
const mark = "zzmark"

// fill puts marks into all texts of an object that are empty.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.String() == "" {
			v.SetString(mark)
		}
	case reflect.Pointer:
		if depth > 0 && v.CanSet() && v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if depth > 0 && !v.IsNil() {
			fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[metav1.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth-1)
			}
		}
	case reflect.Slice:
		if depth <= 0 || v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		if v.CanSet() && v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			fill(v.Index(i), depth-1)
		}
	case reflect.Map:
		if v.CanSet() && v.Len() == 0 && v.Type().Key().Kind() == reflect.String && v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf(mark+".example.com/key").Convert(v.Type().Key()), reflect.ValueOf(mark).Convert(v.Type().Elem()))
		}
	default:
	}
}

// filled returns an object of namespace beta with marks in all texts.
func filled[T any, P interface {
	*T
	metav1.Object
}](name string, edit func(P)) P {
	o := P(new(T))
	o.SetNamespace("beta")
	o.SetName(mark + "-" + name)
	o.SetCreationTimestamp(metav1.NewTime(testNow.AddDate(-1, 0, 0)))
	if edit != nil {
		edit(o)
	}
	fill(reflect.ValueOf(o).Elem(), 9)
	return o
}

// tenantObjects are those of alpha, which may be seen, and of beta, which has marks everywhere.
func tenantObjects(ownership operatorv1.NamespaceOwnershipCheck) *explain.Objects {
	o := explain.NewObjects()
	route := func(namespace, name, host, path string, years int, edit func(*routev1.Route)) *routev1.Route {
		r := &routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-" + "of-route", CreationTimestamp: metav1.NewTime(testNow.AddDate(-years, 0, 0))},
			Spec:       routev1.RouteSpec{Host: host, Path: path, To: routev1.RouteTargetReference{Kind: "Service", Name: "service"}},
		}
		if edit != nil {
			edit(r)
		}
		o.Add(r)
		return r
	}
	tls := func(r *routev1.Route) { r.Spec.TLS = &routev1.TLSConfig{Termination: "edge"} }
	route("alpha", "open", "open.test", "", 1, tls)
	route("alpha", "loser", "shared.test", "/", 1, tls)
	route("alpha", "beside", "shared.test", "/beside", 1, tls)
	route("alpha", "wild", "wild.wild.test", "", 1, func(r *routev1.Route) { r.Spec.WildcardPolicy = routev1.WildcardPolicySubdomain })
	// Claims of beta: older, at the same hosts, with marks in all that does not decide.
	hostile := func(r *routev1.Route) {
		r.Spec.To.Name = mark
		r.Labels, r.Annotations = map[string]string{mark: mark}, map[string]string{mark: mark, "haproxy.router.openshift.io/timeout": mark, "haproxy.router.openshift.io/balance": mark}
		r.Spec.TLS = &routev1.TLSConfig{Termination: "edge", Certificate: mark, Key: mark, CACertificate: mark, ExternalCertificate: &routev1.LocalObjectReference{Name: mark}}
		fill(reflect.ValueOf(&r.Status).Elem(), 9)
	}
	route("beta", mark+"-winner", "shared.test", "/", 3, func(r *routev1.Route) { hostile(r); tls(r) })
	route("beta", mark+"-path", "shared.test", "/"+mark, 3, func(r *routev1.Route) { hostile(r); tls(r) })
	route("beta", mark+"-own", mark+".test", "", 3, hostile)
	route("beta", mark+"-below", mark+".wild.test", "", 3, func(r *routev1.Route) { hostile(r); tls(r) })
	route("beta", mark+"-open", "open.test", "/"+mark, 0, func(r *routev1.Route) { hostile(r); tls(r) })
	o.Add(filled[routev1.Route]("filled", nil))
	o.Add(filled("ingress", func(*networkingv1.Ingress) {}))
	o.Add(filled("service", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }))
	o.Add(filled("slice", func(s *discoveryv1.EndpointSlice) {
		s.Labels = map[string]string{discoveryv1.LabelServiceName: mark + "-service"}
	}))
	o.Add(filled[corev1.Secret]("secret", nil))
	o.Add(filled[corev1.ConfigMap]("configmap", nil))
	o.Add(filled[v1alpha1.RoutePolicy]("policy", nil))
	o.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "alpha"}})
	o.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "beta", Labels: map[string]string{mark: mark}, Annotations: map[string]string{mark: mark}}})
	o.Add(&operatorv1.IngressController{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress-operator", Name: "default", Annotations: map[string]string{mark: mark}},
		Spec:       operatorv1.IngressControllerSpec{RouteAdmission: &operatorv1.RouteAdmissionPolicy{NamespaceOwnership: ownership, WildcardPolicy: operatorv1.WildcardPolicyAllowed}},
	})
	tenantGateways(o)
	return o
}

// tenantGateways adds a Gateway of beta that is open to alpha, and what is not.
func tenantGateways(o *explain.Objects) {
	all, same := gatewayv1.NamespacesFromAll, gatewayv1.NamespacesFromSame
	listener := func(name string, from gatewayv1.FromNamespaces, host string) gatewayv1.Listener {
		h, group := gatewayv1.Hostname(host), gatewayv1.Group(gatewayv1.GroupName)
		return gatewayv1.Listener{
			Name: gatewayv1.SectionName(name), Port: 443, Protocol: gatewayv1.HTTPSProtocolType, Hostname: &h,
			AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &from}, Kinds: []gatewayv1.RouteGroupKind{{Group: &group, Kind: "HTTPRoute"}}},
			TLS:           &gatewayv1.ListenerTLSConfig{CertificateRefs: []gatewayv1.SecretObjectReference{{Name: mark}}},
		}
	}
	o.Add(&gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}, Spec: gatewayv1.GatewayClassSpec{ControllerName: "fairlead.dev/gateway-controller"}})
	g := filled("gw", func(g *gatewayv1.Gateway) {
		g.Name, g.Spec.GatewayClassName = "shared", "fairlead"
		g.Annotations = map[string]string{mark: mark}
		g.Spec.Listeners = []gatewayv1.Listener{listener("open", all, "*.gw.test"), listener(mark, same, mark+".gw.test")}
		g.Spec.Addresses = []gatewayv1.GatewaySpecAddress{}
	})
	o.Add(g)
	parent := func(namespace, name string) gatewayv1.CommonRouteSpec {
		ns := gatewayv1.Namespace(namespace)
		return gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Namespace: &ns, Name: gatewayv1.ObjectName(name)}}}
	}
	for _, namespace := range []string{"alpha", "beta"} {
		name, host := "api", "api.gw.test"
		if namespace == "beta" {
			name, host = mark+"-api", mark+".gw.test"
		}
		o.Add(&gatewayv1.HTTPRoute{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(testNow.AddDate(-1, 0, 0))},
			Spec: gatewayv1.HTTPRouteSpec{
				CommonRouteSpec: parent("beta", "shared"), Hostnames: []gatewayv1.Hostname{gatewayv1.Hostname(host)},
				Rules: []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(name)}}}}}},
			},
		})
	}
	o.Add(filled[gatewayv1.Gateway]("gw2", func(g *gatewayv1.Gateway) { g.Spec.GatewayClassName = "fairlead" }))
	o.Add(filled[gatewayv1.ListenerSet]("set", nil))
	o.Add(filled[gatewayv1.HTTPRoute]("http", nil))
	o.Add(filled[gatewayv1.GRPCRoute]("grpc", nil))
	o.Add(filled[gatewayv1.TLSRoute]("tls", nil))
	o.Add(filled[gatewayv1.TCPRoute]("tcp", nil))
	o.Add(filled[gatewayv1.UDPRoute]("udp", nil))
	o.Add(filled[gatewayv1.ReferenceGrant]("grant", nil))
	o.Add(filled[gatewayv1.BackendTLSPolicy]("btp", nil))
}

// tenantBed has also addresses, events and checks with marks.
func tenantBed(t *testing.T, ownership operatorv1.NamespaceOwnershipCheck) *tenantsBed {
	t.Helper()
	b := newTenantsBed(t, tenantObjects(ownership))
	at := testNow.Add(-time.Hour)
	b.source.network = &Network{
		Addresses: []Address{
			{Addresses: []string{"192.0.2.1"}, Service: "alpha/mine", Pool: mark, State: NotAnnounced, Why: mark, Announcers: []Announcer{{Node: mark, Interfaces: []string{mark}}}, Owner: mark, Next: []string{mark}, Excluded: []Excluded{{mark, mark}}, BGP: []Session{{Node: mark, Peer: mark, State: mark, Error: mark}}},
			{Addresses: []string{"192.0.2.99"}, Service: "beta/" + mark, State: Doubtful},
		},
		Pools: []Pool{{Name: mark}}, Notes: []string{mark},
	}
	b.source.events = &Events{Items: []Event{
		{Time: &at, Type: "normal", Source: "fairlead-x", Kind: "route", Namespace: "alpha", Name: "open", Reason: "OfAlpha", Message: "of alpha"},
		{Time: &at, Type: "normal", Source: mark, Kind: "route", Namespace: "beta", Name: mark, Reason: mark, Message: mark},
		{Time: &at, Type: "normal", Source: mark, Kind: "node", Name: mark, Reason: mark, Message: mark},
	}, Notes: []string{mark}}
	b.source.report = &check.Report{Verdict: "healthy", Checks: []check.Check{{ID: mark, State: check.Fail, Object: mark, Summary: mark, Remedy: mark}}}
	return b
}

// addressesToTry are pages that no link of a tenant's leads to, and questions about beta.
func addressesToTry() []string {
	try := []string{
		"settings", "routes.csv", "routes.json", "state", "routes?q=ns:beta", "routes?q=ns:another_namespace", "routes?q=ns:*", "routes?q=route_", "gateways?q=ns:beta", "events?q=ns:beta",
		"addresses?q=beta", "hosts/shared.test", "hosts/open.test", "hosts/" + mark + ".test", "hosts/" + mark + ".wild.test", "hosts/" + mark + ".gw.test", "hosts/*.wild.test",
		"routes/another_namespace/route_1", "gateways/beta/shared", "certs?q=beta", "routes?sort=-host", "routes.csv?q=ns:beta", "routes.json?q=-ns:alpha", "routes?q=state:refused", "nothing", "x/y/z",
	}
	for _, kind := range []string{"routes", "gateways", "listenersets", "httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes"} {
		for _, name := range []string{"winner", "own", "filled", "gw2", "set", "http", "grpc", "tls", "tcp", "udp", "api"} {
			try = append(try, kind+"/beta/"+mark+"-"+name)
		}
	}
	for i := range 9 {
		try = append(try, fmt.Sprintf("routes/another_namespace/route_%d", i), fmt.Sprintf("routes/another_namespace_2/route_%d", i))
	}
	for _, of := range []string{"http://shared.test/", "https://shared.test/", "https://shared.test/" + mark + "/y", "https://shared.test/beside", "https://" + mark + ".test/", "https://" + mark + ".wild.test/", "https://x.wild.test/", "https://open.test/" + mark + "/x", "https://open.test/", "https://nothing.test/", "https://shared.tes/", "https://" + mark[:5] + ".test/"} {
		try = append(try, "ask?url="+url.QueryEscape(of), "ask?gateway=beta/shared&url="+url.QueryEscape(of), "ask?gateway=beta/"+mark+"-gw2&url="+url.QueryEscape(of))
	}
	return try
}

// TestTenant: a tenant finds nothing of a namespace whose Routes it may not list: on no page,
// whether a link leads there or not, in no export, stream and search.
func TestTenant(t *testing.T) {
	t.Parallel()
	for _, ownership := range []operatorv1.NamespaceOwnershipCheck{operatorv1.StrictNamespaceOwnershipCheck, operatorv1.InterNamespaceAllowedOwnershipCheck} {
		t.Run(string(ownership), func(t *testing.T) {
			t.Parallel()
			findsNothing(t, tenantBed(t, ownership))
		})
	}
}

func findsNothing(t *testing.T, b *tenantsBed) {
	t.Helper()
	if code, body := b.login("tenant-token"); code != http.StatusOK {
		t.Fatalf("log-in: %d %s", code, body)
	}
	texts := map[string]string{}
	b.hidden = func(path string) bool { return path == "/gateways/beta/shared" } // which a route of its own names
	pages := b.crawl(func(path string, root *html.Node) {
		wellFormed(t, path, root)
		var text strings.Builder
		_ = html.Render(&text, root)
		texts[path] = text.String()
	})
	if pages < 15 {
		t.Errorf("only %d pages: %v", pages, texts)
	}
	for _, path := range addressesToTry() {
		_, _, body := b.get(path)
		texts[path] = withoutAsked(path, body)
	}
	texts["live"] = b.firstEvents("live")
	for path, text := range texts {
		lower := strings.ToLower(text)
		for _, secret := range []string{mark, "192.0.2.99"} {
			if i := strings.Index(lower, secret); i >= 0 {
				t.Errorf("%s shows what is of another namespace: …%s…", path, text[max(0, i-200):min(len(text), i+60)])
			}
		}
		if i := strings.Index(lower, "beta"); i >= 0 && !strings.Contains(lower, "beta/shared") && !strings.Contains(path, "beta") {
			t.Errorf("%s names another namespace: …%s…", path, text[max(0, i-200):min(len(text), i+60)])
		}
	}
}

// withoutAsked is a page without what was asked for, which may come back.
func withoutAsked(path, body string) string {
	path, query, _ := strings.Cut(path, "?")
	values, _ := url.ParseQuery(query)
	asked := strings.Split(path, "/")[1:]
	for _, all := range values {
		for _, v := range all {
			asked = append(asked, v)
			if u, err := url.Parse(v); err == nil && u.Host != "" {
				asked = append(asked, u.Host+u.Path, u.Host, u.Path)
			}
		}
	}
	for _, text := range asked {
		if strings.Trim(text, "/") != "" {
			body = strings.ReplaceAll(body, html.EscapeString(text), "")
		}
	}
	return body
}

// firstEvents is what a stream says at first.
func (b *tenantsBed) firstEvents(path string) string {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.t.Context(), 3*time.Second)
	defer stop()
	r := b.request(http.MethodGet, b.root+b.base+path).WithContext(ctx)
	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	var text strings.Builder
	for lines.Scan() && text.Len() < 100 {
		text.WriteString(lines.Text() + "\n")
	}
	if !strings.Contains(text.String(), "event: objects") {
		b.t.Errorf("%s: %d %s", path, answer.StatusCode, text.String())
	}
	return text.String()
}

// TestTenantAnswers: what a tenant sees of its own is right: rivals count, without names.
func TestTenantAnswers(t *testing.T) {
	t.Parallel()
	b := tenantBed(t, operatorv1.StrictNamespaceOwnershipCheck)
	b.login("tenant-token")
	for _, tt := range []struct {
		path      string
		code      int
		want, not []string
	}{
		{"", 200, []string{"5 Routes"}, []string{"Health"}},
		{"routes", 200, []string{"1 to 5 of 5", "alpha/loser HostAlreadyClaimed", "alpha/open", "alpha/api"}, nil},
		{"routes/alpha/loser", 200, []string{"HostAlreadyClaimed", "a route in another namespace"}, nil},
		{"hosts/shared.test", 200, []string{"another namespace", "alpha/loser"}, []string{"is of namespace"}},
		{"hosts/open.test", 200, []string{"alpha/open"}, nil},
		{"hosts/" + mark + ".test", 404, nil, nil},
		{"ask?url=https://shared.test/", 200, []string{"another namespace", "one of a namespace that you may not see"}, nil},
		{"ask?url=https://open.test/", 200, []string{"alpha/open"}, nil},
		{"ask?url=https://x.wild.test/", 200, nil, nil},
		{"events", 200, []string{"of alpha", "HostAlreadyClaimed"}, nil},
		{"addresses", 200, []string{"192.0.2.1", "alpha/mine"}, nil},
		{"settings", 404, nil, nil},
		{"httproutes/alpha/api", 200, []string{"api.gw.test"}, []string{"NoMatchingParent", "NotAllowedByListeners"}},
		{"gateways", 200, nil, []string{"shared"}},
	} {
		b.says(t, tt.path, tt.code, tt.want, tt.not)
	}
	admin := b.another()
	admin.login("admin-token")
	for path, want := range map[string]string{"": "Health", "routes": "beta/" + mark + "-winner", "events": mark, "addresses": "192.0.2.99", "settings": mark, "gateways": "shared", "hosts/shared.test": mark} {
		admin.says(t, path, 200, []string{want}, nil)
	}
}

// TestOnePlace: what was read of all namespaces is used where it is narrowed down, and where it is
// read, and in no page.
func TestOnePlace(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || name == "view.go" || name == "server.go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		if name == "live.go" { // which says when there was a reading, and whether it failed
			most = 1
		}
		if n := strings.Count(string(text), ".readings."); n > most {
			t.Errorf("%s reads what is of all namespaces %d times", name, n)
		}
		if n := strings.Count(string(text), "options.Source"); n > 0 && name != "network.go" && name != "events.go" {
			t.Errorf("%s asks the source", name)
		}
	}
}

// TestTenantShares: where namespaces share hosts, what others take of a host of the tenant's is said,
// without names and paths.
func TestTenantShares(t *testing.T) {
	t.Parallel()
	b := tenantBed(t, operatorv1.InterNamespaceAllowedOwnershipCheck)
	b.login("tenant-token")
	b.says(t, "routes/alpha/open", 200, []string{"Routes that take a part of it", "another namespace takes a part of the requests"}, []string{mark})
	b.says(t, "ask?url=https://open.test/"+mark+"/x", 200, []string{"another namespace", "a route of a namespace that you may not see goes first"}, nil)
	b.says(t, "ask?url=https://shared.test/beside", 200, []string{"alpha/beside"}, nil)
	b.says(t, "ask?url=https://other.wild.test/", 200, []string{"alpha/wild"}, nil)
	b.says(t, "ask?url=https://"+mark+".wild.test/", 200, []string{"one of a namespace that you may not see"}, []string{"served by"})
}
