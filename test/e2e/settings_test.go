package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

// TestRefusedSettings gives an IngressController settings that contradict
// themselves: neither the routers that run nor one that starts in a new pod use
// any of them.
func TestRefusedSettings(t *testing.T) {
	p := installed(t)
	client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DialContext: p.Cluster.Dial("client"), DisableKeepAlives: true}}
	edit := func(ctx context.Context, patch string) {
		if _, err := p.Kubectl(ctx, "-n", "openshift-ingress-operator", "patch", "ic/default", "--type=merge", "-p", patch); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { edit(context.WithoutCancel(t.Context()), `{"spec":{"httpHeaders":null,"clientTLS":null}}`) })
	says := func(value string) string {
		return `"httpHeaders":{"actions":{"response":[{"name":"X-Settings","action":{"type":"Set","set":{"value":"` + value + `"}}}]}}`
	}
	answers := func(address, want string) {
		t.Helper()
		err := wait.Poll{Limit: time.Minute, Every: wait.Slowly}.Until(t.Context(), "the settings are used", func() error {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/text", nil)
			if err != nil {
				return err
			}
			r.Host = plainHost
			answer, err := client.Do(r)
			if err != nil {
				return err
			}
			_ = answer.Body.Close()
			if got := answer.Header.Get("X-Settings"); got != want {
				err = fmt.Errorf("X-Settings of %s is %q, want %q", address, got, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	edit(t.Context(), `{"spec":{`+says("admitted")+`}}`)
	answers(p.Address, "admitted")
	// Routers are faster than the operator, which keeps settings for new pods
	// only if it sees them before the next ones come.
	err := wait.Poll{Limit: time.Minute, Every: wait.Slowly}.Until(t.Context(), "the operator keeps the admitted settings", func() error {
		kept, err := p.Kubectl(t.Context(), "-n", "openshift-ingress", "get", "configmap", api.AdmittedConfigMapName("default"), "-o", "jsonpath={.data}")
		if err == nil && !strings.Contains(kept, "X-Settings") {
			err = fmt.Errorf("the operator keeps %s", kept)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	edit(t.Context(), `{"spec":{`+says("refused")+`,"clientTLS":{"clientCertificatePolicy":"","clientCA":{"name":""},"allowedSubjectPatterns":["("]}}}`)
	for _, condition := range []string{"Admitted", "SettingsApplied"} {
		if out, err := p.Kubectl(t.Context(), "-n", "openshift-ingress-operator", "wait", "--for=condition="+condition+"=False", "ic/default", "--timeout=20s"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	answers(p.Address, "admitted")
	before := pods(t, p, "openshift-ingress", routerPods)
	if _, err := p.Kubectl(t.Context(), "-n", "openshift-ingress", "delete", "pod", before[0], "--wait=false"); err != nil {
		t.Fatal(err)
	}
	var started string
	err = wait.Poll{Limit: 60 * time.Second, Every: wait.Slowly}.Until(t.Context(), "a new pod", func() error {
		now := pods(t, p, "openshift-ingress", routerPods)
		i := slices.IndexFunc(now, func(pod string) bool { return !slices.Contains(before, pod) })
		if i < 0 {
			return fmt.Errorf("no pod but %v runs", now)
		}
		started = now[i]
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	answers(podIP(t, p, started), "admitted")
	available(t, p)
}

func podIP(t *testing.T, p *install.Product, pod string) string {
	t.Helper()
	ip, err := p.Kubectl(t.Context(), "-n", "openshift-ingress", "get", "pod", pod, "-o", "jsonpath={.status.podIP}")
	if err != nil {
		t.Fatal(err)
	}
	return ip
}

// TestMetricsToken reads a router's metrics as a Prometheus does: over HTTPS,
// with the token of an account that is bound to router-monitoring.
func TestMetricsToken(t *testing.T) {
	p := installed(t)
	apply(t, p, `apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: demo}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: prometheus-router-monitoring}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: router-monitoring}
subjects:
- {kind: ServiceAccount, name: prometheus, namespace: demo}
`)
	token, err := p.Kubectl(t.Context(), "-n", "demo", "create", "token", "prometheus")
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := p.Kubectl(t.Context(), "-n", "openshift-ingress", "get", "secret", "router-certs-default", "-o", `jsonpath={.data.tls\.crt}`)
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := base64.StdEncoding.DecodeString(encoded)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(trusted) {
		t.Fatalf("certificate %q: %v", encoded, err)
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: p.Cluster.Dial("client"), TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "router-default.apps.example.com"},
	}}
	url := "https://" + podIP(t, p, pods(t, p, "openshift-ingress", routerPods)[0]) + ":1936/metrics"
	for token, want := range map[string]int{strings.TrimSpace(token): http.StatusOK, "made-up": http.StatusUnauthorized, "": http.StatusUnauthorized} {
		err := wait.Poll{Limit: time.Minute, Every: wait.Slowly}.Until(t.Context(), "the status of an authorised request", func() error {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", "Bearer "+token)
			answer, err := client.Do(r)
			if err != nil {
				return err
			}
			_ = answer.Body.Close()
			if answer.StatusCode != want {
				err = fmt.Errorf("%d, want %d", answer.StatusCode, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
