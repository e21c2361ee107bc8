package console

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/manifest"
)

// TestUnreadCertificates: where Secrets are not read, the page says how many certificates are
// in them, and which command shows them; the Routes that are decided keep their Secrets' names.
func TestUnreadCertificates(t *testing.T) {
	t.Parallel()
	const route = `
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: external, namespace: web, uid: u1, creationTimestamp: "2026-01-03T00:00:00Z"}
spec: {host: external.example.com, to: {kind: Service, name: shop}, tls: {termination: edge, externalCertificate: {name: web-tls}}}
`
	const more = `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: made, namespace: web, uid: u2, annotations: {cert-manager.io/cluster-issuer: letsencrypt}}
spec: {ingressClassName: openshift-default, tls: [{hosts: [made.example.com], secretName: made-tls}], rules: [{host: made.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop, port: {number: 80}}}}]}}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: web, uid: u3}
spec: {gatewayClassName: fairlead, listeners: [{name: https, port: 443, protocol: HTTPS, hostname: gw.example.com, tls: {certificateRefs: [{name: gw-tls}]}}]}
`
	listeners := manifest.NewReader("default")
	listeners.Read("all.yaml", []byte(shop+route+more))
	newBed(t, decided(t, listeners.Objects()), true).says(t, "certs", http.StatusOK, []string{
		"gw.example.com Secret web/gw-tls is not among the manifests", "gateway/web/gw#https", "made.example.com Secret web/made-tls is not among the manifests", "ingress made", "cert-manager: ClusterIssuer letsencrypt",
	}, nil)
	r := manifest.NewReader("default")
	r.Read("all.yaml", []byte(shop+route))
	o := r.Objects()
	o.Offline = false
	o.Gaps = append(o.Gaps, explain.Gap{Kind: "Secret", Why: "this program has no right to"})
	b := newBed(t, decided(t, o), true)
	b.says(t, "certs", http.StatusOK, []string{
		"1 certificate is in a Secret that the console does not have", "tool certs -A", "external.example.com", "Secret web/web-tls could not be read: this program has no right to", "secret web-tls", "Unknown",
	}, nil)
	for key, route := range o.Routes { // which snapshots share
		if key.Name == "external" && (route.Spec.TLS.ExternalCertificate == nil || route.Spec.TLS.ExternalCertificate.Name != "web-tls") {
			t.Errorf("the Route was changed: %+v", route.Spec.TLS)
		}
	}
	o.Gaps = nil
	o.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "web-tls"}, Data: map[string][]byte{"tls.crt": []byte("x"), "tls.key": []byte("y")}})
	b.source.snapshot.Store(decided(t, o))
	b.now.Add(60)
	b.says(t, "certs", http.StatusOK, []string{"external.example.com"}, []string{"the console does not have"})
}
