package cases

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// securePods listen with TLS. Their certificates are of the authority "ca", for any.test.
const securePods = `
gw/one https=8443 one@198.18.250.211
gw/two https=8443 two@198.18.250.212
gw/strange https=8443 strange@198.18.250.213
gw/plain http=8080 plain@198.18.250.214
`

const upstreamRoute = plainGateway + `
kind: HTTPRoute
metadata: {namespace: gw, name: tls}
spec:
  parentRefs: [{name: gw}]
  rules:
  - matches: [{path: {value: /one}}]
    backendRefs: [{name: one, port: 8443}]
  - matches: [{path: {value: /strange}}]
    backendRefs: [{name: strange, port: 8443}]
  - matches: [{path: {value: /plain}}]
    backendRefs: [{name: plain, port: 8080}]
  - matches: [{path: {value: /both}}]
    backendRefs: [{name: one, port: 8443}, {name: strange, port: 8443}, {name: plain, port: 8080, weight: 0}]
`

// tlsPolicyText makes a BackendTLSPolicy of the CA in the ConfigMap of that name.
func tlsPolicyText(name, service, configMap, hostname, more string) string {
	return fmt.Sprintf(`
kind: BackendTLSPolicy
metadata: {namespace: gw, name: %s%s}
spec:
  targetRefs: [{group: "", kind: Service, name: %s}]
  validation:
    caCertificateRefs: [{group: "", kind: ConfigMap, name: %s}]
    hostname: %s
`, name, more, service, configMap, hostname)
}

func caMap(t *testing.T, name, ca string) string {
	t.Helper()
	return fmt.Sprintf("kind: ConfigMap\nmetadata: {namespace: gw, name: %s}\ndata:\n  ca.crt: |\n    %s\n", name,
		strings.ReplaceAll(strings.TrimSpace(pki().ca(t, ca).certPEM), "\n", "\n    "))
}

// TestGatewayUpstreamTLS has HAProxy verify pods as BackendTLSPolicies say: what cannot be
// verified gets no request, and a policy that cannot be applied closes its Services.
func TestGatewayUpstreamTLS(t *testing.T) {
	t.Parallel()
	for _, program := range supported() {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, program, newMemory())
			b.slots = freeSlots(t)
			b.cluster.slots = map[int32]int32{80: int32(b.slots.First)}
			b.start()
			join := func(parts ...string) string { return strings.Join(parts, "\n---\n") }
			put := func(parts ...string) {
				t.Helper()
				b.applyWithPods(parseStep(t, map[string]string{"in.yaml": join(parts...)}))
			}
			expect := func(lines ...string) {
				t.Helper()
				for _, line := range lines {
					b.expectAtListener(t, "80 "+line)
				}
			}
			policy := func(name string) string {
				st, _ := b.statusOf(model.Object{Kind: gateway.KindBackendTLSPolicy, Namespace: "gw", Name: name})
				for _, c := range st.Conditions {
					if c.Type == "Accepted" {
						return c.Reason
					}
				}
				return ""
			}
			reason := func(name, want string) {
				t.Helper()
				b.eventually("the policy "+name+" is "+want, func() error {
					if got := policy(name); got != want {
						return fmt.Errorf("the policy %s has the reason %q, want %q", name, got, want)
					}
					return nil
				})
			}

			b.applyWithPods(parseStep(t, map[string]string{"services": securePods, "in.yaml": join(upstreamRoute,
				caMap(t, "good", "ca"), caMap(t, "bad", "other"),
				tlsPolicyText("one", "one", "good", "any.test", ""), tlsPolicyText("strange", "strange", "bad", "any.test", ""))}))
			expect("GET http://h.test/one -> 200 sni=any.test", "GET http://h.test/strange -> 503", "GET http://h.test/plain -> 200", "GET http://h.test/one ws -> 101")
			reason("one", "Accepted")
			reason("strange", "Accepted")
			expect("GET http://h.test/both -> 200 sni=any.test", "GET http://h.test/both -> 503")

			// The name decides, too.
			put(tlsPolicyText("one", "one", "good", "wrong.test", ""))
			expect("GET http://h.test/one -> 503")
			put(tlsPolicyText("one", "one", "good", "any.test", ""), tlsPolicyText("strange", "strange", "good", "any.test", ""))
			expect("GET http://h.test/one -> 200", "GET http://h.test/strange -> 200")

			// What cannot be applied closes.
			put(tlsPolicyText("one", "one", "missing", "any.test", ""))
			expect("GET http://h.test/one -> 500")
			reason("one", "NoValidCACertificate")
			put("kind: ConfigMap\nmetadata: {namespace: gw, name: missing}\ndata: {ca.crt: nonsense}")
			expect("GET http://h.test/one -> 500")
			put(caMap(t, "missing", "ca"))
			expect("GET http://h.test/one -> 200")
			reason("one", "Accepted")
			put(strings.Replace(tlsPolicyText("one", "one", "good", "any.test", ""), "hostname: any.test", "hostname: any.test\n    subjectAltNames: [{type: Hostname, hostname: other.test}]", 1))
			expect("GET http://h.test/one -> 500")
			reason("one", "Invalid")

			// The authorities of the image, if it has some.
			system := "hostname: any.test\n    wellKnownCACertificates: System"
			for _, name := range []string{"one", "strange"} {
				put(strings.Replace(strings.Replace(tlsPolicyText(name, name, "good", "any.test", ""), "hostname: any.test", system, 1), "    caCertificateRefs: [{group: \"\", kind: ConfigMap, name: good}]\n", "", 1))
			}
			reason("one", "Invalid")
			expect("GET http://h.test/one -> 500")
			authorities, err := certificate.SystemCA(pki().ca(t, "other").certPEM + pki().ca(t, "ca").certPEM)
			if err != nil {
				t.Fatal(err)
			}
			set := b.cluster.Settings()
			set.SystemCA = authorities
			b.cluster.apply(change{settings: &set})
			reason("one", "Accepted")
			expect("GET http://h.test/one -> 200 sni=any.test", "GET http://h.test/strange -> 200")
			if set.SystemCA, err = certificate.SystemCA(pki().ca(t, "other").certPEM); err != nil {
				t.Fatal(err)
			}
			b.cluster.apply(change{settings: &set})
			expect("GET http://h.test/one -> 503", "GET http://h.test/strange -> 503")

			// A pod without TLS gets nothing in plain text.
			put(tlsPolicyText("plain", "plain", "good", "any.test", ""))
			expect("GET http://h.test/plain -> 503")
			b.cluster.apply(change{del: []model.Object{{Kind: gateway.KindBackendTLSPolicy, Namespace: "gw", Name: "plain"}}})
			expect("GET http://h.test/plain -> 200")

			// The older policy has the Service.
			put(tlsPolicyText("one", "one", "good", "any.test", `, creationTimestamp: "2026-01-02T00:00:00Z"`),
				tlsPolicyText("younger", "one", "bad", "any.test", `, creationTimestamp: "2026-01-03T00:00:00Z"`))
			reason("younger", "Conflicted")
			expect("GET http://h.test/one -> 200 sni=any.test")
			if n := b.reloads(); program == "haproxy" && n != 0 {
				t.Errorf("%d reloads", n)
			}
		})
	}
}

// TestBackendTLSPolicyExample serves the example of docs/gateway/backendtlspolicy.md, with an
// authority that has signed something.
func TestBackendTLSPolicyExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/gateway/backendtlspolicy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	before, rest, _ := strings.Cut(example, "    -----BEGIN")
	_, after, found := strings.Cut(rest, "END CERTIFICATE-----\n")
	if !found {
		t.Fatal("the example has no certificate")
	}
	ca := "    " + strings.ReplaceAll(strings.TrimSpace(pki().ca(t, "ca").certPEM), "\n", "\n    ") + "\n"
	b := newGatewayBed(t)
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{
		"services": "demo/cart https=8443 one@198.18.250.215",
		"in.yaml":  strings.ReplaceAll(plainGateway, "namespace: gw, name: gw", "namespace: demo, name: web") + "\n" + before + ca + after,
	}))
	b.expectAtListener(t, "80 GET http://h.test/ -> 200 sni=cart.demo.svc")
}
