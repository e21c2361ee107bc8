package gateway_test

import (
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// btp makes a BackendTLSPolicy in namespace ns.
func btp(name, target, validation string) string {
	return fmt.Sprintf("kind: BackendTLSPolicy\nmetadata: {namespace: ns, name: %s, uid: %s}\nspec:\n  targetRefs: [{group: \"\", kind: Service, %s}]\n  validation: {%s}", name, name, target, validation)
}

const goodCA = `hostname: web.test, caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]`

// authorities is a ConfigMap.
func authorities(t *testing.T) *policy.ConfigMap {
	t.Helper()
	cert, err := certfile.SelfSigned("ca.test")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(cert.PEM))
	return policy.NewConfigMap(&corev1.ConfigMap{Data: map[string]string{"ca.crt": string(pem.EncodeToMemory(block))}})
}

// TestTLSPolicies: what requests for port 80 of the Service web come to, and what each policy
// says of itself.
func TestTLSPolicies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		policies []string
		tls      string // the name that is verified, "plain" or "closed"
		status   string
	}{
		{"none", nil, "plain", ""},
		{"the whole Service", []string{btp("a", "name: web", goodCA)}, "web.test", "a True Accepted True ResolvedRefs"},
		{"the port", []string{btp("a", "name: web, sectionName: http", goodCA)}, "web.test", "a True Accepted True ResolvedRefs"},
		{"another port", []string{btp("a", "name: web, sectionName: admin", goodCA)}, "plain", "a True Accepted True ResolvedRefs"},
		{"no such port", []string{btp("a", "name: web, sectionName: none", goodCA)}, "plain", "a False TargetNotFound True ResolvedRefs"},
		{"no such Service", []string{btp("a", "name: nothing", goodCA)}, "plain", "a False TargetNotFound True ResolvedRefs"},
		{"the port goes first", []string{
			btp("a", "name: web", strings.Replace(goodCA, "web.test", "whole.test", 1)), btp("b", "name: web, sectionName: http", goodCA),
		}, "web.test", "a True Accepted True ResolvedRefs, b True Accepted True ResolvedRefs"},
		{"by name", []string{btp("b", "name: web", strings.Replace(goodCA, "web.test", "b.test", 1)), btp("a", "name: web", goodCA)}, "web.test", "a True Accepted True ResolvedRefs, b False Conflicted True ResolvedRefs"},
		{"an older one that is invalid", []string{btp("a", "name: web", `hostname: web.test, wellKnownCACertificates: System`), btp("b", "name: web", goodCA)}, "closed", "a False Invalid True ResolvedRefs, b False Conflicted True ResolvedRefs"},
		{"no such ConfigMap", []string{btp("a", "name: web", strings.Replace(goodCA, "name: ca", "name: none", 1))}, "closed", "a False NoValidCACertificate False InvalidCACertificateRef"},
		{"another kind", []string{btp("a", "name: web", strings.Replace(goodCA, "kind: ConfigMap", "kind: Secret", 1))}, "closed", "a False NoValidCACertificate False InvalidKind"},
		{"one of two", []string{btp("a", "name: web", `hostname: web.test, caCertificateRefs: [{group: "", kind: ConfigMap, name: none}, {group: "", kind: ConfigMap, name: ca}]`)}, "web.test", "a True Accepted False InvalidCACertificateRef"},
		{"no authorities", []string{btp("a", "name: web", "hostname: web.test")}, "closed", "a False NoValidCACertificate True ResolvedRefs"},
		{"the name itself", []string{btp("a", "name: web", goodCA+", subjectAltNames: [{type: Hostname, hostname: web.test}]")}, "web.test", "a True Accepted True ResolvedRefs"},
		{"another name", []string{btp("a", "name: web", goodCA+", subjectAltNames: [{type: Hostname, hostname: other.test}]")}, "closed", "a False Invalid True ResolvedRefs"},
		{"several names", []string{btp("a", "name: web", goodCA+", subjectAltNames: [{type: Hostname, hostname: web.test}, {type: Hostname, hostname: web.test}]")}, "closed", "a False Invalid True ResolvedRefs"},
		{"an address of a workload", []string{btp("a", "name: web", goodCA+", subjectAltNames: [{type: URI, uri: 'spiffe://a/b'}]")}, "closed", "a False Invalid True ResolvedRefs"},
		{"no name", []string{btp("a", "name: web", strings.Replace(goodCA, "web.test", `"a) b"`, 1))}, "closed", "a False Invalid True ResolvedRefs"},
		{"options", []string{btp("a", "name: web", goodCA) + "\n  options: {a: b}"}, "closed", "a False Invalid True ResolvedRefs"},
		{"several targets", []string{btp("a", "name: web}, {group: \"\", kind: Service, name: next", goodCA)}, "web.test", "a True Accepted True ResolvedRefs"},
		{"another kind of target", []string{strings.Replace(btp("a", "name: web", goodCA), "kind: Service", "kind: Pod", 1)}, "plain", "a False TargetNotFound True ResolvedRefs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, manifests(append([]string{web, plainGateway, rule("backendRefs: [{name: web, port: 80}]")}, test.policies...)...))
			c.configMaps["ca"] = authorities(t)
			res := c.route(t, "ns", "r")
			if got := spokenTo(res.Claims[0]); got != test.tls {
				t.Errorf("%s, want %s; findings %v", got, test.tls, res.Findings)
			}
			if condition(res.Parents[0].Conditions, "Accepted") != "True Accepted" {
				t.Errorf("parents %+v", res.Parents)
			}
			var status []string
			for _, name := range []string{"a", "b"} {
				if v := c.objects[model.Object{Kind: gateway.KindBackendTLSPolicy, Namespace: "ns", Name: name}]; v != nil {
					of := gateway.BackendTLSPolicies{}.Ingest(v, c, door.Settings{}, door.Past{})
					status = append(status, name+" "+condition(of.Conditions, "Accepted")+" "+condition(of.Conditions, "ResolvedRefs"))
				}
			}
			if got := strings.Join(status, ", "); got != test.status {
				t.Errorf("status %s, want %s", got, test.status)
			}
		})
	}
}

// TestTLSPoliciesOfTheSystem: the authorities that the router's image trusts, where it has some
// and a policy asks for these alone.
func TestTLSPoliciesOfTheSystem(t *testing.T) {
	t.Parallel()
	own := &model.CA{ID: "default:system:x"}
	for _, test := range []struct {
		validation  string
		system      *model.CA
		tls, status string
	}{
		{"hostname: web.test, wellKnownCACertificates: System", own, "web.test", "True Accepted True ResolvedRefs"},
		{"hostname: web.test, wellKnownCACertificates: System", nil, "closed", "False Invalid True ResolvedRefs"},
		{"hostname: web.test, wellKnownCACertificates: system", own, "closed", "False Invalid True ResolvedRefs"},
		{"hostname: web.test, wellKnownCACertificates: example.com/Others", own, "closed", "False Invalid True ResolvedRefs"},
		{goodCA + ", wellKnownCACertificates: System", own, "closed", "False Invalid True ResolvedRefs"},
		{"hostname: '*.test', wellKnownCACertificates: System", own, "closed", "False Invalid True ResolvedRefs"},
		{"hostname: web.test, wellKnownCACertificates: System, subjectAltNames: [{type: Hostname, hostname: other.test}]", own, "closed", "False Invalid True ResolvedRefs"},
		{goodCA, own, "web.test", "True Accepted True ResolvedRefs"},
	} {
		c := newCluster(t, manifests(web, plainGateway, rule("backendRefs: [{name: web, port: 80}]"), btp("a", "name: web", test.validation)))
		c.configMaps["ca"] = authorities(t)
		set := door.Settings{SystemCA: test.system}
		res := gateway.HTTPRoutes{}.Ingest(c.objects[model.Object{Kind: gateway.KindHTTPRoute, Namespace: "ns", Name: "r"}], c, set, door.Past{})
		of := gateway.BackendTLSPolicies{}.Ingest(c.objects[model.Object{Kind: gateway.KindBackendTLSPolicy, Namespace: "ns", Name: "a"}], c, set, door.Past{})
		if got, status := spokenTo(res.Claims[0]), condition(of.Conditions, "Accepted")+" "+condition(of.Conditions, "ResolvedRefs"); got != test.tls || status != test.status {
			t.Errorf("%s: %s, %s, want %s, %s", test.validation, got, status, test.tls, test.status)
		}
	}
}

// spokenTo says how the router speaks to the pods of a claim.
func spokenTo(c *model.Claim) string {
	if c.Answer != 0 {
		return "closed"
	}
	o := c.Backend.Servers[0].Options
	if !o.TLS {
		return "plain"
	}
	if c.Backend.CA == nil || o.CAID != c.Backend.CA.ID {
		return "not verified"
	}
	return o.VerifyHost
}

func TestTLSPolicyProtocols(t *testing.T) {
	t.Parallel()
	c := newCluster(t, manifests(web, plainGateway, btp("a", "name: web", goodCA), btp("b", "name: tls", goodCA), btp("c", "name: grpc", goodCA),
		rule("backendRefs: [{name: web, port: 80, weight: 2}, {name: tls, port: 443}, {name: tls, port: 80}, {name: grpc, port: 81}]\nfilters: [{type: RequestMirror, requestMirror: {backendRef: {name: web, port: 80}}}]")))
	c.configMaps["ca"] = authorities(t)
	v := c.objects[model.Object{Kind: gateway.KindHTTPRoute, Namespace: "ns", Name: "r"}]
	res := gateway.HTTPRoutes{}.Ingest(v, c, door.Settings{Agent: true}, door.Past{})
	claim := res.Claims[0]
	if claim.Backend.Policy().Mirror != nil {
		t.Error("copies are sent without TLS")
	}
	backends := []model.Backend{claim.Backend}
	for _, s := range claim.Split {
		backends = append(backends, s.Backend)
	}
	for i, want := range []string{"h2 and 1.1", "h2 and 1.1", "h2", "1.1"} {
		o := backends[i].Servers[0].Options
		got := map[bool]string{true: "h2 and 1.1", false: "1.1"}[o.HTTP2]
		if o.Rare().OnlyHTTP2 {
			got = "h2"
		}
		if got != want || !o.TLS || o.H2C || backends[i].CA == nil {
			t.Errorf("backend %d speaks %s, options %+v", i, got, o)
		}
	}
	if len(res.TLSPolicies) != 3 {
		t.Errorf("policies %v", res.TLSPolicies)
	}
}
