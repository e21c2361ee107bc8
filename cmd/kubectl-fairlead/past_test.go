package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/manifest"
	"github.com/fairlead/fairlead/router/observe"
	"github.com/fairlead/fairlead/router/observe/tail/cluster"
)

var pastNow = time.Date(2026, 12, 1, 12, 6, 31, 0, time.UTC)

// pastAnswers are what three routers have: two requests, nothing, and no answer.
func pastAnswers() []cluster.Answer {
	first := observe.Record{
		Time: time.Date(2026, 12, 1, 12, 4, 31, 118_000_000, time.UTC), ID: "a-1", Kind: "Route", Namespace: "web", Route: "cart", Protocol: "HTTP/1", Method: "GET",
		Host: "www.example.com", Path: "/cart\x1b[2J", PathBytes: 2000, Status: 503, Ended: "SC", Words: "no pod was ready", Client: "198.51.100.7",
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
		Timers:      observe.Timers{Handshake: -1, Idle: 0, Request: 0, Queue: 0, Connect: -1, Response: -1, Data: -1, Total: 0.001},
	}
	second := observe.Record{
		Time: first.Time.Add(time.Minute), ID: "a-1", Kind: "Route", Namespace: "web", Route: "cart", Protocol: "HTTP/2", Method: "POST", Host: "www.example.com", Path: "/cart",
		PathBytes: 5, Status: 504, Ended: "sH", Words: "the pod did not answer within the timeout", Pod: "cart-b", Service: "cart", Client: "2001:db8::7", TLS: "TLSv1.3", ServerName: "www.example.com",
		Timers: observe.Timers{Handshake: 0.002, Request: 0, Queue: 0.012, Connect: 0.001, Response: -1, Data: -1, Total: 30.015},
	}
	since := pastNow.Add(-10 * time.Minute)
	return []cluster.Answer{
		{Router: "router-default-a", Kept: observe.Kept{On: true, Requests: 7, Since: since, Found: []observe.Record{first}}},
		{Router: "router-default-b", Kept: observe.Kept{On: true, Requests: 9, Since: since, LeftOut: 4, Found: []observe.Record{second}}},
		{Router: "router-default-c", Err: cluster.ErrOlder},
	}
}

const pastManifests = `
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: cart, namespace: web, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {host: www.example.com, path: /cart, to: {kind: Service, name: cart}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: web}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
`

// TestPast holds the answer for people: each request as it was, with what is decided now beside it, and what a client wrote does
// not reach the terminal.
func TestPast(t *testing.T) {
	t.Parallel()
	p, err := newPast("a-1", "default", pastAnswers(), pastNow)
	if err != nil {
		t.Fatal(err)
	}
	manifests := manifest.NewReader("web")
	manifests.Read("cart.yaml", []byte(pastManifests))
	snapshot, err := explain.NewSnapshot(manifests.Objects(), explain.Options{Now: pastNow})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Requests {
		if err := p.Requests[i].decide(snapshot, types.NamespacedName{}); err != nil {
			p.Notes = append(p.Notes, err.Error())
		}
	}
	var out bytes.Buffer
	c := &command{out: &out}
	for _, form := range []string{"text", "json"} {
		if err := c.finish(p, true, &options{output: form}); err != nil {
			t.Fatal(err)
		}
	}
	const file = "testdata/past.txt"
	if *update {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), out.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("a client's characters reach the terminal")
	}
}

// TestPastNone: an ID that no router has says how long requests are kept, or how to have them kept; routers of which none answers are
// an error.
func TestPastNone(t *testing.T) {
	t.Parallel()
	keeping, off := pastAnswers()[:2], []cluster.Answer{{Router: "router-default-a"}}
	for i := range keeping {
		keeping[i].Kept.Found = nil
	}
	for want, answers := range map[string][]cluster.Answer{
		"No request with the ID x is kept at 2 replicas of router default.\nrouter-default-a has 7, all that failed since 11:56:31.\nrouter-default-b has 9, all that failed since 11:56:31; 4 were too many at a time.\n" +
			"Kept are requests whose answer was an error, for 15 minutes; a pod that ends takes its own with it. The ID is the header X-Request-ID of the answer, or that of the trace.\n": keeping,
		"No request with the ID x is kept at 1 replica of router default.\n" +
			"They keep none: kubectl annotate ingresscontroller default -n openshift-ingress-operator fairlead.dev/keep-requests=failed has them keep those that fail from then on.\n": off,
	} {
		p, err := newPast("x", "default", answers, pastNow)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := p.Text(&out); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, out.String()); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
	if _, err := newPast("x", "default", pastAnswers()[2:], pastNow); !errors.Is(err, errNoneAnswers) || !strings.Contains(err.Error(), "router-default-c: it is older than this program") {
		t.Errorf("%v", err)
	}
}

// TestPastRead: a page of another kind is of an older router.
func TestPastRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"<html>", "{}", `{"schema":"fairlead.dev/log/v1"}`} {
		if _, err := cluster.ReadKept(strings.NewReader(text)); !errors.Is(err, cluster.ErrOlder) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if k, err := cluster.ReadKept(strings.NewReader(`{"schema":"fairlead.dev/trace/v1","on":true,"requests":3}`)); err != nil || !k.On || k.Requests != 3 {
		t.Errorf("%+v, %v", k, err)
	}
}

// TestPastFlags: what cannot go together is said before a cluster is asked.
func TestPastFlags(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--id reads what routers keep":        {"explain", "--id", "a", "-f", "x.yaml"},
		"--id and --method":                   {"explain", "--id", "a", "-X", "POST"},
		"--id is longer":                      {"explain", "--id", strings.Repeat("a", 300)},
		"is one argument too many":            {"explain", "--id", "a", "http://a/"},
		"name a URL, such as https://www.exa": {"explain"},
	} {
		var out, errs bytes.Buffer
		c := &command{out: &out, err: &errs, now: pastNow}
		if code := c.run(t.Context(), args); code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: %d, %s", args, code, errs.String())
		}
	}
}
