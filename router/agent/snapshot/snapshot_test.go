package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fairlead/fairlead/router/agent/authorize"
	"github.com/fairlead/fairlead/router/agent/jwt"
)

func example() *Snapshot {
	return &Snapshot{
		Generation: 7,
		Forbidden:  []netip.Prefix{netip.MustParsePrefix("10.96.0.1/32")},
		Policies: []Policy{
			{ID: "demo/members@1", Namespace: "demo", Satisfy: Any, Basic: &Basic{Users: map[string]string{"ann": "$1$x"}, FailurePer: time.Minute}},
			{ID: "demo/x@2", Namespace: "demo", External: &External{
				URL: "http://auth.demo.svc/check", Endpoints: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:80")},
				Timeout: time.Second, Cache: Cache{TTL: time.Minute, Key: []string{"Authorization"}}, SignIn: &SignIn{URL: "https://login/"},
			}},
			{ID: "demo/y@3", JWT: &JWT{
				Issuers: []Issuer{{Name: "https://idp", Secret: []byte{0, 1, 255}, Leeway: time.Second}},
				Claims:  []ClaimHeader{{Claim: "sub", Header: "X-User", As: jwt.Text}},
			}, Authorization: []authorize.Rule{{Action: authorize.Allow, CIDRs: []netip.Prefix{netip.MustParsePrefix("::/0")}}}},
		},
	}
}

// frame wraps any body with its right hash.
func frame(body string) []byte {
	sum := sha256.Sum256([]byte(body))
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), sum[:]...), body...)
}

// TestRoundTrip: what is encoded is decoded, and equal content has equal bytes.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	a, err := Encode(example())
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(a)
	if err != nil {
		t.Fatal(err)
	}
	want := example()
	want.Version = Version
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}, netip.AddrPort{})); diff != "" {
		t.Error(diff)
	}
	if b, _ := Encode(got); !bytes.Equal(a, b) {
		t.Error("the same snapshot has other bytes")
	}
	if h := want.Policies[0].Hash(); h == "" || h != got.Policies[0].Hash() || h == got.Policies[1].Hash() {
		t.Errorf("hash %q", h)
	}
}

// TestDamaged: every flipped bit, every cut, and each document that this version
// would not understand fully are refused.
func TestDamaged(t *testing.T) {
	t.Parallel()
	good, err := Encode(example())
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if _, err := Decode(bad); err == nil {
			t.Fatalf("byte %d flipped: no error", i)
		}
		if _, err := Decode(good[:i]); err == nil {
			t.Fatalf("cut after %d bytes: no error", i)
		}
	}
	if _, err := Decode(append(bytes.Clone(good), 0)); err == nil {
		t.Error("a byte follows: no error")
	}
	for name, body := range map[string]string{
		"a version of later":    `{"version":2,"generation":1,"policies":[]}`,
		"no version":            `{"generation":1,"policies":[]}`,
		"an unknown field":      `{"version":1,"generation":1,"policies":[{"id":"a","namespace":"b","firewall":{}}]}`,
		"a field in capitals":   `{"version":1,"generation":1,"policies":[{"id":"a","namespace":"b","Basic":{}}]}`,
		"a field twice":         `{"version":1,"generation":1,"policies":[{"id":"a","id":"b","namespace":"b"}]}`,
		"an ID twice":           `{"version":1,"generation":1,"policies":[{"id":"a","namespace":"b"},{"id":"a","namespace":"c"}]}`,
		"an empty ID":           `{"version":1,"generation":1,"policies":[{"id":"","namespace":"b"}]}`,
		"a negative generation": `{"version":1,"generation":-1,"policies":[]}`,
		"no JSON":               `policies`,
		"two documents":         `{"version":1,"generation":1,"policies":[]}{}`,
	} {
		if _, err := Decode(frame(body)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Decode(frame(`{"version":1,"generation":1,"policies":[]}`)); err != nil {
		t.Errorf("the smallest one: %v", err)
	}
}

// TestRead: a length costs no memory before its bytes arrive.
func TestRead(t *testing.T) {
	t.Parallel()
	head := append(binary.BigEndian.AppendUint32(nil, MaxSize), make([]byte, 32)...)
	if _, err := Read(bytes.NewReader(append(head, "x"...))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", err)
	}
	head = append(binary.BigEndian.AppendUint32(nil, MaxSize+1), make([]byte, 32)...)
	if _, err := Read(bytes.NewReader(head)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("too long: %v", err)
	}
	if _, err := Read(bytes.NewReader(nil)); !errors.Is(err, io.EOF) {
		t.Errorf("nothing: %v", err)
	}
}

// FuzzDecode: any bytes are refused or understood fully, with and without the right hash.
func FuzzDecode(f *testing.F) {
	good, err := Encode(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[headSize:])
	f.Add([]byte(`{"version":1,"generation":1,"policies":[]}`))
	for _, s := range []string{"\n", "\t", "\r", "\x00", "\f"} {
		f.Add([]byte(`{"version":1,` + s + `"generation":1,"policies":[{"id":"a` + s + `","namespace":"b"}]}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if s, err := Decode(body); err == nil {
			t.Fatalf("bytes without a hash are read: %v", s)
		}
		s, err := Decode(frame(string(body)))
		if err != nil {
			return
		}
		again, err := Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Decode(again)
		if err != nil {
			t.Fatalf("what was read and written is refused: %v", err)
		}
		if len(second.Policies) != len(s.Policies) || second.Generation != s.Generation {
			t.Fatal("what was read and written differs")
		}
	})
}
