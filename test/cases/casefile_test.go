package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/ingress"
	"github.com/fairlead/fairlead/router/model"
)

// testCase is one file of testdata.
type testCase struct {
	name  string
	about string
	steps []*step
	// only is the one version of HAProxy that the case is for, or empty.
	only string
}

// step is a change and what holds after it.
type step struct {
	name   string
	change change
	checks map[string][]string // file name → lines
}

var kinds = map[string]func() metav1.Object{
	"Route":         func() metav1.Object { return &routev1.Route{} },
	"Service":       func() metav1.Object { return &corev1.Service{} },
	"EndpointSlice": func() metav1.Object { return &discoveryv1.EndpointSlice{} },
	"Secret":        func() metav1.Object { return &corev1.Secret{} },
	"ConfigMap":     func() metav1.Object { return &corev1.ConfigMap{} },
	"Ingress":       func() metav1.Object { return &networkingv1.Ingress{} },

	"Namespace":          func() metav1.Object { return &corev1.Namespace{} },
	"RoutePolicy":        func() metav1.Object { return &v1alpha1.RoutePolicy{} },
	"ClusterRoutePolicy": func() metav1.Object { return &v1alpha1.ClusterRoutePolicy{} },

	"Gateway":          func() metav1.Object { return &gatewayv1.Gateway{} },
	"ListenerSet":      func() metav1.Object { return &gatewayv1.ListenerSet{} },
	"BackendTLSPolicy": func() metav1.Object { return &gatewayv1.BackendTLSPolicy{} },
	"HTTPRoute":        func() metav1.Object { return &gatewayv1.HTTPRoute{} },
	"GRPCRoute":        func() metav1.Object { return &gatewayv1.GRPCRoute{} },
	"TLSRoute":         func() metav1.Object { return &gatewayv1.TLSRoute{} },
	"TCPRoute":         func() metav1.Object { return &gatewayv1.TCPRoute{} },
	"UDPRoute":         func() metav1.Object { return &gatewayv1.UDPRoute{} },
	"ReferenceGrant":   func() metav1.Object { return &gatewayv1.ReferenceGrant{} },
}

// loadCases reads all cases each time, so that runs share no object.
func loadCases(t *testing.T) []*testCase {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata: %v", err)
	}
	var all []*testCase
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parseCase(t, strings.TrimSuffix(filepath.Base(f), ".txtar"), txtar.Parse(data)))
	}
	return all
}

func parseCase(t *testing.T, name string, a *txtar.Archive) *testCase {
	t.Helper()
	c := &testCase{name: name, about: strings.TrimSpace(string(a.Comment))}
	var current *step
	for _, f := range a.Files {
		stepName, file, ok := strings.Cut(f.Name, "/")
		if !ok {
			stepName, file = "step1", f.Name
		}
		if current == nil || current.name != stepName {
			current = &step{name: stepName, checks: map[string][]string{}}
			c.steps = append(c.steps, current)
		}
		if err := c.file(t, current, file, string(f.Data)); err != nil {
			t.Fatalf("%s: %s: %v", name, f.Name, err)
		}
	}
	c.convertIngresses(t)
	return c
}

// convertIngresses puts the Routes that the operator makes of Ingresses into their
// place.
func (c *testCase) convertIngresses(t *testing.T) {
	t.Helper()
	services := map[string]map[string]*corev1.Service{}
	for _, s := range c.steps {
		var put []metav1.Object
		for _, o := range s.change.put {
			if service, ok := o.(*corev1.Service); ok {
				if services[service.Namespace] == nil {
					services[service.Namespace] = map[string]*corev1.Service{}
				}
				services[service.Namespace][service.Name] = service
			}
			i, ok := o.(*networkingv1.Ingress)
			if !ok {
				put = append(put, o)
				continue
			}
			for _, r := range ingress.Convert(ingress.Input{Ingress: i, Services: services[i.Namespace]}).Routes {
				put = append(put, r)
			}
		}
		s.change.put = put
	}
}

func (c *testCase) file(t *testing.T, s *step, file, text string) error {
	t.Helper()
	switch file {
	case "in.yaml":
		return s.objects(pki().expand(t, text))
	case "services":
		return s.services(linesOf(pki().expand(t, text)))
	case "settings":
		return s.settings(t, linesOf(text))
	case "delete":
		for _, l := range linesOf(text) {
			kind, name, _ := strings.Cut(l, " ")
			s.change.del = append(s.change.del, parseObject(kind, name))
		}
	case "only":
		c.only = strings.TrimSpace(text)
	case "requests", "statuses", "awaited", "servers", "shares", "backends":
		s.checks[file] = linesOf(pki().expand(t, text))
	default:
		return fmt.Errorf("a case has no such file")
	}
	return nil
}

func linesOf(text string) []string {
	var lines []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			lines = append(lines, l)
		}
	}
	return lines
}

func parseObject(kind, s string) model.Object {
	ns, name, _ := strings.Cut(s, "/")
	return model.Object{Kind: model.Kind(kind), Namespace: ns, Name: name}
}

func (s *step) objects(text string) error {
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var head metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			return err
		}
		create := kinds[head.Kind]
		if create == nil {
			return fmt.Errorf("unknown kind %q", head.Kind)
		}
		o := create()
		if err := yaml.UnmarshalStrict([]byte(doc), o); err != nil {
			return err
		}
		if secret, ok := o.(*corev1.Secret); ok && len(secret.StringData) > 0 { // as the API server does
			secret.Data = map[string][]byte{}
			for k, v := range secret.StringData {
				secret.Data[k] = []byte(v)
			}
			secret.StringData = nil
		}
		s.change.put = append(s.change.put, o)
	}
	return nil
}

// services reads "ns/name PORT… POD@ADDRESS…", where PORT is "8080" or
// "name=8080" or "name=8080/protocol". Without pods the Service has an empty
// slice.
func (s *step) services(lines []string) error {
	for _, l := range lines {
		f := strings.Fields(l)
		k := parseObject("Service", f[0])
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: k.Namespace, Name: k.Name + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: k.Name},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
		}
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name}}
		for _, word := range f[1:] {
			if pod, address, ok := strings.Cut(word, "@"); ok {
				if strings.Contains(address, ":") {
					slice.AddressType = discoveryv1.AddressTypeIPv6
				}
				slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
					Addresses: []string{address}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: k.Namespace, Name: pod},
				})
				continue
			}
			p, err := parsePort(word)
			if err != nil {
				return err
			}
			slice.Ports = append(slice.Ports, p)
			service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: *p.Name, Port: *p.Port})
		}
		s.change.put = append(s.change.put, service, slice)
	}
	return nil
}

func parsePort(word string) (discoveryv1.EndpointPort, error) {
	name, number, ok := strings.Cut(word, "=")
	if !ok {
		name, number = "", word
	}
	number, protocol, _ := strings.Cut(number, "/")
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return discoveryv1.EndpointPort{}, err
	}
	port := int32(n)
	p := discoveryv1.EndpointPort{Name: &name, Port: &port}
	if protocol != "" {
		p.AppProtocol = &protocol
	}
	return p, nil
}

func (s *step) settings(t *testing.T, lines []string) error {
	t.Helper()
	set := door.Settings{RouterName: "cases", Agent: true}
	for _, l := range lines {
		word, value, _ := strings.Cut(l, " ")
		switch word {
		case "wildcards":
			set.WildcardsAllowed = true
		case "destination-ca": // of the name that follows; without one it is unreadable
			set.DestinationCA = &model.CA{}
			if value != "" {
				var err error
				if set.DestinationCA, err = certificate.DestinationCA(pki().ca(t, value).certPEM); err != nil {
					return err
				}
			}
		case "old-haproxy": // as the engine adds it
			set.Agent, set.OldHAProxy = false, true
		case "http2":
			set.HTTP2 = true
		case "shared-address":
			set.SharedAddress = true
		case "inter-namespace":
			set.InterNamespace = true
		case "domain":
			set.Domain = value
		case "patterns": // of a namespace, and in all
			if _, err := fmt.Sscan(value, &set.NamespacePatterns, &set.Patterns); err != nil {
				return err
			}
		case "pages": // bytes of a namespace, and in all
			if _, err := fmt.Sscan(value, &set.NamespacePageBytes, &set.PageBytes); err != nil {
				return err
			}
		case "namespace-checks":
			n, err := strconv.Atoi(value)
			if err != nil {
				return err
			}
			set.NamespaceChecks = n
		default:
			return fmt.Errorf("unknown setting %q", l)
		}
	}
	s.change.settings = &set
	return nil
}
