package explain

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/router/convert"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// convertible makes worlds of Routes whose Services have endpoints.
func (r randomRoutes) convertible(t *testing.T) *Objects {
	t.Helper()
	o := NewObjects()
	o.Offline, o.Complete = true, true
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: "default"}}
	ic.Spec.RouteAdmission = &operatorv1.RouteAdmissionPolicy{WildcardPolicy: operatorv1.WildcardPolicyAllowed}
	o.Controllers["default"] = ic
	for i, name := range []string{"one", "two", "three"} {
		o.Add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}})
		o.Add(&discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "web", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
			AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{fmt.Sprintf("198.18.0.%d", i+1)}}},
		})
	}
	for i := range 7 {
		route := r.route(fmt.Sprintf("r%d", i))
		route.CreationTimestamp = metav1.NewTime(time.Unix(1700000000+int64(i), 0))
		if r.IntN(6) == 0 {
			route.Annotations["haproxy.router.openshift.io/rate-limit-connections"] = "true"
			route.Annotations["haproxy.router.openshift.io/rate-limit-connections.rate-http"] = r.pick("1", "20")
		}
		if r.IntN(8) == 0 {
			route.Annotations["fairlead.dev/path-type"] = r.pick("Exact", "Regex")
		}
		if r.IntN(8) == 0 {
			route.Annotations["haproxy.router.openshift.io/hsts_header"] = "max-age=1"
		}
		if r.IntN(8) == 0 {
			route.Annotations["fairlead.dev/client-ca"] = "clients" // which has no form
		}
		if r.IntN(8) == 0 {
			route.Spec.HTTPHeaders = &routev1.RouteHTTPHeaders{Actions: routev1.RouteHTTPHeaderActions{Request: []routev1.RouteHTTPHeader{{
				Name: "X-A", Action: routev1.RouteHTTPHeaderActionUnion{Type: routev1.Set, Set: &routev1.RouteSetHTTPHeader{Value: r.pick("a", "50%%", "%[req.hdr(X-B)]")}},
			}}}}
		}
		if r.IntN(6) == 0 && route.Spec.WildcardPolicy == "" {
			route.Annotations["fairlead.dev/www"] = "Strip"
		}
		if t := route.Spec.TLS; r.IntN(8) == 0 && (t == nil || t.Termination == routev1.TLSTerminationEdge) {
			route.Annotations[api.AnnotationAnyHost] = "true"
		}
		o.Add(route)
	}
	o.Add(r.ingress())
	return o
}

// ingress is for hosts that Routes have, too.
func (r randomRoutes) ingress() *networkingv1.Ingress {
	i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "i", CreationTimestamp: metav1.NewTime(time.Unix(1700000000+int64(r.IntN(9)), 0)), Annotations: map[string]string{}}}
	path := func(path string, kind networkingv1.PathType) networkingv1.HTTPIngressPath {
		return networkingv1.HTTPIngressPath{Path: path, PathType: &kind, Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: r.pick("one", "two"), Port: networkingv1.ServiceBackendPort{Name: "http"},
		}}}
	}
	i.Spec.Rules = []networkingv1.IngressRule{{Host: r.pick("a.test", "i.test", "*.i.test"), IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
		Paths: []networkingv1.HTTPIngressPath{path(r.pick("/", "/x"), networkingv1.PathTypePrefix), path("/foo", networkingv1.PathTypeExact), path("/fo", networkingv1.PathTypePrefix)},
	}}}}
	if r.IntN(2) == 0 {
		i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{i.Spec.Rules[0].Host}, SecretName: "default"}}
	}
	for key, value := range map[string]string{
		"nginx.ingress.kubernetes.io/whitelist-source-range": "10.0.0.0/8", "nginx.ingress.kubernetes.io/app-root": "/foo",
		"nginx.ingress.kubernetes.io/denylist-source-range": "10.1.0.0/16", "nginx.ingress.kubernetes.io/auth-tls-secret": "web/clients",
	} {
		if r.IntN(4) == 0 {
			i.Annotations[key] = value
		}
	}
	return i
}

// askedFor is a request for a host that one of these has.
func (r randomRoutes) askedFor(t *testing.T) *Request {
	t.Helper()
	q := r.request(t)
	if r.IntN(3) > 0 {
		return q
	}
	_, path, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(q.URL, "http://"), "https://"), "/")
	scheme, _, _ := strings.Cut(q.URL, "://")
	other, err := ParseRequest(RequestArgs{URL: scheme + "://" + r.pick("www.a.test", "www.b.test", "i.test", "a.i.test", "unknown.test") + "/" + path, ClientIP: q.ClientIP.String()})
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// TestConvertedBehavior: a request to the Gateways of converted Routes gets what it gets of the
// Routes, or a finding of the conversion says why not; and nothing that is refused there gets
// through here.
func TestConvertedBehavior(t *testing.T) {
	t.Parallel()
	own, err := certfile.SelfSigned("a.test")
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, _ := strings.Cut(own.PEM, "-----END CERTIFICATE-----\n")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "default"}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		"tls.crt": []byte(certificate + "-----END CERTIFICATE-----\n"), "tls.key": []byte(key),
	}}
	for seed := range uint64(150) {
		r := randomRoutes{rand.New(rand.NewPCG(seed, 4))}
		o := r.convertible(t)
		o.Add(secret)
		s, err := NewSnapshot(o, Options{Domain: "apps.test", Now: time.Unix(1800000000, 0)})
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Convert(ConvertArgs{Options: convert.Options{Class: "fairlead", Certificate: model.Object{Name: "default"}}})
		if err != nil {
			t.Fatal(err)
		}
		w := newConvertedWorld(t, s, out)
		for range 60 {
			w.compare(t, seed, r.askedFor(t))
		}
		if t.Failed() {
			var text bytes.Buffer
			_ = out.YAML(&text)
			_ = out.Report(&text)
			t.Logf("seed %d\n%s", seed, text.String())
			return
		}
	}
}

// convertedWorld has Routes on one side, and what they were converted to on the other.
type convertedWorld struct {
	was, is *Snapshot
	out     *Conversion
}

func newConvertedWorld(t *testing.T, s *Snapshot, out *Conversion) *convertedWorld {
	t.Helper()
	after := s.objects.copied()
	after.Routes = nil
	for _, o := range out.Objects {
		after.Add(o)
	}
	class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}}
	class.Spec.ControllerName = "fairlead.dev/gateway-controller"
	after.Add(class)
	is, err := NewSnapshot(after, s.options)
	if err != nil {
		t.Fatal(err)
	}
	return &convertedWorld{s, is, out}
}

// compare asks both sides.
func (w *convertedWorld) compare(t *testing.T, seed uint64, r *Request) {
	t.Helper()
	e := w.was.Explain(r)
	var was, is string
	owner := w.was.owner(w.was.decide(r), r)
	switch {
	case e.Listener.Name == string(match.ListenerPassthrough):
		was, is = answerOf(e, r), w.handedOn(r)
	case owner != nil && owner.Termination == model.Passthrough:
		was, is = answerOf(e, r), w.atGateway(r, "passthrough")
	default:
		was, is = answerOf(e, r), w.atGateway(r, "routes")
	}
	none := strings.HasPrefix(is, "none") || strings.HasPrefix(is, "refused")
	if was == is || (strings.HasPrefix(was, "none") || strings.HasPrefix(was, "refused")) && none || none && owner != nil && w.closed(owner.Owner) {
		return
	}
	t.Errorf("seed %d: %s from %s: the Routes answer %q, the converted ones %q", seed, r.URL, r.ClientIP, was, is)
}

// closed reports whether a finding says that a Route was converted closed, or left out.
func (w *convertedWorld) closed(key model.Object) bool {
	return slices.ContainsFunc(w.out.Findings, func(f api.Finding) bool {
		about := f.Object.Name == key.Name || f.Object.Kind == "Ingress" && f.Object.Name == w.was.source.ingress[key]
		return about && (f.Reason == api.ReasonConversionClosed || f.Reason == api.ReasonConversionSkipped)
	})
}

// handedOn says where a connection goes that the Gateway for these hands on.
func (w *convertedWorld) handedOn(r *Request) string {
	g, name := w.is.gateways(), match.ServerName(r.SNI)
	if g == nil {
		return "none"
	}
	for _, host := range []string{name, match.Wildcard(name)} {
		for key := range g.served {
			all, _ := g.pipeline.Claims(key)
			for _, c := range all {
				if _, of := model.SplitHost(c.Host); key.Kind != "TLSRoute" || of != host || g.taker(c, host) != c {
					continue
				}
				return served(c, r)
			}
		}
	}
	return "none"
}

// answerOf says in a few words what a client gets of a Route.
func answerOf(e *Explanation, r *Request) string {
	switch {
	case e.Result.Location != "":
		return redirected(e.Result, r)
	case e.Served:
		return "served by " + strings.Join(servers(e.Endpoints), ",") + " as " + e.PodPath
	case e.Result.Status == 404 || e.Result.Status == 503:
		return "none"
	}
	return fmt.Sprint("refused ", e.Result.Status)
}

// redirected says where a client goes: without a scheme, that of the request stays.
func redirected(to Result, r *Request) string {
	scheme := "http:"
	if r.Secure {
		scheme = "https:"
	}
	if location := to.Location; !strings.HasPrefix(location, "//") {
		scheme = ""
	}
	return fmt.Sprint("redirect ", to.Status, " to ", scheme, to.Location)
}

// servers returns the addresses that get requests, in order.
func servers(of []Endpoint) (all []string) {
	for _, p := range of {
		if p.Weight > 0 && !slices.Contains(all, p.Address) {
			all = append(all, p.Address)
		}
	}
	slices.Sort(all)
	return all
}

// served says which servers a claim leads a request to.
func served(c *model.Claim, r *Request) string {
	var all []Endpoint
	for b := range c.Backends() {
		all = append(all, endpoints(b, r)...)
	}
	path := ""
	if p := c.Backend.Policy(); p.Rewrite != nil {
		path = rewritten(p, r.Path)
	}
	if len(servers(all)) == 0 {
		return "none"
	}
	return "served by " + strings.Join(servers(all), ",") + " as " + path
}

// atGateway says what a client gets of a Gateway of the namespace.
func (w *convertedWorld) atGateway(r *Request, name string) string {
	g := w.is.gateways()
	if g == nil {
		return "none"
	}
	port := r.port()
	for _, l := range g.byScope {
		if l.Gateway.Name != name || l.Port != port || endsTLS(l) != r.Secure {
			continue
		}
		return w.atListener(g, l, r)
	}
	return "none"
}

func (w *convertedWorld) atListener(g *gateways, l model.Listener, r *Request) string {
	_, c, answer := g.owner(l, match.Request{Host: r.Host, Path: r.Path, Asked: r.asked()})
	if c == nil {
		if answer == match.BadPath {
			return "refused 400"
		}
		return "none: " + answer
	}
	result, refused := answered(c, r, w.is.options.Now)
	switch {
	case c.Closed:
		return "none"
	case refused && result.Location != "":
		return redirected(result, r)
	case refused:
		return fmt.Sprint("refused ", result.Status)
	}
	return served(c, r)
}
