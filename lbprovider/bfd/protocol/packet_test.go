package protocol

import (
	"encoding/hex"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// up is a packet as FRR's bfdd sends it: Up, poll, multiplier 3.
const up = "20e0031800000009000000070001863a000f424000000000"

func raw(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParse(t *testing.T) {
	t.Parallel()
	p, err := Parse(raw(t, up))
	want := Packet{
		State: Up, Poll: true, DetectMult: 3, My: 9, Your: 7,
		DesiredMinTx: 99898 * time.Microsecond, RequiredMinRx: time.Second,
	}
	if err != nil || p != want {
		t.Errorf("packet %+v, %v; want %+v", p, err, want)
	}
	if got := hex.EncodeToString(p.Append(nil)); got != up {
		t.Errorf("encoded again: %s", got)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		want   error
	}{
		{"empty", func([]byte) []byte { return nil }, ErrShort},
		{"23 bytes", func(b []byte) []byte { return b[:23] }, ErrShort},
		{"length below 24", func(b []byte) []byte { b[3] = 23; return b }, ErrShort},
		{"length beyond the datagram", func(b []byte) []byte { b[3] = 25; return b }, ErrShort},
		{"version 0", func(b []byte) []byte { b[0] = 0; return b }, ErrVersion},
		{"version 2", func(b []byte) []byte { b[0] = 2 << 5; return b }, ErrVersion},
		{"multiplier 0", func(b []byte) []byte { b[2] = 0; return b }, ErrMult},
		{"multipoint", func(b []byte) []byte { b[1] |= flagMultipoint; return b }, ErrMultipoint},
		{"authenticated", func(b []byte) []byte { b[1] |= flagAuth; return b }, ErrAuth},
		{"no discriminator of the sender", func(b []byte) []byte { copy(b[4:8], []byte{0, 0, 0, 0}); return b }, ErrMy},
		{"up without a discriminator of the receiver", func(b []byte) []byte { copy(b[8:12], []byte{0, 0, 0, 0}); return b }, ErrYour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse(c.change(raw(t, up))); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
	longer := append(raw(t, up), 1, 2, 3)
	if _, err := Parse(longer); err != nil {
		t.Errorf("a datagram with more after the packet: %v", err)
	}
}

// FuzzParse holds that no datagram crashes the parser, that what it accepts is
// read as it stands, and that no session follows a packet that it must discard.
func FuzzParse(f *testing.F) {
	f.Add(raw(f, up))
	f.Add(raw(f, up)[:23])
	f.Add(append(raw(f, up), 0))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse(b)
		if err != nil {
			if p != (Packet{}) {
				t.Fatalf("%v, but %+v", err, p)
			}
			return
		}
		if b[0]>>5 != 1 || b[2] == 0 || int(b[3]) > len(b) || p.My == 0 || p.Your == 0 && p.State > Down || b[1]&(flagAuth|flagMultipoint) != 0 {
			t.Fatalf("accepted %x", b)
		}
		again := p.Append(nil)
		// The bit C, that control and data plane are independent, is not kept.
		if want := slices.Concat(b[:1], []byte{b[1] &^ 8, b[2], PacketLen}, b[4:PacketLen]); !slices.Equal(again, want) {
			t.Fatal(cmp.Diff(want, again))
		}
		m := in(t, Up, config())
		out := m.Receive(epoch(), p)
		if stays := p.State == Up || p.State == Init; stays != (m.State() == Up) {
			t.Fatalf("%+v led to %v", p, m.State())
		}
		if out.Send != (out.Changed || p.Poll) || out.Send && (out.Packet.Poll && p.Poll || out.Packet.Your != p.My) {
			t.Fatalf("answer %+v to %+v", out, p)
		}
		m.Tick(epoch().Add(30 * 24 * time.Hour)) // the longest detection time is 12 days
		if m.State() != Down {
			t.Fatalf("a silent peer is %v", m.State())
		}
	})
}
