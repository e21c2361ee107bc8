package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

// routersYAML are an IngressController that Gateways of the namespace may name, and one that does so.
const routersYAML = `apiVersion: operator.openshift.io/v1
kind: IngressController
metadata:
  name: inside
  namespace: openshift-ingress-operator
  annotations: {fairlead.dev/gateway-namespaces: kubernetes.io/metadata.name=demo}
spec: {domain: inside.example.com, replicas: 1, endpointPublishingStrategy: {type: LoadBalancerService}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: fairlead}
spec: {controllerName: fairlead.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: routers, namespace: demo}
spec:
  gatewayClassName: fairlead
  infrastructure: {parametersRef: {group: operator.openshift.io, kind: IngressController, name: inside}}
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: routers, namespace: demo}
spec:
  parentRefs: [{name: routers}]
  rules: [{backendRefs: [{name: demo-v2, port: 80}]}]
`

// TestGatewayRouters: the routers that a Gateway names serve it, and no others; without the permission of
// their IngressController it has no address.
func TestGatewayRouters(t *testing.T) {
	p := installed(t)
	t.Cleanup(func() {
		for _, args := range [][]string{
			{"-n", "demo", "delete", "gateway/routers", "httproute/routers", "--timeout=60s"},
			{"-n", "openshift-ingress-operator", "delete", "ic/inside", "--timeout=90s"},
		} {
			if out, err := p.Cluster.KubectlCommand(context.WithoutCancel(t.Context()), args...).CombinedOutput(); err != nil {
				t.Logf("clean up: %v: %s", err, out)
			}
		}
	})
	address := programmed(t, p, routersYAML, "routers")
	client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DialContext: p.Cluster.Dial("client"), DisableKeepAlives: true}}
	url := "http://" + net.JoinHostPort(address, "80") + "/text"
	soon := func(what string, check func() error) {
		t.Helper()
		if err := (wait.Poll{Limit: 2 * time.Minute, Every: wait.Slowly}).Until(t.Context(), what, check); err != nil {
			out, _ := p.Cluster.Kubectl(t.Context(), "get", "gateway,service,endpointslice", "-n", "demo", "-o", "yaml")
			t.Fatalf("%v\n%s", err, out)
		}
	}
	led := func() (string, error) {
		return p.Cluster.Kubectl(t.Context(), "-n", "demo", "get", "endpointslice", "-l", "gateway.networking.k8s.io/gateway-name=routers", "-o", "jsonpath={.items[*].endpoints[*].addresses[0]}")
	}
	soon("the Gateway answers", func() error {
		got, err := bodyOf(t.Context(), client, url)
		if err == nil && !strings.HasPrefix(got, "demo v2 ") {
			err = fmt.Errorf("%q", got)
		}
		return err
	})
	inside, err := p.Cluster.Kubectl(t.Context(), "-n", "openshift-ingress", "get", "pods", "-l", "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=inside", "-o", "jsonpath={.items[*].status.podIP}")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := led(); err != nil || got != inside || inside == "" {
		t.Errorf("the Gateway leads to %q, %v; the routers that it names are %q", got, err, inside)
	}

	if _, err := p.Cluster.Kubectl(t.Context(), "-n", "openshift-ingress-operator", "annotate", "ic/inside", "fairlead.dev/gateway-namespaces-"); err != nil {
		t.Fatal(err)
	}
	soon("the Gateway is not served any more", func() error {
		out, err := p.Cluster.Kubectl(t.Context(), "-n", "demo", "get", "gateway", "routers", "-o", `jsonpath={.status.conditions[?(@.type=="Accepted")].reason} {.status.addresses}`)
		if err == nil && out != "InvalidParameters " {
			err = fmt.Errorf("status %q", out)
		}
		return err
	})
	if got, err := led(); err != nil || got != "" {
		t.Errorf("it still leads to %q, %v", got, err)
	}
	if got, err := bodyOf(t.Context(), client, url); err == nil {
		t.Errorf("its address answers %q", got)
	}
}
