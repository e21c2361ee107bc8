package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/cluster"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

// TestGateway: with the CRDs and three objects a Gateway has an address of its own, where the
// routes of its listeners are served and no others, without a further reload.
func TestGateway(t *testing.T) {
	p := installed(t)
	if out, err := p.Cluster.Kubectl(t.Context(), "apply", "--server-side", "-k", p.Root+"/config/gateway"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	objects, err := os.ReadFile("../../config/samples/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	apply(t, p, string(objects))
	var address string
	eventually := func(what string, check func() error) {
		t.Helper()
		if err := (wait.Poll{Limit: 4 * time.Minute, Every: wait.Slowly}).Until(t.Context(), what, check); err != nil {
			// Whether it is the routers that do not listen, or the nodes that do not lead there.
			for _, pod := range pods(t, p, "openshift-ingress", routerPods) {
				conn, err := p.Cluster.Dial("client")(t.Context(), "tcp", net.JoinHostPort(podIP(t, p, pod), strconv.Itoa(int(gateway.HTTP.First))))
				if err == nil {
					_ = conn.Close()
				}
				t.Logf("the first port for Gateways of pod %s: %v", pod, err)
			}
			out, _ := p.Cluster.Kubectl(t.Context(), "get", "gatewayclass,gateway,httproute,service,endpointslice", "-n", "demo", "-o", "yaml")
			logs, _ := p.Cluster.Kubectl(t.Context(), "logs", "-n", "openshift-ingress", "-l", "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default", "-c", "router", "--prefix", "--tail=60")
			conditions, _ := p.Cluster.Kubectl(t.Context(), "get", "ingresscontroller", "default", "-n", "openshift-ingress-operator", "-o", "jsonpath={.status.conditions}")
			t.Fatalf("%v\n%s\n%s\n%s", err, logs, conditions, out)
		}
	}
	eventually("the Gateway is programmed and has an address", func() error {
		out, err := p.Cluster.Kubectl(t.Context(), "get", "gateway", "web", "-n", "demo", "-o",
			`jsonpath={.status.addresses[0].value} {.status.conditions[?(@.type=="Programmed")].status} {.status.listeners[0].attachedRoutes}`)
		if err != nil {
			return err
		}
		f := strings.Fields(out)
		if len(f) != 3 || f[1] != "True" || f[2] != "1" {
			return fmt.Errorf("status %q", out)
		}
		address = f[0]
		return nil
	})
	client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DialContext: p.Cluster.Dial("client"), DisableKeepAlives: true}}
	get := func(at, host, version string) (int, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/text", http.NoBody)
		if err != nil {
			return 0, "", err
		}
		if r.Host = host; version != "" {
			r.Header.Set("X-Version", version)
		}
		answer, err := client.Do(r)
		if err != nil {
			return 0, "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return answer.StatusCode, string(text), err
	}
	router := podIP(t, p, pods(t, p, "openshift-ingress", routerPods)[0])
	for _, c := range []struct {
		at, host, version string
		status            int
		text              string
	}{
		{address, "shop.example.com", "", 200, "v1"},
		{address, "shop.example.com", "2", 200, "v2"},
		{address + ":8080", "a.b.other.example.com", "", 200, "v1"},
		{address, "a.other.example.com", "", 200, "v1"}, // the listener for any host takes it, too
		{address, "unknown.example.com", "", 404, ""},
		{address + ":8080", "shop.example.com", "", 404, ""},
		{router, "shop.example.com", "", 404, ""}, // no Route has it
	} {
		eventually(fmt.Sprintf("%s of %s, version %q", c.host, c.at, c.version), func() error {
			status, text, err := get(c.at, c.host, c.version)
			if err == nil && (status != c.status || !strings.Contains(text, c.text)) {
				err = fmt.Errorf("status %d, want %d: %s", status, c.status, text)
			}
			return err
		})
	}
	if out, err := p.Cluster.Kubectl(t.Context(), "get", "httproute", "shop", "-n", "demo", "-o", `jsonpath={.status.parents[*].conditions[*].status}`); err != nil || strings.Contains(out, "False") {
		t.Errorf("conditions of the HTTPRoute: %s, %v", out, err)
	}
	knowsGateway(t, p)
}

// knowsGateway holds that kubectl fairlead says of the route what the routers have written.
func knowsGateway(t *testing.T, p *install.Product) {
	config, err := p.Cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := cluster.Read(t.Context(), config, "demo")
	if err != nil {
		t.Fatal(err)
	}
	s, err := explain.NewSnapshot(objects, explain.Options{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	why, err := s.Why("httproute", "demo", "shop")
	if err != nil {
		t.Fatal(err)
	}
	if !why.Served || len(why.Parents) != 1 || len(why.Reach) == 0 || len(why.Notes) > 0 {
		t.Fatalf("%+v", why)
	}
	for _, r := range why.Reach {
		if !r.Served || !strings.Contains(r.Result, "endpoint") {
			t.Errorf("%+v", r)
		}
	}
	for _, c := range why.Parents[0].Conditions {
		path := fmt.Sprintf(`jsonpath={.status.parents[0].conditions[?(@.type=="%s")].status} {.status.parents[0].conditions[?(@.type=="%s")].reason}`, c.Type, c.Type)
		if out, err := p.Cluster.Kubectl(t.Context(), "get", "httproute", "shop", "-n", "demo", "-o", path); err != nil || out != c.Status+" "+c.Reason {
			t.Errorf("condition %s: %q, kubectl fairlead says %s %s: %v", c.Type, out, c.Status, c.Reason, err)
		}
	}
}
