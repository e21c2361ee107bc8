package service

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

func svc(change func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", Annotations: map[string]string{}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1"},
			Selector: map[string]string{"b": "2", "a": "1"}, Ports: []corev1.ServicePort{{Protocol: "TCP", Port: 80}},
		},
	}
	if change != nil {
		change(s)
	}
	return s
}

func TestOurs(t *testing.T) {
	t.Parallel()
	own, other, empty := api.LoadBalancerClass, "example.com/x", ""
	for _, tt := range []struct {
		name    string
		classes Classes
		change  func(*corev1.Service)
		want    bool
	}{
		{"no class", DefaultClasses(), nil, true},
		{"empty class", DefaultClasses(), func(s *corev1.Service) { s.Spec.LoadBalancerClass = &empty }, true},
		{"own class", DefaultClasses(), func(s *corev1.Service) { s.Spec.LoadBalancerClass = &own }, true},
		{"class of another", DefaultClasses(), func(s *corev1.Service) { s.Spec.LoadBalancerClass = &other }, false},
		{"no class, but one is demanded", Classes{Names: []string{other}}, nil, false},
		{"the class that is demanded", Classes{Names: []string{other}}, func(s *corev1.Service) { s.Spec.LoadBalancerClass = &other }, true},
		{"another type", DefaultClasses(), func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.classes.Ours(svc(tt.change)); got != tt.want {
				t.Errorf("ours: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	base := Request{
		Key: "ns/x", Namespace: "ns", Families: []Family{IPv4}, Ports: []Port{{"TCP", 80}},
	}
	annotate := func(pairs ...string) func(*corev1.Service) {
		return func(s *corev1.Service) {
			for i := 0; i < len(pairs); i += 2 {
				s.Annotations[pairs[i]] = pairs[i+1]
			}
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*corev1.Service)
		want   func(*Request)
		// problem is a piece of the finding.
		problem string
	}{
		{name: "plain", want: func(*Request) {}},
		{name: "loadBalancerIP", change: func(s *corev1.Service) { s.Spec.LoadBalancerIP = "198.18.0.1" }, want: func(r *Request) { r.Addresses = []netip.Addr{netip.MustParseAddr("198.18.0.1")} }},
		{name: "annotation, IPv4 first", change: annotate("metallb.io/loadBalancerIPs", "fd00::1, 198.18.0.1"), want: func(r *Request) {
			r.Addresses = []netip.Addr{netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("fd00::1")}
		}},
		{name: "old prefix", change: annotate("metallb.universe.tf/loadBalancerIPs", "198.18.0.1", "metallb.universe.tf/address-pool", "p"), want: func(r *Request) {
			r.Addresses, r.Pool = []netip.Addr{netip.MustParseAddr("198.18.0.1")}, "p"
			r.Deprecated = []string{"metallb.universe.tf/address-pool", "metallb.universe.tf/loadBalancerIPs"}
		}},
		{name: "new prefix wins, even if empty", change: annotate("metallb.universe.tf/address-pool", "p", "metallb.io/address-pool", ""), want: func(r *Request) {
			r.Deprecated = []string{"metallb.universe.tf/address-pool"}
		}},
		{name: "sharing", change: annotate("metallb.io/allow-shared-ip", "k"), want: func(r *Request) { r.SharingKey = "k" }},
		{name: "local traffic policy", change: func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }, want: func(r *Request) { r.BackendKey = "a=1,b=2" }},
		{name: "dual stack", change: func(s *corev1.Service) {
			policy := corev1.IPFamilyPolicyPreferDualStack
			s.Spec.IPFamilyPolicy, s.Spec.ClusterIPs = &policy, []string{"fd00::1", "10.0.0.1"}
		}, want: func(r *Request) { r.Families, r.Prefer = []Family{IPv6, IPv4}, true }},
		{name: "headless", change: func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "None", []string{"None"} }, want: func(r *Request) { r.Families, r.Headless = nil, true }},
		{name: "not an address", change: annotate("metallb.io/loadBalancerIPs", "198.18.0.1,web"), want: func(*Request) {}, problem: `"web" is not an address`},
		{name: "twice the same family", change: annotate("metallb.io/loadBalancerIPs", "198.18.0.1,198.18.0.2"), want: func(*Request) {}, problem: "more than one IPv4 address"},
		{name: "field and annotation", change: func(s *corev1.Service) {
			s.Spec.LoadBalancerIP, s.Annotations["metallb.io/loadBalancerIPs"] = "198.18.0.1", "198.18.0.1"
		}, want: func(*Request) {}, problem: "not both"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := base
			tt.want(&want)
			got, problem := Read(svc(tt.change))
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			switch {
			case tt.problem == "" && problem != nil:
				t.Errorf("unexpected %v", problem)
			case tt.problem != "" && (problem == nil || !strings.Contains(problem.Message, tt.problem)):
				t.Errorf("finding %v, want %q", problem, tt.problem)
			}
		})
	}
}

// FuzzRead: whatever annotations hold, what is read of them can be used: plain
// addresses, at most one of each family, or a finding and none.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"198.18.0.1", "fd00::1, 198.18.0.1", "198.18.0.1,198.18.0.2", ",", " ", "::ffff:198.18.0.1", "fe80::1%eth0", "1.2.3.4,", "198.18.0.1\n", "198.18.0.1\t,198.18.0.2", "\r198.18.0.1", "198.18.0.1\x00", "198.18.0.1,\ffd00::1"} {
		f.Add(s, "", "pool", "key")
		f.Add("", s, "pool\n", "key\x00")
	}
	f.Fuzz(func(t *testing.T, ips, old, pool, key string) {
		s := svc(func(s *corev1.Service) {
			s.Annotations["metallb.io/loadBalancerIPs"], s.Annotations["metallb.universe.tf/loadBalancerIPs"] = ips, old
			s.Annotations["metallb.io/address-pool"], s.Annotations["metallb.io/allow-shared-ip"] = pool, key
		})
		req, problem := Read(s)
		if req.Pool != pool || req.SharingKey != key {
			t.Fatalf("pool %q, key %q", req.Pool, req.SharingKey)
		}
		if problem != nil && (len(req.Addresses) > 0 || problem.Field == "") {
			t.Fatalf("%q: addresses %v in spite of %v", ips, req.Addresses, problem)
		}
		if len(req.Addresses) > 2 || len(req.Addresses) == 2 && (!req.Addresses[0].Is4() || !req.Addresses[1].Is6()) {
			t.Fatalf("%q: %v", ips, req.Addresses)
		}
		for _, addr := range req.Addresses {
			if addr.Zone() != "" || addr.Is4In6() {
				t.Fatalf("%q: %v", ips, addr)
			}
		}
	})
}
