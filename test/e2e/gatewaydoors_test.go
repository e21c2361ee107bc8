package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

// doorsYAML is a Gateway for HTTPS and for datagrams, with a route at each.
const doorsYAML = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: fairlead}
spec: {controllerName: fairlead.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: doors, namespace: demo}
spec:
  gatewayClassName: fairlead
  listeners:
  - name: https
    port: 443
    protocol: HTTPS
    hostname: ingress.apps.example.com
    tls: {certificateRefs: [{name: ingress-demo-certificate}]}
  - {name: udp, port: 53, protocol: UDP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: doors, namespace: demo}
spec:
  parentRefs: [{name: doors, sectionName: https}]
  rules: [{backendRefs: [{name: demo-v2, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: doors, namespace: demo}
spec:
  parentRefs: [{name: doors, sectionName: udp}]
  rules: [{backendRefs: [{name: datagrams, port: 53}]}]
---
apiVersion: v1
kind: Service
metadata: {name: datagrams, namespace: demo}
spec:
  selector: {app: demo, version: v1}
  ports: [{name: dns, port: 53, targetPort: 8080, protocol: UDP}]
`

// TestGatewayDoors: at the address of a Gateway, an HTTPS listener shows the certificate of its Secret, and a UDPRoute's datagrams come
// back from the address that the client asked.
func TestGatewayDoors(t *testing.T) {
	p := installed(t)
	address := programmed(t, p, doorsYAML, "doors")
	client := secureClient(t, p, address)
	served := func(what string, ask func() (string, error), want string) {
		t.Helper()
		began := time.Now()
		wait.Poll{Every: wait.Slowly}.For(t, what, func() error {
			got, err := ask()
			if err == nil && !strings.HasPrefix(got, want) {
				err = fmt.Errorf("%q, want %q", got, want)
			}
			return err
		})
		t.Logf("%s after %.1f s", what, time.Since(began).Seconds())
	}
	served("HTTPS answers", func() (string, error) { return bodyOf(t.Context(), client, "https://ingress.apps.example.com/text") }, "demo v2 ")
	served("a datagram is answered", func() (string, error) { return datagram(t.Context(), p, address+":53", "where am I") }, "demo v1 ")
}

// programmed applies objects with a Gateway in the namespace demo, and returns its address once it has one. The
// kinds are installed first.
func programmed(t *testing.T, p *install.Product, objects, gateway string) (address string) {
	t.Helper()
	if out, err := p.Cluster.Kubectl(t.Context(), "apply", "--server-side", "-k", p.Root+"/config/gateway"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	apply(t, p, objects)
	if _, err := p.Cluster.Kubectl(t.Context(), "-n", "demo", "wait", "--for=condition=Programmed", "--timeout=240s", "gateway/"+gateway); err != nil {
		t.Fatal(err)
	}
	address, err := p.Cluster.Kubectl(t.Context(), "-n", "demo", "get", "gateway", gateway, "-o", "jsonpath={.status.addresses[0].value}")
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// secureClient trusts the certificate of the listener, and finds its host at the address.
func secureClient(t *testing.T, p *install.Product, address string) *http.Client {
	t.Helper()
	encoded, err := p.Cluster.Kubectl(t.Context(), "-n", "demo", "get", "secret", "ingress-demo-certificate", "-o", `jsonpath={.data.tls\.crt}`)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := base64.StdEncoding.DecodeString(encoded)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		t.Fatalf("the Secret's certificate: %v", err)
	}
	dial := p.Cluster.Dial("client")
	return &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dial(ctx, network, net.JoinHostPort(address, "443"))
		},
	}}
}

func bodyOf(ctx context.Context, client *http.Client, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	return string(body), err
}

// datagram sends one and returns what comes back from the address that it was sent to.
func datagram(ctx context.Context, p *install.Product, address, content string) (string, error) {
	conn, err := p.Cluster.Dial("client")(ctx, "udp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	buffer := make([]byte, 1<<10)
	_, writeErr := conn.Write([]byte(content))
	n, err := conn.Read(buffer)
	if err = errors.Join(writeErr, err); err != nil {
		return "", err
	}
	if got := string(buffer[:n]); !strings.HasSuffix(got, " "+content+"\n") {
		return "", fmt.Errorf("the answer to %q is %q", content, got)
	}
	return string(buffer[:n]), nil
}
