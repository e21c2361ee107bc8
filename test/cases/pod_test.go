package cases

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// Ports say what a fake pod is: TLS ports speak TLS, client ports of those demand a
// certificate that "ca" has signed, PROXY ports want a PROXY header, dead ports refuse,
// every other one speaks HTTP/1.1 and HTTP/2 without TLS.
const (
	firstProxyPort    = 8300
	lastProxyPort     = 8309
	firstTLSProxyPort = 8480
	lastTLSProxyPort  = 8489
	firstClientPort   = 8450
	lastClientPort    = 8459

	firstTLSPort  = 8443
	lastTLSPort   = 8499
	firstDeadPort = 9000
)

// answer is what a pod says about a request.
type answer struct {
	Pod    string // address and port
	Method string
	Path   string // the request target as received
	Host   string
	Proto  string
	Header http.Header
	SNI    string
	Client string // the common name of the certificate that the router has shown
	Proxy  string // the PROXY header: proxyHeader
	// Body is the request's, and Fill a text as long as the request asks for, where it has the
	// headers X-Body and X-Fill.
	Body, Fill string `json:",omitempty"`
}

// fleet are the fake pods of a run, by address. They start when an
// EndpointSlice names them and stay.
type fleet struct {
	mu      sync.Mutex
	running map[netip.AddrPort]struct{}
	failed  map[string]int
}

var pods = &fleet{running: map[netip.AddrPort]struct{}{}, failed: map[string]int{}}

// ensure starts the pods that a slice names.
func (f *fleet) ensure(t testing.TB, s *discoveryv1.EndpointSlice) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range s.Endpoints {
		for _, a := range e.Addresses {
			addr, err := netip.ParseAddr(a)
			if err != nil || !ours(addr) {
				continue
			}
			for _, p := range s.Ports {
				if p.Port == nil || *p.Port >= firstDeadPort {
					continue
				}
				f.start(t, netip.AddrPortFrom(addr, uint16(*p.Port)))
			}
		}
	}
}

// ours reports whether a pod may listen at an address: cases also name
// addresses that must never be asked.
func ours(a netip.Addr) bool {
	return netip.MustParsePrefix(podNet).Contains(a) || netip.MustParsePrefix(podNet6).Contains(a)
}

// upgrade begins a websocket, which ends with the client's connection.
func upgrade(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
	_, _ = io.Copy(io.Discard, conn)
}

func (f *fleet) start(t testing.TB, at netip.AddrPort) {
	t.Helper()
	if _, ok := f.running[at]; ok {
		return
	}
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		t.Fatalf("start pod %s: %v", at, err)
	}
	f.running[at] = struct{}{}
	handler := func(w http.ResponseWriter, r *http.Request) {
		a := answer{Pod: at.String(), Method: r.Method, Path: r.RequestURI, Host: r.Host, Proto: r.Proto, Header: r.Header}
		if r.TLS != nil {
			a.SNI = r.TLS.ServerName
			for _, c := range r.TLS.PeerCertificates[:min(1, len(r.TLS.PeerCertificates))] {
				a.Client = c.Subject.CommonName
			}
		}
		a.Proxy = proxyHeader(r)
		if r.Header.Get("Upgrade") == "websocket" {
			upgrade(w)
			return
		}
		if r.URL.Path == authPath {
			authorize(w, r)
			return
		}
		if code := r.Header.Get("X-Code"); code != "" {
			errorPage(w, r, code)
			return
		}
		if f.fails(w, r) {
			return
		}
		for _, cookie := range r.URL.Query()["cookie"] {
			w.Header().Add("Set-Cookie", cookie)
		}
		if location := r.URL.Query().Get("location"); location != "" {
			w.Header().Set("Location", location)
		}
		if d, err := time.ParseDuration(r.URL.Query().Get("sleep")); err == nil {
			select {
			case <-time.After(d):
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if d, err := time.ParseDuration(r.URL.Query().Get("pause")); err == nil { // within the answer
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(d):
			case <-r.Context().Done():
			}
		}
		if r.Header.Get("X-Body") != "" {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			a.Body = string(body)
		}
		if n, err := strconv.Atoi(r.Header.Get("X-Fill")); err == nil {
			a.Fill = fill(n)
		}
		_ = json.NewEncoder(w).Encode(a)
	}
	// No ServeMux: it would clean the paths that the cases are about.
	server := &http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	if p := at.Port(); p >= firstProxyPort && p <= lastProxyPort || p >= firstTLSProxyPort && p <= lastTLSProxyPort {
		l = proxyListener{l}
	}
	server.ConnContext = withConnection
	if p := at.Port(); p >= firstTLSPort && p <= lastTLSPort {
		cert := pki().leaf(t, "pod-"+at.Addr().String()).servable
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
		if p >= firstClientPort && p <= lastClientPort {
			server.TLSConfig.ClientAuth, server.TLSConfig.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
			server.TLSConfig.ClientCAs.AddCert(pki().ca(t, "ca").cert)
		}
		go func() { _ = server.ServeTLS(l, "", "") }()
		return
	}
	go func() { _ = server.Serve(l) }()
}

// fails answers the first requests with a name with a failure: the parameters are name,
// times and fail, which is a status, "close" or "late", and slow, how long each of them
// takes. What follows is told how often the request came before.
func (f *fleet) fails(w http.ResponseWriter, r *http.Request) bool {
	q := r.URL.Query()
	fail := q.Get("fail")
	if fail == "" {
		return false
	}
	f.mu.Lock()
	key := r.Header.Get("X-Forwarded-Port") + " " + q.Get("name")
	f.failed[key]++
	n := f.failed[key]
	f.mu.Unlock()
	w.Header().Set("X-Tries", strconv.Itoa(n))
	times, _ := strconv.Atoi(q.Get("times"))
	status, err := strconv.Atoi(fail)
	if d, err := time.ParseDuration(q.Get("slow")); err == nil && n <= times {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
	switch {
	case n > times || fail == "late":
		return false
	case err == nil:
		w.WriteHeader(status)
	default:
		panic(http.ErrAbortHandler)
	}
	return true
}

// errorPage answers as a Service of error pages does, and wrongly for some statuses.
func errorPage(w http.ResponseWriter, r *http.Request, code string) {
	status, _ := strconv.Atoi(code)
	switch code {
	case "410":
		w.Header().Set("Content-Type", "text/html\"; evil=%[src]")
	case "503":
		w.Header().Set("Content-Type", "application/json")
	case "594":
		w.Header().Set("Location", "http://127.0.0.1/")
		status = http.StatusFound
	case "595":
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
	switch code {
	case "597":
	case "598":
		_, _ = io.WriteString(w, strings.Repeat("x", 16001))
	default:
		_, _ = io.WriteString(w, "page "+code+" of "+r.Host+" for "+r.Header.Get("X-Namespace")+" as "+r.Header.Get("X-Format")+"\n")
	}
}

// authPath is where every pod is an auth server.
const authPath = "/check"

// authorize decides by the token, and tells the pod behind the router how it was asked.
func authorize(w http.ResponseWriter, r *http.Request) {
	h := r.Header
	w.Header().Set("X-Asked", strings.Join([]string{r.Method, r.URL.Path, h.Get("X-Original-Url"), h.Get("X-Forwarded-Uri"), h.Get("X-Forwarded-For")}, " "))
	switch h.Get("Authorization") {
	case "Bearer good":
		w.Header().Set("X-User", "alice")
	case "Bearer forbidden":
		w.WriteHeader(http.StatusForbidden)
	case "Bearer redirect":
		w.Header().Set("Location", "https://login.pe.test/")
		w.WriteHeader(http.StatusFound)
	case "Bearer broken":
		w.WriteHeader(http.StatusInternalServerError)
	case "Bearer slow":
		select {
		case <-time.After(3 * time.Second):
		case <-r.Context().Done():
		}
	default:
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "who are you")
	}
}
