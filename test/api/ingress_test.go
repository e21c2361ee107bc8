package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
)

const shop = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  namespace: NAMESPACE
  annotations: {haproxy.router.openshift.io/timeout: 5s}
  labels: {team: a}
spec:
  ingressClassName: openshift-default
  tls: [{hosts: [shop.example.com], secretName: shop-tls}]
  defaultBackend: {service: {name: web, port: {number: 80}}}
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /api/, pathType: Prefix, backend: {service: {name: api, port: {name: rest}}}}
      - {path: /login, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}
  - host: "*.shop.example.com"
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 81}}}}
  - http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
`

// byPath returns the Routes of a namespace by host and path.
func byPath(c client.Client, namespace string) (map[string]routev1.Route, error) {
	list := &routev1.RouteList{}
	if err := c.List(context.Background(), list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	routes := map[string]routev1.Route{}
	for _, r := range list.Items {
		routes[r.Spec.Host+r.Spec.Path] = r
	}
	return routes, nil
}

// wantRoute waits until the Route of a host and path passes the check.
func wantRoute(t *testing.T, c client.Client, namespace, path string, check func(routev1.Route) error) {
	t.Helper()
	eventually(t, func() error {
		routes, err := byPath(c, namespace)
		if err != nil {
			return err
		}
		r, ok := routes[path]
		if !ok {
			return fmt.Errorf("no Route for %s", path)
		}
		return check(r)
	})
}

func wantEvent(t *testing.T, c client.Client, namespace, name, event string) {
	t.Helper()
	eventually(t, func() error {
		have, err := eventReasons(c, namespace, name)
		if err == nil && !slices.Contains(have, event) {
			err = fmt.Errorf("no event %q about %s in %q", event, name, have)
		}
		return err
	})
}

// wantEventText waits for an event about an object whose message has a text.
func wantEventText(t *testing.T, c client.Client, namespace, name, text string) {
	t.Helper()
	eventually(t, func() error {
		list := &corev1.EventList{}
		if err := c.List(context.Background(), list, client.InNamespace(namespace)); err != nil {
			return err
		}
		var messages []string
		found := false
		for _, e := range list.Items {
			if e.InvolvedObject.Name == name {
				messages = append(messages, e.Message)
				found = found || strings.Contains(e.Message, text)
			}
		}
		if !found {
			return fmt.Errorf("no event with %q in %q", text, messages)
		}
		return nil
	})
}

// TestIngress follows an Ingress that comes before everything it names.
func TestIngress(t *testing.T) {
	c, _ := startOperator(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "ingress-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	namespace := ns.Name
	manifest := strings.ReplaceAll(shop, "NAMESPACE", namespace)
	if err := apply(t, manifest); err != nil {
		t.Fatal(err)
	}
	wantRoute(t, c, namespace, "shop.example.com/login", func(r routev1.Route) error {
		switch {
		case r.Annotations[names.AnnotationPathType] != "Exact":
			return fmt.Errorf("annotations %v", r.Annotations)
		case r.Annotations["haproxy.router.openshift.io/timeout"] != "5s":
			return fmt.Errorf("annotations %v", r.Annotations)
		case r.Labels["team"] != "a":
			return fmt.Errorf("labels %v", r.Labels)
		case r.Spec.TLS == nil || r.Spec.TLS.Termination != routev1.TLSTerminationEdge || r.Spec.TLS.Certificate != "":
			return fmt.Errorf("TLS without Secret: %+v", r.Spec.TLS)
		}
		return nil
	})
	wantRoute(t, c, namespace, "any-host.invalid/", func(r routev1.Route) error {
		if r.Annotations[names.AnnotationAnyHost] != "true" || r.Annotations[names.AnnotationIngressController] != "default" || r.Spec.TLS != nil {
			return fmt.Errorf("the rule without host: annotations %v, %+v", r.Annotations, r.Spec.TLS)
		}
		return nil
	})
	// Findings of one reason are told each.
	for _, text := range []string{"Service web does not exist", "Service api does not exist", "Secret shop-tls does not exist"} {
		wantEventText(t, c, namespace, "shop", text)
	}

	t.Run("Services and Secret arrive", func(t *testing.T) { parts(t, c, namespace) })
	t.Run("status follows admission", func(t *testing.T) { statusFollows(t, c, namespace) })
	t.Run("users keep what is theirs", func(t *testing.T) { handEdits(t, c, namespace, manifest) })
	t.Run("annotations of another controller", func(t *testing.T) { foreignAnnotations(t, c, namespace) })
	t.Run("the class takes the Ingress away and brings it back", func(t *testing.T) { classMoves(t, c, namespace) })
}

func parts(t *testing.T, c client.Client, namespace string) {
	for name, ports := range map[string][]corev1.ServicePort{
		"web": {{Name: "http", Port: 80}, {Name: "admin", Port: 8080}},
		"api": {{Name: "rest", Port: 9000}},
	} {
		if err := c.Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       corev1.ServiceSpec{Ports: ports},
		}); err != nil {
			t.Fatal(err)
		}
	}
	wantRoute(t, c, namespace, "shop.example.com/", func(r routev1.Route) error {
		if r.Spec.Port == nil || r.Spec.Port.TargetPort.StrVal != "http" {
			return fmt.Errorf("port %+v", r.Spec.Port)
		}
		return nil
	})
	wantRoute(t, c, namespace, "shop.example.com/api", func(r routev1.Route) error {
		if r.Spec.Port == nil || r.Spec.Port.TargetPort.StrVal != "rest" {
			return fmt.Errorf("port %+v", r.Spec.Port)
		}
		return nil
	})
	wantRoute(t, c, namespace, "wildcard.shop.example.com/", func(r routev1.Route) error {
		switch {
		case r.Spec.WildcardPolicy != routev1.WildcardPolicySubdomain:
			return fmt.Errorf("policy %s", r.Spec.WildcardPolicy)
		case r.Spec.Port == nil || r.Spec.Port.TargetPort.StrVal != "missing_81":
			return fmt.Errorf("port %+v", r.Spec.Port)
		case r.Spec.TLS != nil:
			return fmt.Errorf("TLS %+v", r.Spec.TLS)
		}
		return nil
	})
	applyCertificate(t, namespace)
	wantRoute(t, c, namespace, "shop.example.com/", wantReference)
	wantEvent(t, c, namespace, "shop", "Warning CertificateHostMismatch")
	if err := c.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop-tls"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}); err != nil {
		t.Fatal(err)
	}
	wantRoute(t, c, namespace, "shop.example.com/", func(r routev1.Route) error {
		if r.Spec.Port != nil {
			return fmt.Errorf("port %+v", r.Spec.Port)
		}
		return wantReference(r)
	})
}

// applyCertificate brings the Secret of the sample Ingress.
func applyCertificate(t *testing.T, namespace string) {
	t.Helper()
	sample, err := server.Kubectl(t.Context(), "kustomize", "../../config/samples")
	if err != nil {
		t.Fatal(err)
	}
	if err := apply(t, secretOf(sample, namespace)); err != nil {
		t.Fatal(err)
	}
}

// secretOf returns the certificate of the samples as that of the shop.
func secretOf(sample, namespace string) string {
	for document := range strings.SplitSeq(sample, "\n---\n") {
		if strings.Contains(document, "kind: Secret\nmetadata:\n  name: ingress-demo-certificate\n") {
			return strings.NewReplacer("namespace: demo", "namespace: "+namespace, "name: ingress-demo-certificate", "name: shop-tls").Replace(document)
		}
	}
	return ""
}

// statusFollows plays the router: it admits a Route.
func statusFollows(t *testing.T, c client.Client, namespace string) {
	if err := apply(t, "apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: {name: test, namespace: metallb-system}\nspec: {addresses: [198.18.77.1-198.18.77.3]}\n"); err != nil {
		t.Fatal(err)
	}
	routes, err := byPath(c, namespace)
	if err != nil {
		t.Fatal(err)
	}
	admit := func(path string, status corev1.ConditionStatus, reason, message string) {
		r := routes[path]
		r.Status.Ingress = []routev1.RouteIngress{{
			RouterName: "default", Host: r.Spec.Host,
			Conditions: []routev1.RouteIngressCondition{{Type: routev1.RouteAdmitted, Status: status, Reason: reason, Message: message}},
		}}
		if err := c.Status().Update(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
	}
	theirs := networkingv1.IngressLoadBalancerIngress{Hostname: "theirs.example.com"}
	i := &networkingv1.Ingress{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "shop"}, i); err != nil {
		t.Fatal(err)
	}
	i.Status.LoadBalancer.Ingress = append(i.Status.LoadBalancer.Ingress, theirs)
	if err := c.Status().Update(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	admit("shop.example.com/", corev1.ConditionTrue, "", "")
	admit("wildcard.shop.example.com/", corev1.ConditionFalse, "RouteNotAdmitted", "wildcard routes are not allowed")
	eventually(t, func() error {
		i := &networkingv1.Ingress{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "shop"}, i); err != nil {
			return err
		}
		// What another controller wrote stays.
		if have := i.Status.LoadBalancer.Ingress; len(have) != 2 || !strings.HasPrefix(have[0].IP, "198.18.77.") || have[1].Hostname != theirs.Hostname {
			return fmt.Errorf("status %+v", have)
		}
		return nil
	})
	wantEvent(t, c, namespace, "shop", "Warning RouteNotAdmitted")
}

func handEdits(t *testing.T, c client.Client, namespace, manifest string) {
	routes, err := byPath(c, namespace)
	if err != nil {
		t.Fatal(err)
	}
	r := routes["shop.example.com/"]
	r.Annotations["example.com/mine"] = "yes"
	r.Spec.TLS.InsecureEdgeTerminationPolicy = routev1.InsecureEdgeTerminationPolicyAllow
	r.Spec.Path = "/edited"
	if err := c.Update(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	if err := apply(t, strings.Replace(manifest, "timeout: 5s", "balance: source", 1)); err != nil {
		t.Fatal(err)
	}
	wantRoute(t, c, namespace, "shop.example.com/", func(r routev1.Route) error {
		_, old := r.Annotations["haproxy.router.openshift.io/timeout"]
		switch {
		case r.Annotations["example.com/mine"] != "yes", r.Annotations["haproxy.router.openshift.io/balance"] != "source", old:
			return fmt.Errorf("annotations %v", r.Annotations)
		case r.Spec.TLS.InsecureEdgeTerminationPolicy != routev1.InsecureEdgeTerminationPolicyAllow:
			return fmt.Errorf("policy %s", r.Spec.TLS.InsecureEdgeTerminationPolicy)
		}
		return nil
	})
}

func classMoves(t *testing.T, c client.Client, namespace string) {
	key := client.ObjectKey{Namespace: namespace, Name: "shop"}
	setClass := func(class string) {
		eventually(t, func() error {
			i := &networkingv1.Ingress{}
			if err := c.Get(t.Context(), key, i); err != nil {
				return err
			}
			i.Spec.IngressClassName = &class
			return c.Update(t.Context(), i)
		})
	}
	later := namespace + "-later"
	setClass(later)
	eventually(t, func() error {
		routes, err := byPath(c, namespace)
		if err == nil && len(routes) > 0 {
			err = fmt.Errorf("%d Routes are left", len(routes))
		}
		return err
	})
	eventually(t, func() error {
		i := &networkingv1.Ingress{}
		err := c.Get(t.Context(), key, i)
		if have := i.Status.LoadBalancer.Ingress; err == nil && (len(have) != 1 || have[0].Hostname != "theirs.example.com") {
			err = fmt.Errorf("status %+v", have)
		}
		return err
	})
	if err := c.Create(t.Context(), &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: later},
		Spec:       networkingv1.IngressClassSpec{Controller: names.IngressClassController},
	}); err != nil {
		t.Fatal(err)
	}
	wantRoute(t, c, namespace, "shop.example.com/login", func(routev1.Route) error { return nil })
}
