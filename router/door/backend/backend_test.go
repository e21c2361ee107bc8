package backend

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
)

func TestWeights(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ weights, counts, want []int }{
		{[]int{50, 50}, []int{1, 1}, []int{256, 256}},
		{[]int{25, 75}, []int{1, 1}, []int{85, 256}},
		{[]int{50, 50}, []int{2, 1}, []int{128, 256}},
		{[]int{20, 60}, []int{2, 1}, []int{42, 256}},
		{[]int{20, 10}, []int{2, 4}, []int{256, 64}},
		{[]int{100, 100}, []int{2, 3}, []int{256, 170}},
		{[]int{90, 10}, []int{1, 1}, []int{256, 28}},
		{[]int{99, 1}, []int{1, 3}, []int{256, 1}},
		{[]int{3, 256}, []int{5, 1}, []int{1, 256}},
		{[]int{100, 0}, []int{2, 1}, []int{1, 0}},
		{[]int{100, 100}, []int{0, 1}, []int{0, 1}},
		{[]int{0, 100, 0}, []int{2, 1, 1}, []int{0, 1, 0}},
		{[]int{0, 0}, []int{1, 1}, []int{0, 0}},
		{nil, nil, []int{}},
	} {
		if got := Weights(tt.weights, tt.counts); !slices.Equal(got, tt.want) {
			t.Errorf("weights %v of %v endpoints: %v, want %v", tt.weights, tt.counts, got, tt.want)
		}
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"198.18.0.1": true, "10.0.0.1": true, "fd00::1": true, "2001:db8::1": true, "::ffff:198.18.0.1": true,
		"127.0.0.1": false, "127.255.255.255": false, "0.0.0.0": false, "169.254.169.254": false, "224.0.0.1": false, "168.63.129.16": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "ff02::1": false, "fd00:ec2::254": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::ffff:168.63.129.16": false, "::127.0.0.1": false, "::169.254.169.254": false,
	} {
		if got := usable(netip.MustParseAddr(text)); got != want {
			t.Errorf("usable(%s) = %v", text, got)
		}
	}
}

func TestSanitize(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for in, want := range map[string]string{"web-1": "web-1", "a b;c\n/d": "a_b_c__d", "é": "_", "": ""} {
		if got := sanitize(in); got != want {
			t.Errorf("sanitize(%q) = %q, want %q", in, got, want)
		}
	}
	if a, b := sanitize(long+"a"), sanitize(long+"b"); a == b || len(a) > maxName {
		t.Errorf("long names: %q and %q", a, b)
	}
}

// TestLocalSlice: loopback addresses are servers only where the caller asks for that, and
// metadata services never are.
func TestLocalSlice(t *testing.T) {
	t.Parallel()
	port := int32(80)
	slice := &discoveryv1.EndpointSlice{
		Ports:     []discoveryv1.EndpointPort{{Port: &port}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.1", "::1", "169.254.169.254", "0.0.0.0", "10.0.0.1"}}},
	}
	for _, test := range []struct {
		read func(*discoveryv1.EndpointSlice) *Slice
		want int
	}{{NewSlice, 1}, {NewLocalSlice, 3}} {
		if got := len(test.read(slice).ready); got != test.want {
			t.Errorf("%d endpoints, want %d", got, test.want)
		}
	}
}
