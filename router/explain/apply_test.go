package explain_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/manifest"
)

var applyNow = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

const clusterText = `
apiVersion: v1
kind: Service
metadata: {name: one, namespace: web}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: one-1, namespace: web, labels: {kubernetes.io/service-name: one}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [198.18.0.7]}]
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: openshift-default}
spec: {controller: openshift.io/ingress-to-route}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: site, namespace: web}
spec:
  ingressClassName: openshift-default
  rules:
  - host: site.test
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: one, port: {name: http}}}}]}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: shop, namespace: web}
spec: {host: shop.test, to: {kind: Service, name: one}}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: made, namespace: web, annotations: {openshift.io/host.generated: "true"}}
spec: {host: made-web.apps.test, to: {kind: Service, name: one}}
`

// liveCluster has what the manifests above are in a cluster: stored objects, and the Route
// that the operator has made.
func liveCluster(t *testing.T) *explain.Objects {
	t.Helper()
	o := explain.NewObjects()
	n := 0
	for _, m := range manifest.Parse("", "cluster", []byte(clusterText)) {
		n++
		m.Object.SetUID(types.UID(fmt.Sprint("uid-", n)))
		m.Object.SetCreationTimestamp(metav1.NewTime(applyNow.Add(-time.Hour)))
		o.Add(m.Object)
		if i, ok := m.Object.(*networkingv1.Ingress); ok {
			o.Add(&routev1.Route{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "web", Name: "site-2x6cm", UID: "made", CreationTimestamp: i.CreationTimestamp,
					OwnerReferences: []metav1.OwnerReference{{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Name: "site", UID: i.UID, Controller: new(true)}},
				},
				Spec: routev1.RouteSpec{
					Host: "site.test", Path: "/", To: routev1.RouteTargetReference{Kind: "Service", Name: "one", Weight: new(int32(100))},
					Port: &routev1.RoutePort{}, WildcardPolicy: routev1.WildcardPolicyNone,
				},
			})
		}
	}
	return o
}

func differs(t *testing.T, text string, prune bool) *explain.Difference {
	t.Helper()
	r := manifest.NewReader("web")
	r.Read("new.yaml", []byte(text))
	before, after := liveCluster(t).Apply(r.Objects(), prune)
	var sides []*explain.Snapshot
	for _, side := range []*explain.Objects{before, after} {
		s, err := explain.NewSnapshot(side, explain.Options{Domain: "apps.test", Now: applyNow})
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, s)
	}
	return explain.Compare(sides[0], sides[1])
}

// TestApply puts manifests upon the objects of a cluster.
func TestApply(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		prune bool
		// want are the changes, as "kind: requests: before → after".
		want []string
		// finding is the reason of a new one.
		finding string
	}{
		"the same again": {text: clusterText},
		"the same with prune, without what the cluster made": {text: clusterText, prune: true},
		"a host that was made is kept": {text: `
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: made, namespace: web}
spec: {to: {kind: Service, name: one}}
`},
		"a younger Route of a taken host": {
			text: `
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: thief, namespace: web}
spec: {host: shop.test, to: {kind: Service, name: one}}
`, finding: "HostAlreadyClaimed",
		},
		"a new Service, whose pods are yet to come": {
			text: `
apiVersion: v1
kind: Service
metadata: {name: two, namespace: web}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: shop, namespace: web}
spec: {host: shop.test, to: {kind: Service, name: one, weight: 3}, alternateBackends: [{kind: Service, name: two, weight: 1}]}
`, want: []string{
				"elsewhere: http://shop.test/*: served by one, without TLS → served by 75 % one, 25 % two, without TLS",
				"policy: http://shop.test/*: balance random → balance roundrobin",
			},
		},
		"a Service that is not there": {
			text: `
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: shop, namespace: web}
spec: {host: shop.test, to: {kind: Service, name: none}}
`, want: []string{"lost: http://shop.test/*: served by one, without TLS → 503 page of the router: no endpoint is ready"},
			finding: "ServiceNotFound",
		},
		"another path of an Ingress": {
			text: `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: site, namespace: web}
spec:
  ingressClassName: openshift-default
  rules:
  - host: site.test
    http: {paths: [{path: /only, pathType: Prefix, backend: {service: {name: one, port: {name: http}}}}]}
`, want: []string{"lost: http://site.test/* except /only: served by one, without TLS → 404 page of the router"},
		},
		"pruning": {
			text: `
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: shop, namespace: web}
spec: {host: shop.test, to: {kind: Service, name: one}}
`, prune: true, want: []string{
				"lost: http://made-web.apps.test/*: served by one, without TLS → 404 page of the router",
				"lost: http://site.test/*: served by one, without TLS → 404 page of the router",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := differs(t, c.text, c.prune)
			var got []string
			for _, change := range d.Changes {
				got = append(got, fmt.Sprintf("%s: %s: %s → %s", change.Kind, strings.Join(change.Requests, ", "), change.Before, change.After))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("changes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			var reasons []string
			for _, f := range d.Findings {
				reasons = append(reasons, string(f.Reason))
			}
			if found := strings.Join(reasons, " "); found != c.finding {
				t.Errorf("new findings %q, want %q", found, c.finding)
			}
			if n := len(d.Notes); n > 2 {
				t.Errorf("notes: %v", d.Notes)
			}
		})
	}
}

// BenchmarkCompare compares 10,000 Routes of as many hosts, of which one differs.
func BenchmarkCompare(b *testing.B) {
	side := func(weight int32) *explain.Objects {
		o := explain.NewObjects()
		o.Offline = true
		r := manifest.NewReader("web")
		r.Read("one.yaml", []byte(clusterText))
		maps.Copy(o.Services, r.Objects().Services)
		for n := range 10000 {
			w := int32(1)
			if n == 5000 {
				w = weight
			}
			o.Add(&routev1.Route{
				ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: fmt.Sprint("r", n)},
				Spec: routev1.RouteSpec{
					Host: fmt.Sprintf("h%d.test", n/2), Path: []string{"", "/shop"}[n%2],
					To:                routev1.RouteTargetReference{Kind: "Service", Name: "one", Weight: new(int32(1))},
					AlternateBackends: []routev1.RouteTargetReference{{Kind: "Service", Name: "one", Weight: &w}},
					TLS:               &routev1.TLSConfig{Termination: routev1.TLSTerminationEdge},
				},
			})
		}
		return o
	}
	for b.Loop() {
		var sides []*explain.Snapshot
		for _, o := range []*explain.Objects{side(1), side(2)} {
			s, err := explain.NewSnapshot(o, explain.Options{Domain: "apps.test", Now: applyNow})
			if err != nil {
				b.Fatal(err)
			}
			sides = append(sides, s)
		}
		if d := explain.Compare(sides[0], sides[1]); d.Compared < 10000 {
			b.Error(d.Compared)
		}
	}
}
