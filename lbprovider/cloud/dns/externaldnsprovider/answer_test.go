package externaldnsprovider

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// said is a provider that answers whatever it was told to.
type said struct {
	status            int
	domains, adjusted string
	records           string
	written           string
	// names are those that were written.
	names []string
}

func (s *said) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := s.domains
	switch {
	case r.URL.Path == "/adjustendpoints":
		body = s.adjusted
	case r.URL.Path == "/records" && r.Method == http.MethodGet:
		body = s.records
	case r.URL.Path == "/records":
		body = s.written
		var c changes
		_ = json.NewDecoder(r.Body).Decode(&c) // what is no JSON writes nothing
		for _, e := range slices.Concat(c.Create, c.UpdateOld, c.UpdateNew, c.Delete) {
			s.names = append(s.names, dns.Name(e.DNSName))
		}
	}
	w.WriteHeader(s.status)
	_, _ = w.Write([]byte(body)) // no client that is gone matters
}

func wish() *hook.Record {
	return &hook.Record{Name: "*.apps.example.com.", Type: hook.RecordCNAME, Targets: []string{"lb.example.net."}, TTL: 30, Owner: "c1", Resource: "dnsrecord/ns/n"}
}

// hostile are answers that break lines and terminals, or do not fit an object of
// Kubernetes.
func hostile() []said {
	const own = `[{"dnsName":"*.apps.example.com","targets":["lb.example.net"],"recordType":"CNAME","recordTTL":30}]`
	long := strings.Repeat("x", 5000)
	return []said{
		{200, `{}`, own, `[]`, ``, nil},
		{200, `{"include":["example.com"]}`, own, `[{"dnsName":"cname-wild.apps.example.com","targets":["\"heritage=external-dns,external-dns/owner=c1,external-dns/resource=dnsrecord/ns/n\""],"recordType":"TXT"}]`, `{}`, nil},
		{
			200, `{"include":["a\nb\t\r\u0000\u000c\u001b[2J\u202e","` + long + `"]}`, `[{"dnsName":"other.example.com","recordType":"A","targets":["198.18.0.1"]}]`,
			`[{"dnsName":"*.apps.example.com","recordType":"A","targets":["a\nb\u001b[2J","` + long + `"]}]`, ``, nil,
		},
		{200, `{"filters":[".", "", "..", "*.com"]}`, `[{"dnsName":"","recordType":"\n","targets":null,"recordTTL":-9223372036854775808}]`, `null`, `x`, nil},
		{200, `{"include":["com"]}`, own, `[{"dnsName":"*.apps.example.com","recordType":"CNAME","targets":["\"a\n"]},{"dnsName":"cname-wild.apps.example.com","recordType":"TXT","targets":["\"heritage=\\n\\x00\\f\"","\"","\\"]}]`, ``, nil},
		{200, `{"include":{"include":[[]]}}`, `{}`, strings.Repeat("[", 1000), strings.Repeat(`{"a":`, 1000), nil},
		{404, "a\nb\r\t\x00\f\xff\x1b[2J", "", "", "", nil},
		{500, strings.Repeat("é", 150), "", "", "", nil},
		{302, "", "", "", "", nil},
		{200, "\xff", "\xff", "\xff", "", nil},
		{200, `{}`, `[{"dnsName":"*.apps.example.com","recordType":"CNAME","setIdentifier":"x"}]`, `[{"dnsName":"\\052.apps.example.com","recordType":"CNAME","targets":[]}]`, ``, nil},
		{200, `{}`, `[{"dnsName":"*.apps.example.com","recordType":"CNAME","targets":["a\u0000"],"providerSpecific":{"a":[1e999]}}]`, `[]`, ``, nil},
	}
}

// FuzzAnswer: whatever a provider answers, it ends nothing, only names of the
// Record are written, and what is shown of it is short and printable.
func FuzzAnswer(f *testing.F) {
	for _, s := range hostile() {
		f.Add(s.status, s.domains, s.adjusted, s.records, s.written)
	}
	var service said
	server := httptest.NewServer(&service)
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, status int, domains, adjusted, records, written string) {
		if status < 200 || status > 599 {
			t.Skip("no answer of HTTP")
		}
		service = said{status, domains, adjusted, records, written, nil}
		p, err := New(Options{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		zone, err := p.ResolveZone(t.Context(), hook.ZoneSelector{Suffix: "apps.example.com"})
		checkError(t, err)
		if err == nil && !dns.Within("apps.example.com.", zone.Name) {
			t.Errorf("zone %+v", zone)
		}
		for _, adopt := range []bool{false, true} {
			r := wish()
			r.Adopt = adopt
			_, err = p.EnsureRecord(t.Context(), r, zone)
			checkError(t, err)
			if err == nil && status >= 300 {
				t.Errorf("status %d is taken for a success", status)
			}
		}
		checkError(t, p.DeleteRecord(t.Context(), wish(), zone))
		for _, name := range service.names {
			if !slices.Contains(p.registry.Names(wish()), name) {
				t.Errorf("%q was written", name)
			}
		}
	})
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
