package cases

import (
	"fmt"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/match"
)

// explainer decides what kubectl fairlead would see of a cluster, whose IngressController may
// have overrides.
func explainer(t *testing.T, m *memory, overrides ...string) *explain.Snapshot {
	t.Helper()
	o := explain.NewObjects()
	m.mu.Lock()
	for _, r := range m.routes {
		o.Add(r)
	}
	for _, s := range m.services {
		o.Add(s)
	}
	for _, s := range m.slices {
		o.Add(s)
	}
	for _, s := range m.secrets {
		o.Add(s)
	}
	for _, g := range m.gateways {
		o.Add(g)
	}
	for key, c := range m.configMaps { // without their pages
		o.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string]string{"ca.crt": c.Authorities}})
	}
	for _, s := range m.policies {
		o.Policies[s.Key] = s
	}
	settings := m.settings
	m.mu.Unlock()
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress-operator", Name: settings.RouterName}}
	for _, o := range overrides {
		ic.Spec.UnsupportedConfigOverrides.Raw = []byte(o)
	}
	ic.Spec.RouteAdmission = &operatorv1.RouteAdmissionPolicy{}
	if settings.WildcardsAllowed {
		ic.Spec.RouteAdmission.WildcardPolicy = operatorv1.WildcardPolicyAllowed
	}
	if settings.InterNamespace {
		ic.Spec.RouteAdmission.NamespaceOwnership = operatorv1.InterNamespaceAllowedOwnershipCheck
	}
	o.Add(ic)
	leaf := pki().leaf(t, "default")
	o.Add(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ingress", Name: "router-certs-" + settings.RouterName},
		Data:       map[string][]byte{"tls.crt": []byte(leaf.certPEM), "tls.key": []byte(leaf.keyPEM)},
	})
	w, err := explain.NewSnapshot(o, explain.Options{Router: settings.RouterName, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// randomURL is one of few, so that many of them meet a route. The line is how
// a case writes the same request.
func (u *universe) randomURL() (url, line string) {
	scheme := pick(u, []string{"http", "https"})
	host := pick(u, append([]string{"c.u.test", "x.b.u.test", "test", "A.U.TEST"}, someHosts...))
	target := pick(u, append(otherPaths, somePaths[1:]...))
	if u.IntN(4) == 0 {
		target += "?q=/foo"
	}
	return scheme + "://" + host + target, fmt.Sprintf("GET %s://%s/ target=%s -> x", scheme, host, target)
}

// history deletes the routes of which a former version is served: objects do
// not tell of it.
func (c *core) history() change {
	var ch change
	for _, k := range c.keeping() {
		ch.del = append(ch.del, k.Object)
	}
	return ch
}

func explainURL(t *testing.T, w *explain.Snapshot, url string) *explain.Explanation {
	t.Helper()
	r, err := explain.ParseRequest(explain.RequestArgs{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return w.Explain(r)
}

// TestExplainEqualsMatch compares explain with the tables, over random route
// sets and 200 URLs each.
func TestExplainEqualsMatch(t *testing.T) {
	t.Parallel()
	for i := range 10 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			u := newUniverse(t)
			u.unbounded = true
			k := newCore(t)
			k.apply(u.services())
			for range 60 {
				k.apply(u.change())
			}
			k.apply(k.history())
			w := explainer(t, k.cluster)
			for range 200 {
				url, line := u.randomURL()
				parsed, err := parseLine(line)
				if err != nil {
					t.Fatal(err)
				}
				d, e := decide(k.pipeline.Want(), &parsed.request), explainURL(t, w, url)
				if err := sameDecision(d, e); err != nil {
					t.Errorf("%s: %v", url, err)
				}
			}
		})
	}
}

// sameDecision compares an explanation with what the tables say.
func sameDecision(d decision, e *explain.Explanation) error {
	switch {
	case d.backend != nil && e.Backend != d.value:
		return fmt.Errorf("the tables say %s, explain says %s", d.value, e.Backend)
	case d.backend != nil && (e.Route == nil || len(e.Endpoints) != len(d.backend.Servers)):
		return fmt.Errorf("%s: explain shows route %v with %d of %d endpoints", d.value, e.Route, len(e.Endpoints), len(d.backend.Servers))
	case d.backend == nil && (e.Result.Status != d.page() || e.Served):
		return fmt.Errorf("the tables give %d (%q), explain says %+v", d.page(), d.value, e.Result)
	case (d.value == match.Refuse || match.RedirectStatus(d.value) != 0) && e.Route == nil:
		return fmt.Errorf("a route decides (%q), explain names none", d.value)
	case d.value == "" && e.Route != nil:
		return fmt.Errorf("no route decides, explain names %s", e.Route.Name)
	}
	for _, o := range e.Others {
		if o.Code == "" || o.Why == "" {
			return fmt.Errorf("no word on why %s loses", o.Route.Name)
		}
	}
	return nil
}

// TestExplainEqualsHAProxy compares explain with what HAProxy really does, over
// 200 random URLs.
func TestExplainEqualsHAProxy(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.start()
	u, k := newUniverse(t), newCore(t)
	u.unbounded = true
	apply := func(c change) {
		b.apply(c)
		k.apply(c)
	}
	apply(u.services())
	for range 10 {
		for range 4 {
			apply(u.change())
		}
		apply(k.history())
		w := explainer(t, b.cluster)
		for range 20 {
			url, line := u.randomURL()
			parsed, err := parseLine(line)
			if err != nil {
				t.Fatal(err)
			}
			e, res := explainURL(t, w, url), parsed.request.do(b.http, b.https)
			if err := happened(e, res); err != nil {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
}

// happened compares an explanation with a response.
func happened(e *explain.Explanation, r response) error {
	closed := r.err != nil && r.status == 0
	switch {
	case e.Served && r.pod == nil:
		return fmt.Errorf("explain: %s; HAProxy: status %d, %w", e.Result.Text, r.status, r.err)
	case !e.Served && r.pod != nil:
		return fmt.Errorf("explain: %s; HAProxy: pod %s", e.Result.Text, r.pod.Pod)
	case !e.Served && e.Result.Status != r.status && (e.Result.Status != 0 || !closed):
		return fmt.Errorf("explain: %s; HAProxy: status %d, %w", e.Result.Text, r.status, r.err)
	case e.Result.Location != "" && r.header.Get("Location") != e.Result.Location:
		return fmt.Errorf("explain: to %s; HAProxy: to %s", e.Result.Location, r.header.Get("Location"))
	case e.Listener.Name == "https" && !closed && !strings.Contains(e.Certificate.Subject, "CN="+r.cert):
		return fmt.Errorf("explain: certificate %s; HAProxy: %s", e.Certificate.Subject, r.cert)
	}
	if !e.Served {
		return nil
	}
	for _, s := range e.Endpoints {
		if s.Address == r.pod.Pod && s.Weight > 0 {
			return nil
		}
	}
	return fmt.Errorf("pod %s answered, and explain does not have it: %v", r.pod.Pod, e.Endpoints)
}
