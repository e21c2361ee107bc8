package config

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
)

// Range is an inclusive range of addresses of one family.
type Range struct {
	From, To netip.Addr
}

// ParseRange reads one entry of spec.addresses: a network ("10.0.0.0/24"; host
// bits are ignored) or a range ("10.0.0.1-10.0.0.9"). The error names the part
// that is wrong, in words for users.
func ParseRange(s string) (Range, error) {
	if from, to, isRange := strings.Cut(s, "-"); isRange {
		return parseEnds(strings.TrimSpace(from), strings.TrimSpace(to))
	}
	prefix, err := netip.ParsePrefix(strings.TrimSpace(s))
	if err != nil {
		if addr, addrErr := netip.ParseAddr(strings.TrimSpace(s)); addrErr == nil {
			return Range{}, fmt.Errorf("%q is a single address; write it as \"%s/%d\"", s, addr, addr.BitLen())
		}
		return Range{}, fmt.Errorf("%q is neither a network such as 192.168.10.0/24 nor a range such as 192.168.10.1-192.168.10.9", s)
	}
	if prefix.Addr().Is4In6() {
		return Range{}, fmt.Errorf("%q is an IPv4 address in IPv6 form; write it as IPv4", s)
	}
	prefix = prefix.Masked()
	return Range{From: prefix.Addr(), To: lastAddr(prefix)}, nil
}

func parseEnds(from, to string) (Range, error) {
	var r Range
	for _, end := range []struct {
		name, text string
		into       *netip.Addr
	}{{"start", from, &r.From}, {"end", to, &r.To}} {
		addr, err := netip.ParseAddr(end.text)
		if err != nil {
			return Range{}, fmt.Errorf("the %s of the range, %q, is not an address", end.name, end.text)
		}
		if addr.Zone() != "" || addr.Is4In6() {
			return Range{}, fmt.Errorf("the %s of the range, %q, must be a plain IPv4 or IPv6 address", end.name, end.text)
		}
		*end.into = addr
	}
	if r.From.Is4() != r.To.Is4() {
		return Range{}, fmt.Errorf("%q and %q are of different families", from, to)
	}
	if r.To.Less(r.From) {
		return Range{}, fmt.Errorf("start IP %q is after the end IP %q", from, to)
	}
	return r, nil
}

func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// Contains says whether addr is in the range.
func (r Range) Contains(addr netip.Addr) bool {
	return addr.BitLen() == r.From.BitLen() && addr.Zone() == "" && !addr.Less(r.From) && !r.To.Less(addr)
}

// Overlaps says whether the two ranges have an address in common.
func (r Range) Overlaps(o Range) bool {
	return r.From.BitLen() == o.From.BitLen() && !r.To.Less(o.From) && !o.To.Less(r.From)
}

// String returns the range as users write it.
func (r Range) String() string { return r.From.String() + "-" + r.To.String() }

// Size returns the number of addresses, at most math.MaxInt64. With
// avoidBuggy, IPv4 addresses that end in .0 or .255 do not count.
func (r Range) Size(avoidBuggy bool) int64 {
	if r.From.Is4() {
		from, to := v4(r.From), v4(r.To)
		n := to - from + 1
		if avoidBuggy {
			n -= countEnding(from, to, 0) + countEnding(from, to, 255)
		}
		return n
	}
	a, b := r.From.As16(), r.To.As16()
	hi := be64(b[:8]) - be64(a[:8])
	lo := be64(b[8:]) - be64(a[8:])
	if be64(b[8:]) < be64(a[8:]) {
		hi--
	}
	if hi > 0 || lo >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo) + 1
}

// shortest returns the length of the largest prefix among those that make up
// the range.
func (r Range) shortest() int {
	best := r.From.BitLen()
	for addr := r.From; r.Contains(addr); {
		bits := addr.BitLen()
		for bits > 0 {
			larger := netip.PrefixFrom(addr, bits-1)
			if larger.Masked().Addr() != addr || r.To.Less(lastAddr(larger)) {
				break
			}
			bits--
		}
		best = min(best, bits)
		addr = lastAddr(netip.PrefixFrom(addr, bits)).Next()
	}
	return best
}

// Buggy says whether addr is an IPv4 address ending in .0 or .255, which some
// old network devices take for a network or broadcast address.
func Buggy(addr netip.Addr) bool {
	if !addr.Is4() {
		return false
	}
	last := addr.As4()[3]
	return last == 0 || last == 255
}

func v4(a netip.Addr) int64 {
	b := a.As4()
	return int64(b[0])<<24 | int64(b[1])<<16 | int64(b[2])<<8 | int64(b[3])
}

func be64(b []byte) (n uint64) {
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	return n
}

// countEnding counts the numbers from..to whose last byte is last.
func countEnding(from, to, last int64) int64 {
	upTo := func(n int64) int64 { // numbers ≤ n that end in last
		if n < last {
			return 0
		}
		return (n-last)/256 + 1
	}
	return upTo(to) - upTo(from-1)
}
