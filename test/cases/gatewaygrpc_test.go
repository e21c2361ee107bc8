package cases

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
	corev1 "k8s.io/api/core/v1"
)

// grpcPod serves all methods of gRPC, of any service, as the name of the method asks: Echo
// answers with the pod's name, Stream with each message that it gets, Header with a header of
// the call, Fail with a status.
func grpcPod(t *testing.T, name, address string) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		in, _ := metadata.FromIncomingContext(stream.Context())
		stream.SetTrailer(metadata.Pairs("x-trailer", name))
		var asked wrapperspb.StringValue
		for {
			if err := stream.RecvMsg(&asked); err != nil {
				return nil // the client has said all
			}
			answer := name
			switch method[strings.LastIndexByte(method, '/')+1:] {
			case "Stream":
				answer = asked.GetValue()
			case "Header":
				answer = strings.Join(in.Get(asked.GetValue()), ", ")
			case "Fail":
				return status.Error(codes.FailedPrecondition, "as asked for")
			}
			if err := stream.SendMsg(wrapperspb.String(answer)); err != nil {
				return err //nolint:wrapcheck // a status
			}
		}
	}))
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().(*net.TCPAddr).Port
}

// grpcCaller calls methods through the listener with port 80.
type grpcCaller struct {
	t    testing.TB
	conn *grpc.ClientConn
}

func (b *bed) grpcCaller(host string) *grpcCaller {
	b.t.Helper()
	conn, err := grpc.NewClient(fmt.Sprint("passthrough:///127.0.0.1:", b.slots.First), grpc.WithAuthority(host), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return &grpcCaller{b.t, conn}
}

// call returns the answer to one call, or its status, and the trailers.
func (c *grpcCaller) call(method, message string, headers ...string) (string, metadata.MD) {
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(c.t.Context(), headers...), clientTimeout)
	defer cancel()
	var answer wrapperspb.StringValue
	var trailers metadata.MD
	if err := c.conn.Invoke(ctx, method, wrapperspb.String(message), &answer, grpc.Trailer(&trailers)); err != nil {
		return status.Code(err).String(), trailers
	}
	return answer.GetValue(), trailers
}

// expect calls a method until the answer is the wanted one.
func (c *grpcCaller) expect(want, method, message string, headers ...string) {
	c.t.Helper()
	poll(c.t, method+" answers "+want, func() error {
		if got, _ := c.call(method, message, headers...); got != want {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
}

const grpcRoutes = `
kind: GRPCRoute
metadata: {namespace: gw, name: methods, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: gw}]
  hostnames: [grpc.test]
  rules:
  - matches: [{method: {service: a.Shop}}, {method: {service: a.Shop, method: Fail}}]
    backendRefs: [{name: rpc1, port: 80}]
  - matches: [{method: {service: a.Shop, method: Echo}, headers: [{name: Version, value: two}]}, {method: {service: b.Shop, method: Echo}}]
    backendRefs: [{name: rpc2, port: 80}]
  - matches: [{method: {method: Stream}}, {method: {type: RegularExpression, service: "x[.].*", method: Get|Put}}]
    backendRefs: [{name: rpc2, port: 80}]
  - matches: [{method: {service: a.Header}}]
    filters:
    - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Set, value: "100%"}], add: [{name: X-Add, value: more}], remove: [X-Gone]}}
    backendRefs: [{name: rpc1, port: 80}]
  - matches: [{method: {service: no.Backend}}]
    backendRefs: [{name: missing, port: 80}]
  - matches: [{method: {service: no.Pod}}]
    backendRefs: [{name: none, port: 8080}]
  - matches: [{method: {service: no.Weight}}]
    backendRefs: [{name: rpc1, port: 80, weight: 0}]
---
kind: GRPCRoute
metadata: {namespace: gw, name: all}
spec:
  parentRefs: [{name: gw}]
  hostnames: ["*.grpc.test"]
  rules: [{backendRefs: [{name: rpc1, port: 80}]}]
---
kind: HTTPRoute
metadata: {namespace: gw, name: beside, creationTimestamp: "2026-02-02T00:00:00Z"}
spec:
  parentRefs: [{name: gw}]
  hostnames: [grpc.test]
  rules:
  - matches: [{path: {value: /c.Shop}}, {path: {value: /a.Shop}}]
    backendRefs: [{name: rpc2, port: 80}]
`

// newGRPCBed serves objects. Services with the names of pods, which are by address, have the
// port 80; that of rpc2 says its protocol, which an HTTPRoute needs.
func newGRPCBed(t *testing.T, namespace string, pods map[string]string, objects string) *bed {
	t.Helper()
	b := newGatewayBed(t)
	b.serveGRPC(namespace, pods, objects)
	return b
}

func (b *bed) serveGRPC(namespace string, pods map[string]string, objects string) {
	t := b.t.(*testing.T)
	t.Helper()
	b.start()
	services := namespace + "/none 8080\n"
	for name, address := range pods {
		protocol := ""
		if name == "rpc2" {
			protocol = "/h2c"
		}
		services += fmt.Sprintf("%s/%s %d%s %s@%s\n", namespace, name, grpcPod(t, name, address), protocol, name, address)
	}
	c := parseStep(t, map[string]string{"services": services, "in.yaml": objects})
	for _, o := range c.put {
		if s, ok := o.(*corev1.Service); ok && pods[s.Name] != "" {
			s.Spec.Ports[0].Port = 80
		}
	}
	b.cluster.apply(c)
}

func rpcPods() map[string]string {
	return map[string]string{"rpc1": "198.18.250.205", "rpc2": "198.18.250.206"}
}

// TestGatewayGRPC has a client of gRPC call methods through HAProxy.
func TestGatewayGRPC(t *testing.T) {
	t.Parallel()
	b := newGRPCBed(t, "gw", rpcPods(), plainGateway+grpcRoutes)
	c := b.grpcCaller("grpc.test")
	for _, test := range []struct {
		want, method, message string
		headers               []string
	}{
		{"rpc1", "/a.Shop/Echo", "", nil},
		{"rpc2", "/a.Shop/Echo", "", []string{"version", "two"}},
		{"rpc1", "/a.Shop/Echo", "", []string{"version", "three"}},
		{"rpc1", "/a.Shop/Other", "", []string{"version", "two"}},
		{"rpc2", "/b.Shop/Echo", "", nil},
		{"Unimplemented", "/b.Shop/Other", "", nil},
		{"Unimplemented", "/b.Shop/EchoTwo", "", nil},
		{"rpc2", "/x.y/Get", "", nil},
		{"Unimplemented", "/x.y/GetAll", "", nil},
		{"rpc2", "/c.Shop/Echo", "", nil}, // of an HTTPRoute
		{"FailedPrecondition", "/a.Shop/Fail", "", nil},
		{"100%", "/a.Header/Header", "x-set", []string{"x-set", "client"}},
		{"some, more", "/a.Header/Header", "x-add", []string{"x-add", "some"}},
		{"", "/a.Header/Header", "x-gone", []string{"x-gone", "client"}},
		{"Unavailable", "/no.Backend/Echo", "", nil},
		{"Unavailable", "/no.Pod/Echo", "", nil},
		{"Unavailable", "/no.Weight/Echo", "", nil},
	} {
		c.expect(test.want, test.method, test.message, test.headers...)
	}
	if answer, trailers := c.call("/a.Shop/Fail", ""); answer != "FailedPrecondition" || strings.Join(trailers.Get("x-trailer"), "") != "rpc1" {
		t.Errorf("%s with trailers %v", answer, trailers)
	}
	if answer, trailers := c.call("/a.Shop/Echo", ""); answer != "rpc1" || strings.Join(trailers.Get("x-trailer"), "") != "rpc1" {
		t.Errorf("%s with trailers %v", answer, trailers)
	}
	// The router's own answers are those of gRPC, where it has no pod to ask.
	for method, want := range map[string]string{
		"/b.Shop/Other": "No route is for this host and method.", "/no.Backend/Echo": "The route of this method names no target that can be used.",
	} {
		if err := c.conn.Invoke(t.Context(), method, wrapperspb.String(""), &wrapperspb.StringValue{}); status.Convert(err).Message() != want {
			t.Errorf("%s: %v", method, err)
		}
	}
	b.grpcCaller("x.grpc.test").expect("rpc1", "/any.Service/Echo", "")
	b.grpcCaller("other.test").expect("Unimplemented", "/a.Shop/Echo", "")
	c.testStream()
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
}

// stream begins a call with messages both ways.
func (c *grpcCaller) stream(ctx context.Context, method string) grpc.ClientStream {
	c.t.Helper()
	stream, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		c.t.Fatal(err)
	}
	return stream
}

// exchange sends a message, which comes back.
func exchange(stream grpc.ClientStream, said string) error {
	var got wrapperspb.StringValue
	if err := stream.SendMsg(wrapperspb.String(said)); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if err := stream.RecvMsg(&got); err != nil || got.GetValue() != said {
		return fmt.Errorf("received %q, %w", got.GetValue(), err)
	}
	return nil
}

// testStream has messages go both ways in turn on one call.
func (c *grpcCaller) testStream() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), clientTimeout)
	defer cancel()
	stream := c.stream(ctx, "/any.Service/Stream")
	for i := range 100 {
		if err := exchange(stream, strings.Repeat(fmt.Sprint(i), 500)); err != nil {
			c.t.Fatalf("message %d: %v", i, err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		c.t.Fatal(err)
	}
	if err := stream.RecvMsg(&wrapperspb.StringValue{}); err == nil || strings.Join(stream.Trailer().Get("x-trailer"), "") != "rpc2" {
		c.t.Errorf("the end: %v, trailers %v", err, stream.Trailer())
	}
}

// TestGatewayGRPCWeights has HAProxy share calls of one connection out by weights. What is not
// valid keeps its share.
func TestGatewayGRPCWeights(t *testing.T) {
	t.Parallel()
	b := newGRPCBed(t, "gw", rpcPods(), plainGateway+`
kind: GRPCRoute
metadata: {namespace: gw, name: weights}
spec:
  parentRefs: [{name: gw}]
  hostnames: [weights.test]
  rules: [{backendRefs: [{name: rpc1, port: 80, weight: 70}, {name: rpc2, port: 80, weight: 20}, {name: missing, port: 80, weight: 10}]}]
`)
	c := b.grpcCaller("weights.test")
	c.expect("rpc2", "/a.Shop/Echo", "")
	const calls = 1000
	got := map[string]int{}
	for range calls {
		answer, _ := c.call("/a.Shop/Echo", "")
		got[answer]++
	}
	for answer, want := range map[string]int{"rpc1": 700, "rpc2": 200, "Unavailable": 100} {
		if off := got[answer] - want; off < -80 || off > 80 { // five standard deviations are 73
			t.Errorf("%d calls of %d answered %s, want %d: %v", got[answer], calls, answer, want, got)
		}
	}
}

// TestGatewayGRPCPauses: HAProxy ends a call that is silent for longer than the timeouts of
// clients and pods if it is an HTTPRoute's. One of a GRPCRoute that began before goes on.
func TestGatewayGRPCPauses(t *testing.T) {
	t.Parallel()
	b := newGatewayBed(t)
	ic := &operatorv1.IngressController{}
	ic.Spec.TuningOptions.ClientTimeout, ic.Spec.TuningOptions.ServerTimeout = seconds(2), seconds(2)
	b.controller.Store(ic)
	b.serveGRPC("gw", rpcPods(), plainGateway+grpcRoutes)
	c := b.grpcCaller("grpc.test")
	c.expect("rpc1", "/a.Shop/Echo", "")
	c.expect("rpc2", "/c.Shop/Echo", "")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	long, short := c.stream(ctx, "/a.Shop/Stream"), c.stream(ctx, "/c.Shop/Stream")
	for _, stream := range []grpc.ClientStream{long, short} {
		if err := exchange(stream, "begin"); err != nil {
			t.Fatal(err)
		}
	}
	if err := short.RecvMsg(&wrapperspb.StringValue{}); status.Code(err) == codes.DeadlineExceeded || err == nil {
		t.Fatalf("HAProxy has not ended the call of the HTTPRoute: %v", err)
	}
	if err := exchange(long, "go on"); err != nil {
		t.Errorf("the call of the GRPCRoute: %v", err)
	}
}

// TestGatewayGRPCExample serves the example of docs/gateway/grpcroute.md.
func TestGatewayGRPCExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/gateway/grpcroute.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	const gw = "kind: Gateway\nmetadata: {namespace: demo, name: web, uid: g}\nspec: {gatewayClassName: fairlead, listeners: [{name: http, port: 80, protocol: HTTP}]}\n---\n"
	b := newGRPCBed(t, "demo", map[string]string{"cart": "198.18.250.207", "cart-next": "198.18.250.208", "orders": "198.18.250.209"}, gw+strings.ReplaceAll(example, "port: 8080", "port: 80"))
	c := b.grpcCaller("grpc.example.com")
	c.expect("cart", "/shop.v1.Cart/Echo", "")
	c.expect("cart-next", "/shop.v1.Cart/Echo", "")
	c.expect("orders", "/shop.v1.Orders/Watch", "", "version", "2")
	c.expect("Unimplemented", "/shop.v1.Orders/Watch", "")
}
