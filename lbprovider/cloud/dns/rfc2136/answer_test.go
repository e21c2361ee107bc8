package rfc2136

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	mdns "github.com/miekg/dns"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// said is a server that answers every question, and every update, alike.
type said struct {
	mu               sync.Mutex
	question, update []byte
	// names are those that updates were about.
	names []string
}

func (s *said) listen(f *testing.F) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.answer(conn)
		}
	}()
	return l.Addr().String()
}

func (s *said) answer(conn net.Conn) {
	defer conn.Close()
	size := make([]byte, 2)
	if _, err := io.ReadFull(conn, size); err != nil {
		return
	}
	asked := make([]byte, binary.BigEndian.Uint16(size))
	var m mdns.Msg
	if _, err := io.ReadFull(conn, asked); err != nil || m.Unpack(asked) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.question)
	if m.Opcode == mdns.OpcodeUpdate {
		out = slices.Clone(s.update)
		for _, rr := range slices.Concat(m.Answer, m.Ns) {
			s.names = append(s.names, dns.Name(rr.Header().Name))
		}
	}
	if len(out) > 1 { // what has another number is not read at all
		binary.BigEndian.PutUint16(out, m.Id)
	}
	_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)) // no client that is gone matters
}

func wish(kind hook.RecordType, target string) *hook.Record {
	return &hook.Record{Name: "*.apps.example.com.", Type: kind, Targets: []string{target}, TTL: 30, Owner: "c1", Resource: "dnsrecord/ns/n"}
}

// packed returns a message with these records, as they stand in a zone's file.
func packed(f *testing.F, rcode int, records ...string) []byte {
	m := new(mdns.Msg).SetRcode(new(mdns.Msg).SetQuestion("*.apps.example.com.", mdns.TypeA), rcode)
	m.Authoritative = true
	for _, text := range records {
		rr, err := mdns.NewRR(text)
		if err != nil {
			f.Fatal(err)
		}
		m.Answer = append(m.Answer, rr)
	}
	out, err := m.Pack()
	if err != nil {
		f.Fatal(err)
	}
	return out
}

// FuzzAnswer: whatever a server answers to questions and updates, it ends
// nothing, only names of the Record are written, and what is shown of it is
// short and printable.
func FuzzAnswer(f *testing.F) {
	const (
		soa   = "example.com. 60 IN SOA ns.example.com. root.example.com. 1 2 3 4 5"
		a     = "*.apps.example.com. 30 IN A 198.18.0.1"
		cname = "*.apps.example.com. 30 IN CNAME lb.example.net."
		owner = `cname-wild.apps.example.com. 300 IN TXT "heritage=external-dns,external-dns/owner=c1,external-dns/resource=dnsrecord/ns/n"`
	)
	fine := packed(f, mdns.RcodeSuccess)
	for _, q := range [][]byte{
		packed(f, mdns.RcodeSuccess, soa, a), packed(f, mdns.RcodeSuccess, soa, cname, owner), packed(f, mdns.RcodeNameError, soa), packed(f, mdns.RcodeRefused),
		packed(f, mdns.RcodeServerFailure), packed(f, mdns.RcodeNotAuth), packed(f, mdns.RcodeNXRrset), packed(f, mdns.RcodeSuccess, `. 1 IN SOA \000. \010. 1 2 3 4 5`),
		packed(f, mdns.RcodeSuccess, soa, `*.apps.example.com. 1 IN CNAME a\010\013\000\012\009\027b.`, `cname-wild.apps.example.com. 1 IN TXT "heritage=\010\027[2J\255"`),
		packed(f, mdns.RcodeSuccess, soa, cname, `cname-wild.apps.example.com. 1 IN TXT "heritage=`+strings.Repeat(`\255`, 200)+`" "`+strings.Repeat("x", 255)+`"`),
		packed(f, mdns.RcodeSuccess, soa, `\*.APPS.example.com. 1 IN A 198.18.0.7`, `a-wild.apps.example.com. 1 IN TXT ""`),
		append(packed(f, mdns.RcodeSuccess, soa, a)[:40], 0xc0, 0x28),
		{},
		{0},
		make([]byte, 12), []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
	} {
		f.Add(q, fine, uint8(0))
		f.Add(q, packed(f, mdns.RcodeNXRrset, soa), uint8(1))
		f.Add(q, q, uint8(3))
	}
	server := &said{}
	address := server.listen(f)
	f.Fuzz(func(t *testing.T, question, update []byte, how uint8) {
		if len(question) > 1<<16-1 || len(update) > 1<<16-1 {
			t.Skip("no message of DNS")
		}
		server.mu.Lock()
		server.question, server.update, server.names = question, update, nil
		server.mu.Unlock()
		o := Options{Server: address, Timeout: 10 * time.Second}
		if how&1 != 0 {
			o.Key = func() (*Key, error) {
				return &Key{Name: "fairlead.", Algorithm: mdns.HmacSHA256, Secret: "c2VjcmV0IG9mIGEgdGVzdA=="}, nil
			}
		}
		p, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		attempt(t, p, how)
		server.mu.Lock()
		defer server.mu.Unlock()
		for _, name := range server.names {
			if !slices.Contains(p.registry.Names(wish(hook.RecordA, "198.18.0.1")), name) {
				t.Errorf("%q was written", name)
			}
		}
	})
}

// attempt does all that a Provider does with a Record.
func attempt(t *testing.T, p *Provider, how uint8) {
	t.Helper()
	r := wish(hook.RecordCNAME, "lb.example.net.")
	if how&2 != 0 {
		r = wish(hook.RecordA, "198.18.0.1")
	}
	r.Adopt = how&4 != 0
	zone, err := p.ResolveZone(t.Context(), hook.ZoneSelector{Suffix: "*.apps.example.com."})
	checkError(t, err)
	if err == nil && !dns.Within("*.apps.example.com.", zone.Name) {
		t.Errorf("zone %+v", zone)
	}
	_, err = p.ResolveZone(t.Context(), hook.ZoneSelector{ID: "example.com"})
	checkError(t, err)
	zone = hook.Zone{ID: "example.com.", Name: "example.com."}
	_, err = p.EnsureRecord(t.Context(), r, zone)
	checkError(t, err)
	checkError(t, p.DeleteRecord(t.Context(), r, zone))
}

// checkError fails if an error cannot be shown in a condition.
func checkError(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	text := err.Error()
	if len(text) > 2000 || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("%d bytes: %.300q", len(text), text)
	}
}
