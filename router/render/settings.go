package render

import (
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// Settings are the router-wide values that HAProxy fixes at start, so that a
// change of them is a reload. A zero value means the default that its field
// names.
type Settings struct {
	// HTTPPort and HTTPSPort are the ports of the listeners; one that is 0 has none.
	HTTPPort, HTTPSPort int
	// Sample is the N of the share 1/N of requests whose time is measured, or 0 for none.
	Sample int
	// KeepFailed has requests that failed written to the ring, and their answers carry an ID.
	KeepFailed bool
	// SharedAddress says that HTTPRoutes may be served at the router's own ports.
	SharedAddress bool
	// HTTPSlots are the ports for Gateways' listeners of HTTP.
	HTTPSlots Slots
	// HTTPSSlots are those for Gateways' listeners of HTTPS.
	HTTPSSlots Slots
	// FallbackSlots are those of them that let in clients whatever certificate they show.
	FallbackSlots Slots
	// TLSSlots are those for listeners of TLS, TCPSlots those of TCP.
	TLSSlots, TCPSlots Slots
	// Listen is the only address to listen on; without one it is all.
	Listen netip.Addr
	// MaxConn is the limit of concurrent connections of clients; -1, or 0, leaves
	// it to HAProxy, which goes by the file limit and counts a TLS connection
	// that ends here twice.
	MaxConn int
	// Files is the most files that HAProxy may have open; 0 where that is not known.
	// MaxConn should not exceed MostConnections of it.
	Files int
	// Clients bounds what one of them may take.
	Clients Clients
	// LimitKeys is how many pairs of route and source the limits of routes count,
	// with half as many again for namespaces with very many; default 100000.
	LimitKeys int
	// Key is what hashes of credentials are made with, in base64. It is the pod's own, so
	// that they are worth nothing elsewhere. Without it no hash matches any other.
	Key string
	// AgentDir has the sockets of the policy agent; empty for none.
	AgentDir string
	// FirewallDir has the socket of the firewall; empty for none.
	FirewallDir string
	// Threads is HAProxy's number of threads; default 1.
	Threads int
	// IPv6 also listens on IPv6 addresses.
	IPv6 bool
	// AnyHost serves routes for hosts that no route names.
	AnyHost bool
	// HardStopAfter is how long an old worker may finish its requests;
	// default 1h.
	HardStopAfter time.Duration
	// ProxyProtocol demands a PROXY protocol header of every client.
	ProxyProtocol bool
	Timeouts      Timeouts
	// BufferBytes bounds the headers of a message; default 32768.
	// RewriteBytes of it are kept free for header changes; default 8192.
	BufferBytes, RewriteBytes int
	TLS                       TLS
	ClientTLS                 ClientTLS
	Log                       Log
	HTTP                      HTTP
	Pages                     Pages
}

// Timeouts are HAProxy's of the same names (HAProxy manual, "timeout").
type Timeouts struct {
	// Connect is 5s, Client and Server are 30s, ClientFin and ServerFin 1s,
	// Tunnel is 1h, KeepAlive 5m and Inspect 5s by default.
	Connect, Client, ClientFin, Server, ServerFin, Tunnel, KeepAlive, Inspect time.Duration
}

// common are the names and values of those that all sections of defaults have.
func (t Timeouts) common() [][2]string {
	return [][2]string{
		{"connect", milliseconds(t.Connect)},
		{"client", milliseconds(t.Client)},
		{"client-hs", "10s"},
		{"client-fin", milliseconds(t.ClientFin)},
		{"server", milliseconds(t.Server)},
		{"server-fin", milliseconds(t.ServerFin)},
		{"http-request", "10s"},
		{"http-keep-alive", milliseconds(t.KeepAlive)},
	}
}

func (t Timeouts) lines() []string {
	var lines []string
	for _, timeout := range t.common() {
		lines = append(lines, "timeout "+timeout[0]+" "+timeout[1])
	}
	return lines
}

// TLS says which TLS clients can speak.
type TLS struct {
	// MinVersion is HAProxy's name of the lowest version; default TLSv1.2.
	MinVersion string
	// Ciphers are for TLS up to 1.2, Suites for 1.3, each with colons between
	// them; empty means HAProxy's own where MinVersion is given, else those of
	// the Intermediate profile.
	Ciphers, Suites string
	// Curves, with colons between them; empty means OpenSSL's own.
	Curves string
}

// ClientTLS asks clients for certificates.
type ClientTLS struct {
	// Verify is "required", "optional" or empty for no question.
	Verify string
	// CA and CRL are PEM texts. CRL may be empty.
	CA, CRL string
	// Subject is a regular expression that the subject of the certificate
	// must match; empty means any, a client without one included.
	Subject string
	// Closed refuses every TLS connection that ends here, because what should
	// protect it is not there.
	Closed bool
	// KeepHeaders leaves the headers alone by which the router tells pods
	// about certificates, so that clients can send them.
	KeepHeaders bool
}

// Log writes a line for each request.
type Log struct {
	// Target is HAProxy's log address, such as "192.0.2.1:514" or "stdout", or
	// empty for no log.
	Target string
	// MaxLength bounds a line, in bytes; default 1024.
	MaxLength int
	// Facility is the syslog facility; default local1.
	Facility string
	// Format is HAProxy's log format; empty means "option httplog".
	Format string
	// RequestHeaders and ResponseHeaders are logged up to a length.
	RequestHeaders, ResponseHeaders []Capture
	// Cookie is logged up to a length. Its name ends in "=" to mean the whole
	// name of a cookie; otherwise it is the beginning of one.
	Cookie Capture
	// IgnoreEmpty leaves out connections without a request.
	IgnoreEmpty bool
}

// Capture is what to log of a header or cookie.
type Capture struct {
	Name string
	// Length is in bytes.
	Length int
}

// HTTP is how requests and answers are changed for all routes.
type HTTP struct {
	// UniqueIDName is the request header that gets a text of UniqueIDFormat.
	UniqueIDName, UniqueIDFormat string
	// CaseAdjustments are header names as HTTP/1 clients, and pods of routes
	// that ask for it, see them.
	CaseAdjustments []string
	// RequestHeaders change before those of a route, ResponseHeaders after.
	RequestHeaders, ResponseHeaders []model.HeaderAction
	// Compress are the media types of answers to compress.
	Compress []string
	// IgnoreProbes closes connections without a request silently.
	IgnoreProbes bool
	// DeferClose closes idle connections only with the next answer.
	DeferClose bool
	// AbortOnClose ends a request whose client has left.
	AbortOnClose bool
	// Bandwidth has filters by which routes limit it. Each request passes them.
	Bandwidth bool
	// ContinuousStats counts bytes while they flow, not when a request ends.
	ContinuousStats bool
}

// Pages are whole HTTP responses that take the place of the router's own, or
// empty texts.
type Pages struct {
	Unavailable, NotFound string
}

// withDefaults fills in what is not given.
func (s Settings) withDefaults() Settings {
	t := &s.Timeouts
	for d, value := range map[*time.Duration]time.Duration{
		&t.Connect: 5 * time.Second, &t.Client: 30 * time.Second, &t.ClientFin: time.Second,
		&t.Server: 30 * time.Second, &t.ServerFin: time.Second, &t.Tunnel: model.DefaultTunnel,
		&t.KeepAlive: model.DefaultKeepAlive, &t.Inspect: 5 * time.Second,
	} {
		if *d == 0 {
			*d = value
		}
	}
	s.Threads = max(s.Threads, 1)
	s.Clients = s.Clients.withDefaults(s.MaxConn)
	if s.LimitKeys == 0 {
		s.LimitKeys = 100_000
	}
	if s.HardStopAfter == 0 {
		s.HardStopAfter = time.Hour
	}
	if s.BufferBytes == 0 {
		s.BufferBytes = 32768
	}
	if s.RewriteBytes == 0 {
		s.RewriteBytes = 8192
	}
	if s.TLS.MinVersion == "" {
		s.TLS = TLS{MinVersion: "TLSv1.2", Ciphers: intermediateCiphers, Suites: s.TLS.Suites, Curves: s.TLS.Curves}
	}
	if s.Log.MaxLength == 0 {
		s.Log.MaxLength = 1024
	}
	if s.Log.Facility == "" {
		s.Log.Facility = "local1"
	}
	return s
}

// intermediateCiphers are those of Mozilla's intermediate configuration.
const intermediateCiphers = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:" +
	"ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384"

// Safe returns the settings without everything that HAProxy could refuse. If
// clients should show certificates, TLS connections are refused instead of
// served without that.
func (s Settings) Safe() Settings {
	return Settings{
		HTTPPort: s.HTTPPort, HTTPSPort: s.HTTPSPort, SharedAddress: s.SharedAddress, HTTPSlots: s.HTTPSlots, HTTPSSlots: s.HTTPSSlots, FallbackSlots: s.FallbackSlots, TLSSlots: s.TLSSlots, TCPSlots: s.TCPSlots, Listen: s.Listen, IPv6: s.IPv6, ProxyProtocol: s.ProxyProtocol, Clients: s.Clients, AgentDir: s.AgentDir, FirewallDir: s.FirewallDir, Key: s.Key,
		ClientTLS: ClientTLS{Closed: s.ClientTLS.Closed || s.ClientTLS.Verify != "" || s.ClientTLS.Subject != ""},
	}
}

// Changed returns the fields of an IngressController by which two settings
// differ, for people to read.
func Changed(a, b Settings) []string {
	var changed []string
	for _, f := range fields {
		if !f.same(&a, &b) {
			changed = append(changed, f.name)
		}
	}
	return changed
}

type field struct {
	name string
	same func(a, b *Settings) bool
}

func same[T comparable](get func(*Settings) T) func(a, b *Settings) bool {
	return func(a, b *Settings) bool { return get(a) == get(b) }
}

func sameList[T comparable](get func(*Settings) []T) func(a, b *Settings) bool {
	return func(a, b *Settings) bool { return slices.Equal(get(a), get(b)) }
}

var fields = []field{
	{"ports", same(func(s *Settings) [2]int { return [2]int{s.HTTPPort, s.HTTPSPort} })},
	{"ports for Gateways", same(func(s *Settings) [5]Slots {
		return [5]Slots{s.HTTPSlots, s.HTTPSSlots, s.FallbackSlots, s.TLSSlots, s.TCPSlots}
	})},
	{"fairlead.dev/latency-sample", same(func(s *Settings) int { return s.Sample })},
	{"fairlead.dev/keep-requests", same(func(s *Settings) bool { return s.KeepFailed })},
	{"fairlead.dev/shared-address", same(func(s *Settings) bool { return s.SharedAddress })},
	{"key of the pod", same(func(s *Settings) string { return s.Key })},
	{"policy agent", same(func(s *Settings) string { return s.AgentDir })},
	{"firewall", same(func(s *Settings) string { return s.FirewallDir })},
	{"listen address", same(func(s *Settings) netip.Addr { return s.Listen })},
	{"ipv6", same(func(s *Settings) bool { return s.IPv6 })},
	{"spec.routeAdmission.wildcardPolicy", same(func(s *Settings) bool { return s.AnyHost })},
	{"hard-stop-after", same(func(s *Settings) time.Duration { return s.HardStopAfter })},
	{"spec.endpointPublishingStrategy.protocol", same(func(s *Settings) bool { return s.ProxyProtocol })},
	{"spec.unsupportedConfigOverrides (limits of sources)", same(func(s *Settings) Clients { return s.Clients })},
	{"spec.tuningOptions.maxConnections", same(func(s *Settings) int { return s.MaxConn })},
	{"spec.tuningOptions.threadCount", same(func(s *Settings) int { return s.Threads })},
	{"spec.tuningOptions.headerBufferBytes", same(func(s *Settings) int { return s.BufferBytes })},
	{"spec.tuningOptions.headerBufferMaxRewriteBytes", same(func(s *Settings) int { return s.RewriteBytes })},
	{"spec.tuningOptions.connectTimeout", same(func(s *Settings) time.Duration { return s.Timeouts.Connect })},
	{"spec.tuningOptions.clientTimeout", same(func(s *Settings) time.Duration { return s.Timeouts.Client })},
	{"spec.tuningOptions.clientFinTimeout", same(func(s *Settings) time.Duration { return s.Timeouts.ClientFin })},
	{"spec.tuningOptions.serverTimeout", same(func(s *Settings) time.Duration { return s.Timeouts.Server })},
	{"spec.tuningOptions.serverFinTimeout", same(func(s *Settings) time.Duration { return s.Timeouts.ServerFin })},
	{"spec.tuningOptions.tunnelTimeout", same(func(s *Settings) time.Duration { return s.Timeouts.Tunnel })},
	{"spec.tuningOptions.httpKeepAliveTimeout", same(func(s *Settings) time.Duration { return s.Timeouts.KeepAlive })},
	{"spec.tuningOptions.tlsInspectDelay", same(func(s *Settings) time.Duration { return s.Timeouts.Inspect })},
	{"spec.tlsSecurityProfile", same(func(s *Settings) TLS { return s.TLS })},
	{"spec.clientTLS", same(func(s *Settings) ClientTLS { return s.ClientTLS })},
	{"spec.logging.access", func(a, b *Settings) bool { return a.Log.equal(&b.Log) }},
	{"spec.httpHeaders.uniqueId", same(func(s *Settings) [2]string { return [2]string{s.HTTP.UniqueIDName, s.HTTP.UniqueIDFormat} })},
	{"spec.httpHeaders.headerNameCaseAdjustments", sameList(func(s *Settings) []string { return s.HTTP.CaseAdjustments })},
	{"spec.httpHeaders.actions.request", sameList(func(s *Settings) []model.HeaderAction { return s.HTTP.RequestHeaders })},
	{"spec.httpHeaders.actions.response", sameList(func(s *Settings) []model.HeaderAction { return s.HTTP.ResponseHeaders })},
	{"spec.httpCompression", sameList(func(s *Settings) []string { return s.HTTP.Compress })},
	{"spec.httpEmptyRequestsPolicy", same(func(s *Settings) bool { return s.HTTP.IgnoreProbes })},
	{"spec.idleConnectionTerminationPolicy", same(func(s *Settings) bool { return s.HTTP.DeferClose })},
	{"spec.closedClientConnectionPolicy", same(func(s *Settings) bool { return s.HTTP.AbortOnClose })},
	{"spec.unsupportedConfigOverrides.bandwidthLimits", same(func(s *Settings) bool { return s.HTTP.Bandwidth })},
	{"spec.unsupportedConfigOverrides.contStats", same(func(s *Settings) bool { return s.HTTP.ContinuousStats })},
	{"spec.httpErrorCodePages", same(func(s *Settings) Pages { return s.Pages })},
}

func (l *Log) equal(o *Log) bool {
	return l.Target == o.Target && l.MaxLength == o.MaxLength && l.Facility == o.Facility && l.Format == o.Format &&
		slices.Equal(l.RequestHeaders, o.RequestHeaders) && slices.Equal(l.ResponseHeaders, o.ResponseHeaders) &&
		l.Cookie == o.Cookie && l.IgnoreEmpty == o.IgnoreEmpty
}
