package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// gateway gives a Gateway an address, and measures how soon HTTPRoutes answer there.
func (d *demo) gateway(ctx context.Context) error {
	for _, args := range [][]string{
		{"apply", "--server-side", "-k", "config/gateway"},
		{"wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"},
		{"apply", "-f", "config/samples/gateway.yaml"},
		{"-n", "demo", "wait", "--for=condition=Programmed", "--timeout=120s", "gateway/web"},
		{"-n", "demo", "get", "gateway,httproute"},
	} {
		if _, err := d.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	address, err := d.cluster.Kubectl(ctx, "-n", "demo", "get", "gateway", "web", "-o", "jsonpath={.status.addresses[0].value}")
	if err != nil {
		return err
	}
	ask := "curl -s --max-time 3 -H 'Host: shop.example.com' %s http://" + strings.TrimSpace(address) + "/text"
	if _, err := d.awaitText(ctx, fmt.Sprintf(ask, ""), "demo v1"); err != nil {
		return err
	}
	if err := d.expect(ctx, fmt.Sprintf(ask, "-H 'X-Version: 2'"), "demo v2"); err != nil {
		return err
	}
	if err := d.newHTTPRoutes(ctx, strings.TrimSpace(address)); err != nil {
		return err
	}
	return d.moreListeners(ctx, strings.TrimSpace(address))
}

// listeners are added to the Gateway while it serves: one for HTTPS with the certificate of the sample Ingress, and one for
// datagrams.
const listeners = `[
{"op": "add", "path": "/spec/listeners/-", "value": {"name": "https", "port": 443, "protocol": "HTTPS", "hostname": "ingress.apps.example.com", "tls": {"certificateRefs": [{"name": "ingress-demo-certificate"}]}}},
{"op": "add", "path": "/spec/listeners/-", "value": {"name": "udp", "port": 5353, "protocol": "UDP"}}]`

// behindThem are the routes of these listeners. The sample pods answer datagrams, too.
const behindThem = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: secure, namespace: demo}
spec:
  parentRefs: [{name: web, sectionName: https}]
  rules: [{backendRefs: [{name: demo-v2, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: datagrams, namespace: demo}
spec:
  parentRefs: [{name: web, sectionName: udp}]
  rules: [{backendRefs: [{name: datagrams, port: 5353}]}]
---
apiVersion: v1
kind: Service
metadata: {name: datagrams, namespace: demo}
spec:
  selector: {app: demo, version: v1}
  ports: [{name: udp, port: 5353, targetPort: 8080, protocol: UDP}]
`

// moreListeners shows HTTPS and datagrams at the address of the Gateway.
func (d *demo) moreListeners(ctx context.Context, address string) error {
	file := filepath.Join(d.scratch, "listeners.yaml")
	if err := os.WriteFile(file, []byte(behindThem), 0o600); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	d.show("$", "cat "+file, behindThem)
	for _, args := range [][]string{
		{"apply", "-f", file},
		{"-n", "demo", "patch", "gateway", "web", "--type", "json", "-p", listeners},
	} {
		if _, err := d.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	const host = "ingress.apps.example.com"
	ca, err := d.save(ctx, "listener.crt", "secret/ingress-demo-certificate", `go-template={{index .data "tls.crt" | base64decode}}`)
	if err != nil {
		return err
	}
	for command, want := range map[string]string{
		fmt.Sprintf("curl -s --max-time 3 --cacert %s --resolve %s:443:%s https://%s/text", ca, host, address, host): "demo v2",
		fmt.Sprintf("echo hello | socat -t 0.5 - UDP:%s:5353", address):                                              "demo v1",
	} {
		if _, err := d.awaitText(ctx, command, want); err != nil {
			return err
		}
		if err := d.expect(ctx, command, want); err != nil {
			return err
		}
	}
	return nil
}

// newHTTPRoutes creates HTTPRoutes one by one, and measures as newRoute does.
func (d *demo) newHTTPRoutes(ctx context.Context, address string) error {
	config, err := d.cluster.RESTConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 100
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make an API client: %w", err)
	}
	routes := api.Resource(schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}).Namespace("demo")
	client := d.httpClient(time.Second)
	var added []time.Duration
	for i := range 10 {
		host := fmt.Sprintf("new-%d.gateway.example.com", i)
		if _, err := d.statusAt(ctx, client, address, host); err != nil { // also opens the connection
			return err
		}
		if _, err := routes.Create(ctx, newHTTPRouteObject(host), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create an HTTPRoute: %w", err)
		}
		took, err := d.awaitStatus(ctx, client, address, host, http.StatusOK)
		if err != nil {
			return err
		}
		added = append(added, took)
	}
	slices.Sort(added)
	d.say("10 HTTPRoutes, from the API server's answer to the first response: median %s, slowest %s", milliseconds(added[len(added)/2]), milliseconds(added[len(added)-1]))
	return nil
}

func newHTTPRouteObject(host string) *unstructured.Unstructured {
	name, _, _ := strings.Cut(host, ".")
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
		"metadata": map[string]any{"name": name, "namespace": "demo"},
		"spec": map[string]any{
			"parentRefs": []any{map[string]any{"name": "web"}},
			"hostnames":  []any{host},
			"rules": []any{map[string]any{
				"backendRefs": []any{map[string]any{"name": "demo-v1", "port": int64(80)}},
			}},
		},
	}}
}
