package gateway_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
)

// TestServiceName: each name that a Gateway may have gives a valid name of a Service,
// and different ones give different names.
func TestServiceName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 253)
	names := []string{"web", "a.b", "a-b", "1st", long, long[:252] + "b", long[:55], long[:56], strings.Repeat("a.", 100) + "b", strings.Repeat("a", 51) + "." + strings.Repeat("b", 80)}
	seen := map[string]string{}
	for _, n := range names {
		got := gateway.ServiceName(n)
		if problems := validation.IsDNS1035Label(got); len(problems) > 0 {
			t.Errorf("%s → %s: %v", n, got, problems)
		}
		if problems := validation.IsValidLabelValue(gateway.LabelValue(n)); len(problems) > 0 {
			t.Errorf("%s → label %s: %v", n, gateway.LabelValue(n), problems)
		}
		if other, twice := seen[got]; twice {
			t.Errorf("%s and %s have the same Service %s", n, other, got)
		}
		seen[got] = n
	}
	if got := gateway.ServiceName("web"); got != "gateway-web" {
		t.Errorf("got %s", got)
	}
	if got := gateway.LabelValue("a.b"); got != "a.b" {
		t.Errorf("got %s", got)
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	end := int32(0)
	for _, b := range gateway.Blocks() {
		if b.First < end || b.Count < 1 || b.Most < b.Count {
			t.Errorf("block %s overlaps the one before", b.Name)
		}
		end = b.First + b.Most
		for _, port := range []int32{b.First, end - 1} {
			if got, ok := gateway.BlockOf(port); !ok || got != b {
				t.Errorf("port %d: block %v, %t", port, got, ok)
			}
		}
		if got := b.Index(end - 1); got != b.Most-1 {
			t.Errorf("last index of %s: %d", b.Name, got)
		}
	}
}

// TestSize: a block grows by half where slots beyond it are in use, and never beyond its most.
func TestSize(t *testing.T) {
	t.Parallel()
	for index, want := range map[int32]int32{0: 128, 127: 128, 128: 192, 191: 192, 192: 288, 899: 900} {
		table := gateway.Table{gateway.HTTPS.First: {Namespace: "a"}, gateway.HTTPS.First + index: {Namespace: "b"}, gateway.TCP.First + 500: {Namespace: "c"}}
		if got := table.Size(gateway.HTTPS); got != want || table.PerNamespace(gateway.HTTPS) != int(want)/4 {
			t.Errorf("with slot %d: %d, of a namespace %d; want %d", index, got, table.PerNamespace(gateway.HTTPS), want)
		}
	}
}

func TestNoBlock(t *testing.T) {
	t.Parallel()
	for _, port := range []int32{0, 80, 8080, gateway.HTTP.First - 1, gateway.UDP.First + gateway.UDP.Most} {
		if b, ok := gateway.BlockOf(port); ok {
			t.Errorf("port %d: block %v", port, b)
		}
	}
}

func TestIngressController(t *testing.T) {
	t.Parallel()
	ns := func(s gatewayv1.Namespace) *gatewayv1.Namespace { return &s }
	good := gatewayv1.ParametersReference{Group: "operator.openshift.io", Kind: "IngressController", Name: "edge", Namespace: ns("openshift-ingress-operator")}
	change := func(f func(*gatewayv1.ParametersReference)) *gatewayv1.ParametersReference {
		r := good
		f(&r)
		return &r
	}
	for _, test := range []struct {
		name string
		ref  *gatewayv1.ParametersReference
		want string
		err  string
	}{
		{"none", nil, "default", ""},
		{"named", &good, "edge", ""},
		{"other group", change(func(r *gatewayv1.ParametersReference) { r.Group = "example.com" }), "", "example.com"},
		{"other kind", change(func(r *gatewayv1.ParametersReference) { r.Kind = "ConfigMap" }), "", "ConfigMap"},
		{"other namespace", change(func(r *gatewayv1.ParametersReference) { r.Namespace = ns("shop") }), "", "openshift-ingress-operator"},
		{"no namespace", change(func(r *gatewayv1.ParametersReference) { r.Namespace = nil }), "", "openshift-ingress-operator"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := gateway.IngressController(&gatewayv1.GatewayClass{Spec: gatewayv1.GatewayClassSpec{ParametersRef: test.ref}})
			if got != test.want || (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// TestTable: what is written is read again, and entries that no operator wrote are named
// and count as free.
func TestTable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	table := gateway.Table{
		20000: {Namespace: "shop", Name: "web", UID: "1", Port: 80},
		20001: {Namespace: "shop", Name: "web", UID: "1", Port: 8080, Freed: now},
		21000: {Namespace: "shop", Name: "web", UID: "1", Port: 8080},
		24003: {Namespace: "shop", Name: "web", UID: "1", Port: 80},
		21001: {Namespace: "shop", Name: "web", UID: "old", Port: 443},
		21002: {Namespace: "blog", Name: "web", UID: "2", Port: 443},
	}
	data := table.Data()
	read, problems := gateway.ReadTable(data)
	if diff := cmp.Diff(table, read); diff != "" || len(problems) > 0 {
		t.Errorf("problems %v, difference (-want +got):\n%s", problems, diff)
	}
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}
	if diff := cmp.Diff(map[gateway.Port]int32{{Number: 80}: 20000, {Number: 8080}: 21000, {Number: 80, UDP: true}: 24003}, read.Slots(g)); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
	g.Namespace = "blog"
	if got := read.Slots(g); len(got) > 0 {
		t.Errorf("a Gateway of another namespace has %v", got)
	}
	bad := map[string]string{
		"80": `{"namespace":"shop","name":"web","uid":"1","port":80}`, "x": "", "020002": `{"namespace":"shop","name":"web","uid":"1","port":80}`,
		"20003": `{"namespace":"shop","name":"web","port":80}`, "20004": `{"namespace":"shop","name":"web","uid":"1","port":70000}`, "20005": "\n\t\r\x00\f",
	}
	read, problems = gateway.ReadTable(bad)
	if len(read) > 0 || len(problems) != len(bad) {
		t.Errorf("table %v, problems %v", read, problems)
	}
	if got := (gateway.Table{20000: {}}).Slots(&gatewayv1.Gateway{}); len(got) > 0 {
		t.Errorf("a Gateway without UID has %v", got)
	}
}

func TestSupportedFeatures(t *testing.T) {
	t.Parallel()
	const standard, experimental = "standard", "experimental"
	names := func(bundle, channel string) (names []string) {
		for _, f := range gateway.SupportedFeatures(bundle, channel) {
			names = append(names, string(f.Name))
		}
		return names
	}
	for _, crds := range [][2]string{{"", ""}, {"v1.5.0", standard}, {"v1.6.3", standard}, {"v1.6.3", experimental}, {"v1.7.0", standard}, {"v1.7.0-rc.1", experimental}} {
		list := names(crds[0], crds[1])
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) || len(list) > 64 {
			t.Errorf("CRDs %v: not sorted, twice, or more than a status may have: %v", crds, list)
		}
		retries := slices.Contains(list, "HTTPRouteRetry") || slices.Contains(list, "HTTPRouteRetryCodes")
		if want := crds[1] == experimental || strings.HasPrefix(crds[0], "v1.7"); retries != want {
			t.Errorf("CRDs %v: retries are claimed: %v, their field is there: %v", crds, retries, want)
		}
	}
	newer, older := names("v1.7.0", standard), names("v1.6.3", standard)
	for _, name := range []string{"GRPCRouteRequestHeaderModifier", "HTTPRouteBackendURLRewrite"} {
		if slices.Contains(older, name) || !slices.Contains(newer, name) {
			t.Errorf("%s of version 1.7 in %v, or not in %v", name, older, newer)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	host := func(h gatewayv1.Hostname) *gatewayv1.Hostname { return &h }
	validation := &gatewayv1.FrontendTLSValidation{}
	odd := &gatewayv1.ListenerTLSConfig{Mode: new(gatewayv1.TLSModeType("Odd"))}
	passthrough := &gatewayv1.ListenerTLSConfig{Mode: new(gatewayv1.TLSModePassthrough)}
	for _, test := range []struct {
		name      string
		listeners []gatewayv1.Listener
		tls       *gatewayv1.GatewayTLSConfig
		want      string // reason/conflict/block for each
	}{
		{"HTTP and HTTPS", []gatewayv1.Listener{{Port: 80, Protocol: "HTTP"}, {Port: 443, Protocol: "HTTPS"}}, nil, "Accepted/NoConflicts/H Accepted/NoConflicts/S"},
		{"two hosts", []gatewayv1.Listener{{Port: 80, Protocol: "HTTP", Hostname: host("a.example.com")}, {Port: 80, Protocol: "HTTP"}}, nil, "Accepted/NoConflicts/H Accepted/NoConflicts/H"},
		{
			"one host twice",
			[]gatewayv1.Listener{{Port: 80, Protocol: "HTTP", Hostname: host("a.example.com")}, {Port: 80, Protocol: "HTTP", Hostname: host("a.example.com")}, {Port: 80, Protocol: "HTTP"}},
			nil,
			"HostnameConflict/HostnameConflict/ HostnameConflict/HostnameConflict/ Accepted/NoConflicts/H",
		},
		{
			"two protocols on a port",
			[]gatewayv1.Listener{{Port: 80, Protocol: "HTTP"}, {Port: 80, Protocol: "HTTPS", Hostname: host("a.example.com")}, {Port: 81, Protocol: "HTTP"}},
			nil,
			"ProtocolConflict/ProtocolConflict/ ProtocolConflict/ProtocolConflict/ Accepted/NoConflicts/H",
		},
		{
			"TLS with HTTPS",
			[]gatewayv1.Listener{{Port: 443, Protocol: "HTTPS", Hostname: host("a.example.com")}, {Port: 443, Protocol: "TLS", Hostname: host("b.example.com"), TLS: passthrough}},
			nil,
			"Accepted/NoConflicts/S Accepted/NoConflicts/M",
		},
		{
			"passthrough by hostname",
			[]gatewayv1.Listener{
				{Port: 443, Protocol: "TLS", TLS: passthrough},
				{Port: 443, Protocol: "TLS", Hostname: host("a.example.com"), TLS: passthrough},
				{Port: 443, Protocol: "TLS", Hostname: host("A.example.com"), TLS: passthrough},
			},
			nil,
			"Accepted/NoConflicts/M HostnameConflict/HostnameConflict/ HostnameConflict/HostnameConflict/",
		},
		{
			"both modes of TLS on a port",
			[]gatewayv1.Listener{{Port: 443, Protocol: "TLS", TLS: passthrough}, {Port: 443, Protocol: "TLS", Hostname: host("a.example.com")}, {Port: 443, Protocol: "TLS", Hostname: host("b.example.com"), TLS: odd}},
			nil,
			"Accepted/NoConflicts/M Accepted/NoConflicts/M UnsupportedValue/NoConflicts/",
		},
		{
			"HTTPS and TLS on a port",
			[]gatewayv1.Listener{
				{Port: 443, Protocol: "HTTPS", Hostname: host("a.example.com")},
				{Port: 443, Protocol: "TLS", TLS: passthrough},
				{Port: 443, Protocol: "TLS", Hostname: host("A.example.com")},
				{Port: 443, Protocol: "HTTPS", Hostname: host("*.example.com")},
				{Port: 443, Protocol: "TLS", Hostname: host("b.example.com")},
				{Port: 444, Protocol: "HTTPS"},
				{Port: 444, Protocol: "TCP"},
			},
			nil,
			"HostnameConflict/HostnameConflict/ Accepted/NoConflicts/M HostnameConflict/HostnameConflict/ Accepted/NoConflicts/S Accepted/NoConflicts/M ProtocolConflict/ProtocolConflict/ ProtocolConflict/ProtocolConflict/",
		},
		{
			"HTTPS that lets all in beside TLS",
			[]gatewayv1.Listener{{Port: 443, Protocol: "HTTPS", Hostname: host("a.example.com")}, {Port: 443, Protocol: "TLS", TLS: passthrough}},
			&gatewayv1.GatewayTLSConfig{Frontend: &gatewayv1.FrontendTLSConfig{Default: gatewayv1.TLSConfig{Validation: &gatewayv1.FrontendTLSValidation{Mode: gatewayv1.AllowInsecureFallback}}}},
			"ProtocolConflict/ProtocolConflict/ ProtocolConflict/ProtocolConflict/",
		},
		{
			"passthrough asks clients for nothing",
			[]gatewayv1.Listener{{Port: 443, Protocol: "TLS", TLS: passthrough}, {Port: 444, Protocol: "TLS"}},
			&gatewayv1.GatewayTLSConfig{Frontend: &gatewayv1.FrontendTLSConfig{Default: gatewayv1.TLSConfig{Validation: validation}}},
			"Accepted/NoConflicts/M Accepted/NoConflicts/M",
		},
		{
			"whatever clients show is for requests",
			[]gatewayv1.Listener{{Port: 443, Protocol: "TLS", TLS: passthrough}, {Port: 444, Protocol: "TLS"}, {Port: 445, Protocol: "HTTPS"}, {Port: 80, Protocol: "HTTP"}},
			&gatewayv1.GatewayTLSConfig{Frontend: &gatewayv1.FrontendTLSConfig{Default: gatewayv1.TLSConfig{Validation: &gatewayv1.FrontendTLSValidation{Mode: gatewayv1.AllowInsecureFallback}}}},
			"Accepted/NoConflicts/M UnsupportedValue/NoConflicts/ Accepted/NoConflicts/F Accepted/NoConflicts/H",
		},
		{"TCP, UDP on one number", []gatewayv1.Listener{{Port: 53, Protocol: "TCP"}, {Port: 53, Protocol: "UDP"}}, nil, "Accepted/NoConflicts/T Accepted/NoConflicts/U"},
		{
			"TCP twice, whatever the hostnames",
			[]gatewayv1.Listener{{Port: 53, Protocol: "TCP", Hostname: host("a.example.com")}, {Port: 53, Protocol: "TCP"}, {Port: 54, Protocol: "TCP"}},
			nil,
			"HostnameConflict/HostnameConflict/ HostnameConflict/HostnameConflict/ Accepted/NoConflicts/T",
		},
		{
			"UDP twice, and a number of TCP beside",
			[]gatewayv1.Listener{{Port: 53, Protocol: "UDP"}, {Port: 53, Protocol: "UDP", Hostname: host("a.example.com")}, {Port: 53, Protocol: "HTTP"}, {Port: 54, Protocol: "UDP"}},
			nil,
			"HostnameConflict/HostnameConflict/ HostnameConflict/HostnameConflict/ Accepted/NoConflicts/H Accepted/NoConflicts/U",
		},
		{"no protocol of the API", []gatewayv1.Listener{{Port: 80, Protocol: "INVALID"}, {Port: 80, Protocol: "HTTP"}}, nil, "UnsupportedProtocol/NoConflicts/ Accepted/NoConflicts/H"},
		{
			"long wildcards",
			[]gatewayv1.Listener{{Port: 80, Protocol: "HTTP", Hostname: host("*.a.b.c.d.e.f.g")}, {Port: 80, Protocol: "HTTP", Hostname: host("*.a.b.c.d.e.f.g.h")}},
			nil,
			"Accepted/NoConflicts/H UnsupportedValue/NoConflicts/",
		},
		{
			"options of TLS",
			[]gatewayv1.Listener{{Port: 443, Protocol: "HTTPS", TLS: &gatewayv1.ListenerTLSConfig{Options: map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{"example.com/x": "y"}}}},
			nil,
			"UnsupportedValue/NoConflicts/",
		},
		{"passthrough over HTTPS", []gatewayv1.Listener{{Port: 443, Protocol: "HTTPS", TLS: &gatewayv1.ListenerTLSConfig{Mode: new(gatewayv1.TLSModePassthrough)}}}, nil, "UnsupportedValue/NoConflicts/"},
		{
			"certificates of clients",
			[]gatewayv1.Listener{{Port: 80, Protocol: "HTTP"}, {Port: 443, Protocol: "HTTPS"}, {Port: 8443, Protocol: "HTTPS"}, {Port: 8444, Protocol: "HTTPS"}},
			&gatewayv1.GatewayTLSConfig{Frontend: &gatewayv1.FrontendTLSConfig{Default: gatewayv1.TLSConfig{Validation: validation}, PerPort: []gatewayv1.TLSPortConfig{
				{Port: 8443}, {Port: 8444, TLS: gatewayv1.TLSConfig{Validation: &gatewayv1.FrontendTLSValidation{Mode: "Odd"}}},
			}}},
			"Accepted/NoConflicts/H Accepted/NoConflicts/S Accepted/NoConflicts/S UnsupportedValue/NoConflicts/",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{UID: types.UID("1")}, Spec: gatewayv1.GatewaySpec{Listeners: test.listeners, TLS: test.tls}}
			var got []string
			for _, v := range gateway.Judge(g) {
				got = append(got, string(v.Reason)+"/"+string(v.Conflict)+"/"+v.Block.Name)
				if v.Accepted() != (v.Message == "") {
					t.Errorf("message %q of %v", v.Message, v.Reason)
				}
			}
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
		})
	}
}

// TestFull: a block is full for a tenant that has its share, and for all where all are in use. Slots that
// rest are free soon; those that a port has moved from are in use.
func TestFull(t *testing.T) {
	t.Parallel()
	table, share := gateway.Table{}, gateway.Table{}.PerNamespace(gateway.HTTPS)
	give := func(from, n int, s gateway.Slot) {
		for i := range n {
			table[gateway.HTTPS.First+int32(from+i)] = s
		}
	}
	give(0, share-1, gateway.Slot{Namespace: "a"})
	if table.Full(gateway.HTTPS, "a") || table.Full(gateway.HTTPS, "b") {
		t.Error("full before")
	}
	now := time.Unix(1, 0)
	table[gateway.HTTPS.First+40] = gateway.Slot{Namespace: "a", Freed: now}
	if table.Full(gateway.HTTPS, "a") {
		t.Error("a slot that rests counts")
	}
	table[gateway.HTTPS.First+40] = gateway.Slot{Namespace: "c", For: "a", Freed: now, Moved: true}
	if !table.Full(gateway.HTTPS, "a") || table.Full(gateway.HTTPS, "c") || table.Full(gateway.HTTP, "a") {
		t.Error("the share is not that of the tenant in the block")
	}
	for i, tenant := range []string{"d", "e", "f", "g"} {
		give(i*share, share, gateway.Slot{Namespace: tenant})
	}
	if table.Full(gateway.HTTPS, "b") {
		t.Error("the block does not grow")
	}
	give(0, int(gateway.HTTPS.Most), gateway.Slot{Namespace: "d"})
	if !table.Full(gateway.HTTPS, "b") {
		t.Error("all are in use, and one is left")
	}
}
