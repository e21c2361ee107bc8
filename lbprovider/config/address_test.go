package config

import (
	"math"
	"net/netip"
	"strings"
	"testing"
)

func TestParseRange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, want, wantErr string
	}{
		{in: "198.18.0.0/24", want: "198.18.0.0-198.18.0.255"},
		{in: "198.18.0.5/24", want: "198.18.0.0-198.18.0.255"},
		{in: "198.18.0.5/32", want: "198.18.0.5-198.18.0.5"},
		{in: " 198.18.0.1 - 198.18.0.9 ", want: "198.18.0.1-198.18.0.9"},
		{in: "198.18.0.1-198.18.0.1", want: "198.18.0.1-198.18.0.1"},
		{in: "fd00::/127", want: "fd00::-fd00::1"},
		{in: "fd00::1-fd00::a", want: "fd00::1-fd00::a"},
		{in: "198.18.0.1", wantErr: `is a single address; write it as "198.18.0.1/32"`},
		{in: "fd00::1", wantErr: `write it as "fd00::1/128"`},
		{in: "", wantErr: "is neither a network"},
		{in: "198.18.0.0/33", wantErr: "is neither a network"},
		{in: "example.com", wantErr: "is neither a network"},
		{in: "198.18.0.9-198.18.0.1", wantErr: `start IP "198.18.0.9" is after the end IP "198.18.0.1"`},
		{in: "198.18.0.1-fd00::1", wantErr: "different families"},
		{in: "198.18.0.1-", wantErr: `the end of the range, "", is not an address`},
		{in: "x-198.18.0.1", wantErr: `the start of the range, "x", is not an address`},
		{in: "fe80::1%eth0-fe80::2%eth0", wantErr: "must be a plain"},
		{in: "::ffff:198.18.0.0/120", wantErr: "write it as IPv4"},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got, err := ParseRange(tt.in)
			switch {
			case tt.wantErr == "" && err != nil:
				t.Fatal(err)
			case tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)):
				t.Fatalf("error %v, want %q", err, tt.wantErr)
			case tt.wantErr == "" && got.String() != tt.want:
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestRangeSize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in          string
		all, robust int64
	}{
		{"198.18.0.0/24", 256, 254},
		{"198.18.1.0/25", 128, 127},
		{"198.18.1.4/30", 4, 4},
		{"198.18.0.250-198.18.1.5", 12, 10},
		{"198.18.0.255/32", 1, 0},
		{"0.0.0.0/0", 1 << 32, 1<<32 - 1<<25},
		{"fd00::/126", 4, 4},
		{"fd00::/65", math.MaxInt64, math.MaxInt64},
		{"fd00::/66", 1 << 62, 1 << 62},
		{"fd00::/8", math.MaxInt64, math.MaxInt64},
		{"fd00::ffff:ffff:ffff:ffff-fd00:0:0:1::", 2, 2},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			r, err := ParseRange(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Size(false); got != tt.all {
				t.Errorf("size %d, want %d", got, tt.all)
			}
			if got := r.Size(true); got != tt.robust {
				t.Errorf("size without .0 and .255: %d, want %d", got, tt.robust)
			}
		})
	}
}

func FuzzParseRange(f *testing.F) {
	for _, seed := range []string{"198.18.0.0/24", "198.18.0.1-198.18.0.9", "fd00::/64", "fd00::1 - fd00::2", "-", "/", "1-2-3", "::/0"} {
		f.Add(seed)
	}
	for _, c := range controls {
		f.Add("198.18.0.0/24" + c)
		f.Add("198.18.0.1" + c + "-198.18.0.9")
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRange(s)
		if err != nil {
			return
		}
		if !r.From.IsValid() || !r.To.IsValid() || r.To.Less(r.From) || r.From.Is4() != r.To.Is4() {
			t.Fatalf("%q became the range %s", s, r)
		}
		if !r.Contains(r.From) || !r.Contains(r.To) || !r.Overlaps(r) || r.Size(false) < 1 || r.Size(true) > r.Size(false) {
			t.Fatalf("%q became %s, which contradicts itself", s, r)
		}
		if before := r.From.Prev(); before.IsValid() && r.Contains(before) {
			t.Fatalf("%s contains %s", r, before)
		}
		if bits := r.shortest(); bits < 0 || bits > r.From.BitLen() {
			t.Fatalf("the shortest prefix of %s has %d bits", r, bits)
		}
		again, err := ParseRange(r.String())
		if err != nil || again != r {
			t.Fatalf("%s does not read back: %v, %v", r, again, err)
		}
		if r.Contains(netip.MustParseAddr("::1%zone")) {
			t.Fatalf("%s contains an address with a zone", r)
		}
	})
}
