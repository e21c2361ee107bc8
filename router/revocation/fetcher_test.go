package revocation

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/statefile"
)

// authority publishes a list on a real HTTP server.
type authority struct {
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	bundle string

	mu      sync.Mutex
	body    []byte
	tag     string
	code    int
	fetches map[int]int // by status
}

func newAuthority(t testing.TB, urls ...string) *authority {
	t.Helper()
	a := &authority{code: http.StatusOK, fetches: map[int]int{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "clients"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, NotAfter: time.Now().Add(time.Hour),
		CRLDistributionPoints: append(urls, server.URL+"/list"),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.key, a.bundle = key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	code := a.code
	if a.tag != "" && r.Header.Get("If-None-Match") == a.tag {
		code = http.StatusNotModified
	}
	a.fetches[code]++
	w.Header().Set("ETag", a.tag)
	w.WriteHeader(code)
	if code == http.StatusOK {
		_, _ = w.Write(a.body)
	}
}

// publish signs a list and offers it.
func (a *authority) publish(t testing.TB, number int64, from, until time.Time, asPEM bool) {
	t.Helper()
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(number), ThisUpdate: from, NextUpdate: until}, a.cert, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if asPEM {
		der = pem.EncodeToMemory(&pem.Block{Type: pemList, Bytes: der})
	}
	a.offer(der, http.StatusOK)
}

func (a *authority) offer(body []byte, code int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.body, a.code = body, code
}

// clock is moved by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newFetcher(c *clock, state *statefile.Store, changed func()) *Fetcher {
	return New(Options{State: state, Changed: changed, Now: c.now, Log: slog.New(slog.DiscardHandler)})
}

// TestRounds: what a list that comes, ends, is renewed or forged does.
func TestRounds(t *testing.T) {
	t.Parallel()
	began := time.Now().Truncate(time.Second)
	c, a, stranger := &clock{began}, newAuthority(t, "ldap://directory.example.com/list"), newAuthority(t)
	changes := 0
	f := newFetcher(c, nil, func() { changes++ })
	f.Want(a.bundle)
	round := func(what string, wantLists bool, wantProblem string, wantChanges int) {
		t.Helper()
		f.round(t.Context())
		l := f.Lists()
		if (l.Lists != "") != wantLists || strings.Contains(strings.Join(l.Problems, ";"), wantProblem) != true || (len(l.Problems) > 0) != (wantProblem != "") || changes != wantChanges {
			t.Fatalf("%s: lists %t, problems %q, %d changes", what, l.Lists != "", l.Problems, changes)
		}
	}
	if p := f.Lists().Problems; len(p) != 1 || !strings.Contains(p[0], "has not been fetched yet") {
		t.Fatalf("at first: %q", p)
	}
	a.offer(nil, http.StatusInternalServerError)
	round("the server is ill", false, "500", 1)
	a.publish(t, 1, began, began.Add(time.Hour), false)
	round("too early for another try", false, "500", 1)
	c.at = c.at.Add(defaultRetry)
	round("a list as DER", true, "", 2)
	c.at = c.at.Add(40 * time.Minute)
	a.offer([]byte("<html>"), http.StatusOK)
	round("nonsense: the list of before is good for a while", true, "", 2)
	c.at = began.Add(2 * time.Hour)
	round("it ended, and cannot be renewed", true, "cannot be renewed", 3)
	stranger.publish(t, 2, c.at, c.at.Add(time.Hour), true)
	a.offer(stranger.body, http.StatusOK)
	c.at = c.at.Add(defaultRetry)
	round("signed by somebody else", true, "no authority of ca-bundle.pem has signed it", 4)
	a.publish(t, 3, c.at, c.at.Add(24*time.Hour), true)
	c.at = c.at.Add(defaultRetry)
	round("renewed, as PEM", true, "", 5)
	a.publish(t, 1, began, c.at.Add(48*time.Hour), true)
	c.at = c.at.Add(13 * time.Hour)
	round("an older list does not replace a newer one", true, "", 5)
	f.Want("")
	round("not wanted any more", false, "", 6)
}

// TestNotModified: a list that the server still has is not sent again.
func TestNotModified(t *testing.T) {
	t.Parallel()
	c, a := &clock{time.Now()}, newAuthority(t)
	a.tag = `"one"`
	a.publish(t, 1, c.at, c.at.Add(8*time.Hour), false)
	f := newFetcher(c, nil, nil)
	f.Want(a.bundle)
	f.round(t.Context())
	c.at = c.at.Add(5 * time.Hour)
	f.round(t.Context())
	if l := f.Lists(); l.Lists == "" || len(l.Problems) > 0 || a.fetches[http.StatusOK] != 1 || a.fetches[http.StatusNotModified] != 1 {
		t.Errorf("%q, fetches %v", l.Problems, a.fetches)
	}
}

// TestRestart: the next process begins with the lists of this one, but not with
// lists that no authority of the bundle has signed.
func TestRestart(t *testing.T) {
	t.Parallel()
	discarded := 0
	state := &statefile.Store{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Discarded: func(string) { discarded++ }}
	c, a := &clock{time.Now()}, newAuthority(t)
	a.publish(t, 1, c.at, c.at.Add(time.Hour), false)
	first := newFetcher(c, state, nil)
	first.Want(a.bundle)
	first.round(t.Context())
	second := newFetcher(c, state, nil)
	second.Want(a.bundle)
	if was, is := first.Lists(), second.Lists(); was.Lists == "" || is.Lists != was.Lists || len(is.Problems) > 0 || discarded != 0 {
		t.Errorf("before %d bytes, after %d, problems %q", len(was.Lists), len(is.Lists), is.Problems)
	}
	b := newAuthority(t)
	b.publish(t, 1, c.at, c.at.Add(time.Hour), false)
	other := newFetcher(c, nil, nil)
	other.Want(b.bundle)
	other.round(t.Context())
	forged, err := json.Marshal(map[string]kept{first.sources[0].urls[0]: {Text: other.Lists().Lists}})
	if err != nil || other.Lists().Lists == "" {
		t.Fatal(err)
	}
	if err := state.Write(stateFile, forged); err != nil {
		t.Fatal(err)
	}
	third := newFetcher(c, state, nil)
	third.Want(a.bundle)
	if l := third.Lists(); l.Lists != "" || discarded != 1 {
		t.Errorf("a list of another authority was taken, %d files discarded", discarded)
	}
}

// FuzzRecall: whatever stands in the file, only lists that the authority has
// signed are taken.
func FuzzRecall(f *testing.F) {
	a := newAuthority(f)
	now := time.Now()
	a.publish(f, 1, now, now.Add(time.Hour), true)
	cas := parseBundle(a.bundle)
	url := cas[0].CRLDistributionPoints[0]
	a.mu.Lock()
	good, err := json.Marshal(map[string]kept{url: {Text: string(a.body), Tag: "a\nb\tc\rd\x00e\ff"}})
	a.mu.Unlock()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	for _, text := range []string{"", "{}", "null", "[]", `{"` + url + `":{}}`, `{"` + url + `":{"text":"-----BEGIN X509 CRL-----\nMA==\n-----END X509 CRL-----\n"}}`, `{"` + url + `":{"text":"\u0000\n\t"}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sources, _ := sourcesOf(a.bundle, nil)
		err := recallText(data, sources, cas)
		for _, s := range sources {
			if s.list != nil && s.list.CheckSignatureFrom(cas[0]) != nil || (s.list == nil) != (s.text == "") {
				t.Errorf("%q was taken for a list, %v", s.text, err)
			}
		}
	})
}

// TestRun: Wait returns when the first answer is there, and Run fetches for a
// bundle that comes later.
func TestRun(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.publish(t, 1, time.Now(), time.Now().Add(time.Hour), false)
	changed := make(chan struct{}, 10)
	f := New(Options{Changed: func() { changed <- struct{}{} }, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	f.Want(a.bundle)
	limited, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	f.Wait(limited)
	if f.Lists().Lists == "" {
		t.Error("nothing was fetched")
	}
	<-changed
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// FuzzList: nothing that a server sends is more than an error.
func FuzzList(f *testing.F) {
	f.Add([]byte("-----BEGIN X509 CRL-----\n-----END X509 CRL-----\n"))
	f.Add([]byte{0x30, 0x82})
	for _, s := range []string{"\n", "\t", "\r", "\x00", "\f"} {
		f.Add([]byte("-----BEGIN X509 CRL-----" + s + "\nMAA=" + s + "\n-----END X509 CRL-----" + s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if l, err := parseList(body, nil); l != nil || err == nil {
			t.Error("taken although nobody has signed it")
		}
	})
}

// TestMetadata: no certificate makes the router call a metadata service.
func TestMetadata(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "[fd20:ce::254]", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]", "[::ffff:169.254.169.254]"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+":1/", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := newClient().Do(request)
		if err == nil {
			response.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "metadata service") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
