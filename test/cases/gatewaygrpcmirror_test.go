package cases

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/test/wait"
)

// copiedCall is a call of gRPC as a server has read it to its end.
type copiedCall struct {
	pod, method, messages string
	headers               metadata.MD
}

// callRecorder is several pods that note the calls that they get.
type callRecorder struct {
	mu    sync.Mutex
	calls []copiedCall
}

// pod begins to serve, and returns the port.
func (c *callRecorder) pod(t *testing.T, name, address string, port int) int {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprint(address, ":", port))
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		call := copiedCall{pod: name}
		call.method, _ = grpc.MethodFromServerStream(stream)
		call.headers, _ = metadata.FromIncomingContext(stream.Context())
		var all []string
		for {
			var m wrapperspb.StringValue
			if err := stream.RecvMsg(&m); err != nil {
				break
			}
			all = append(all, m.GetValue())
		}
		call.messages = strings.Join(all, "|")
		c.mu.Lock()
		c.calls = append(c.calls, call)
		c.mu.Unlock()
		return stream.SendMsg(wrapperspb.String("dropped")) //nolint:wrapcheck // a status
	}))
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().(*net.TCPAddr).Port
}

// of returns the calls of a method.
func (c *callRecorder) of(method string) (all []copiedCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.calls {
		if c.calls[i].method == method {
			all = append(all, c.calls[i])
		}
	}
	return all
}

const mirroredCalls = `
kind: GRPCRoute
metadata: {namespace: gw, name: calls, uid: calls}
spec:
  parentRefs: [{name: gw}]
  hostnames: [grpc.test]
  rules:
  - matches: [{method: {service: a.Filter}}]
    filters:
    - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Of, value: rule}]}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: copy, port: 80}}}
    backendRefs: [{name: rpc1, port: 80}]
  - matches: [{method: {service: a.None}}]
    filters:
    - {type: RequestMirror, requestMirror: {backendRef: {name: copy, port: 80}, percent: 0}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: gone, port: 80}}}
    backendRefs: [{name: rpc1, port: 80}]
  - name: policed
    matches: [{method: {service: a.Policy}}]
    backendRefs: [{name: rpc1, port: 80}]
---
kind: RoutePolicy
metadata: {namespace: gw, name: policed}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: GRPCRoute, name: calls, sectionName: policed}]
  mirror: {targets: [{service: {name: copy}, bodyBytes: 12000, headers: {set: [{name: X-Of, value: policy}]}}]}
---
kind: HTTPRoute
metadata: {namespace: gw, name: beside}
spec:
  parentRefs: [{name: gw}]
  hostnames: [grpc.test]
  rules:
  - matches: [{path: {value: /a.HTTP}}]
    filters: [{type: RequestMirror, requestMirror: {backendRef: {name: copy, port: 80}}}]
    backendRefs: [{name: rpc2, port: 80}]
`

// TestGatewayGRPCMirror: calls are copied, by filters and by policies, with their message and their
// metadata to servers of gRPC, in turn to the pods of a Service. Clients get the answers of the route's
// own pods. What the client goes on sending, and what is too long, is counted and not copied.
func TestGatewayGRPCMirror(t *testing.T) {
	t.Parallel()
	copies := &callRecorder{}
	port := copies.pod(t, "copy1", "198.18.250.207", 0)
	copies.pod(t, "copy2", "198.18.250.208", port)
	b := newGatewayBed(t)
	b.startAgent()
	own := parseStep(t, map[string]string{"services": fmt.Sprintf("gw/copy %d/h2c copy1@198.18.250.207 copy2@198.18.250.208\n", port)})
	for _, o := range own.put {
		if s, ok := o.(*corev1.Service); ok {
			s.Spec.Ports[0].Port = 80
		}
	}
	b.cluster.apply(own)
	b.serveGRPC("gw", rpcPods(), plainGateway+mirroredCalls)
	c := b.grpcCaller("grpc.test")
	message := strings.Repeat("m", 10_000)
	for _, service := range []string{"a.Filter", "a.Policy", "a.HTTP"} {
		method, want := "/"+service+"/Echo", map[string]string{"a.Filter": "rule", "a.Policy": "policy", "a.HTTP": "client"}[service]
		pods := map[string]bool{}
		b.eventually("copies of "+method, func() error {
			answer, trailers := c.call(method, message, "x-of", "client", "authorization", "secret")
			if own := strings.Join(trailers.Get("x-trailer"), ""); answer != own || !strings.HasPrefix(own, "rpc") {
				return fmt.Errorf("the client gets %q of %q", answer, own)
			}
			for _, call := range copies.of(method) {
				h := call.headers
				if pods[call.pod] = true; call.messages != message || strings.Join(h.Get("x-of"), "") != want || len(h.Get("authorization")) > 0 || strings.Join(h.Get("x-fairlead-mirror"), "") != "1" || strings.Join(h.Get(":authority"), "") != "grpc.test" {
					t.Fatalf("a copy with %d bytes and %v", len(call.messages), h)
				}
			}
			return wait.True(pods["copy1"] && pods["copy2"])
		})
	}
	stream := c.stream(t.Context(), "/a.Filter/Stream")
	for i := range 3 {
		if err := exchange(stream, fmt.Sprint("part ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for method, length := range map[string]int{"/a.Filter/Long": 17_000, "/a.Policy/Long": 13_000} {
		if answer, _ := c.call(method, strings.Repeat("m", length)); answer != "rpc1" {
			t.Errorf("a long message gets %q", answer)
		}
	}
	c.expect("rpc1", "/a.None/Echo", "")
	b.eventually("three calls are counted", func() error {
		c.call("/a.Filter/Echo", "")
		if n := b.mirrored("body"); n < 3 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	for _, method := range []string{"/a.Filter/Stream", "/a.Filter/Long", "/a.Policy/Long", "/a.None/Echo"} {
		if all := copies.of(method); len(all) > 0 {
			t.Errorf("%d copies of %s", len(all), method)
		}
	}
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}
