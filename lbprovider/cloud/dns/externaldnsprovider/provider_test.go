package externaldnsprovider

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/hookconformance"
)

// service is a DNS service behind the protocol. It refuses what is not as the
// protocol says, and changes that do not fit what it has.
type service struct {
	mu      sync.Mutex
	records []endpoint
	domains string // the answer of GET /
	noTTL   bool   // tells no TTLs, as some providers do
	down    bool
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", mediaType)
	var in json.RawMessage
	if r.Method == http.MethodPost {
		if r.Header.Get("Content-Type") != mediaType || json.NewDecoder(r.Body).Decode(&in) != nil {
			http.Error(w, "no such media type", http.StatusUnsupportedMediaType)
			return
		}
	} else if r.Header.Get("Accept") != mediaType {
		http.Error(w, "no such media type", http.StatusNotAcceptable)
		return
	}
	switch {
	case s.down:
		http.Error(w, "the registrar is away", http.StatusInternalServerError)
	case r.Method == http.MethodGet && r.URL.Path == "/":
		_, _ = w.Write([]byte(s.domains))
	case r.Method == http.MethodGet && r.URL.Path == "/records":
		shown := slices.Clone(s.records)
		for i := range shown {
			if s.noTTL {
				shown[i].RecordTTL = 0
			}
		}
		_ = json.NewEncoder(w).Encode(shown)
	case r.URL.Path == "/adjustendpoints":
		var list []endpoint
		_ = json.Unmarshal(in, &list)
		for i := range list {
			list[i].ProviderSpecific = json.RawMessage(`[{"name":"proxied","value":"false"}]`)
		}
		_ = json.NewEncoder(w).Encode(list)
	case r.URL.Path == "/records":
		if problem := s.apply(in); problem != "" {
			http.Error(w, problem, http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, r)
	}
}

func (s *service) apply(in []byte) string {
	var c changes
	if err := json.Unmarshal(in, &c); err != nil {
		return err.Error()
	}
	find := func(e endpoint) int {
		return slices.IndexFunc(s.records, func(r endpoint) bool { return r.DNSName == e.DNSName && r.RecordType == e.RecordType })
	}
	for _, e := range append(c.Delete, c.UpdateOld...) {
		i := find(e)
		if i < 0 || !slices.Equal(s.records[i].Targets, e.Targets) {
			return "there is no " + e.DNSName
		}
		s.records = slices.Delete(s.records, i, i+1)
	}
	for _, e := range append(c.Create, c.UpdateNew...) {
		if find(e) >= 0 {
			return e.DNSName + " exists"
		}
		if e.RecordType != "TXT" && len(e.ProviderSpecific) == 0 {
			return "what was adjusted did not come back"
		}
		s.records = append(s.records, e)
	}
	return ""
}

func start(t *testing.T, s *service) *Provider {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	p, err := New(Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPromises(t *testing.T) {
	t.Parallel()
	for name, noTTL := range map[string]bool{"as the protocol says": false, "without TTLs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			others := []endpoint{
				{DNSName: "other.example.com", RecordType: "A", Targets: []string{"198.18.0.77"}, RecordTTL: 60},
				{DNSName: "*.apps.example.com", RecordType: "A", SetIdentifier: "eu", Targets: []string{"198.18.0.78"}},
			}
			s := &service{domains: `{"include":["example.com","example.org"]}`, noTTL: noTTL, records: slices.Clone(others)}
			p := start(t, s)
			for _, f := range hookconformance.RunNames(t.Context(), hookconformance.NameOptions{Hook: p, Name: "*.probe.example.com."}) {
				if f.Broken != "" {
					t.Error(f)
				}
			}
			if len(s.records) != len(others) {
				t.Errorf("left: %+v", s.records)
			}
		})
	}
}

func TestWritten(t *testing.T) {
	t.Parallel()
	s := &service{domains: "{}"}
	p := start(t, s)
	r := &hook.Record{Name: "*.apps.example.com.", Type: hook.RecordCNAME, Targets: []string{"lb.example.net."}, TTL: 30, Owner: "c1", Resource: "dnsrecord/ns/n"}
	if _, err := p.EnsureRecord(t.Context(), r, hook.Zone{Name: "."}); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s.records)
	const want = `[{"dnsName":"*.apps.example.com","targets":["lb.example.net"],"recordType":"CNAME","recordTTL":30,"providerSpecific":[{"name":"proxied","value":"false"}]},` +
		`{"dnsName":"cname-wild.apps.example.com","targets":["\"heritage=external-dns,external-dns/owner=c1,external-dns/resource=dnsrecord/ns/n\""],"recordType":"TXT","recordTTL":300}]`
	if err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s (%v)", got, want, err)
	}
}

func TestZonesAndFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, domains, want string
		down                bool
		class               hook.Class
		text                string
	}{
		{name: "longest", domains: `{"include":["com","example.com",".apps.example.com"]}`, want: "apps.example.com."},
		{name: "as described", domains: `{"filters":["example.com"]}`, want: "example.com."},
		{name: "no filter", domains: `{}`, want: "."},
		{name: "not served", domains: `{"include":["example.org"]}`, class: hook.ClassInvalidConfig, text: "example.org"},
		{name: "no protocol", domains: `<html>`, class: hook.ClassUnavailable, text: "protocol"},
		{name: "down", down: true, class: hook.ClassUnavailable, text: "the registrar is away"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, &service{domains: test.domains, down: test.down})
			zone, err := p.ResolveZone(t.Context(), hook.ZoneSelector{Suffix: "*.apps.example.com."})
			if got := hook.ClassOf(err); got != test.class || zone.Name != test.want || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %+v, %v", zone, err)
			}
		})
	}
	for _, bad := range []string{"", "127.0.0.1:8888", "ftp://x"} {
		if _, err := New(Options{URL: bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
