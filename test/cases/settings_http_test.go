package cases

import (
	"net"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func seconds(n time.Duration) *metav1.Duration { return &metav1.Duration{Duration: n * time.Second} }

// TestSettingsEverything: all settings together are what HAProxy takes, and
// they do what they say.
func TestSettingsEverything(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := settingsBed(t, version, func(b *bed) {
			b.controller.Store(&operatorv1.IngressController{})
			b.flags.PageUnavailable = "HTTP/1.0 503 Service Unavailable\r\nContent-Type: text/plain\r\n\r\nout of order"
			b.flags.PageNotFound = "HTTP/1.0 404 Not Found\nContent-Type: text/plain\n\nnothing here"
		})
		lines := syslog(t)
		b.apply(parseStep(t, map[string]string{"in.yaml": `
kind: Route
metadata: {namespace: s, name: gone}
spec: {host: gone.set.test, to: {kind: Service, name: none}}
---
kind: Route
metadata: {namespace: s, name: actions}
spec:
  host: actions.set.test
  to: {kind: Service, name: web}
  httpHeaders: {actions: {request: [{name: X-Both, action: {type: Set, set: {value: route}}}], response: [{name: X-Answer, action: {type: Set, set: {value: route}}}]}}
`}))
		b.configure(func(s *operatorv1.IngressControllerSpec) { everySetting(s, lines.port) })
		if f := *b.findings.Load(); len(f) != 0 {
			t.Errorf("findings %v", f)
		}
		if strings.Contains(b.log.String(), "HAProxy refused") {
			t.Fatal("HAProxy refused the settings")
		}
		for _, l := range []string{
			`GET http://plain.set.test/ h:X-In="A B" -> 200 seen:X-Set="it's $HOME \n #1 %" seen:X-Copy="a b" seen:X-Gone=`,
			`GET http://plain.set.test/ h:X-Drop=1 h:X_Drop=1 h:X_SSL_Client_CN=root h:X-SSL-Client-CN=root h:X-SSL=1 -> 200 seen:X-Drop= seen:X_drop= seen:X_ssl_client_cn= seen:X-Ssl-Client-Cn= seen:X-Ssl=`,
			`GET https://edge.set.test/ h:X-SSL-Issuer=me -> 200 seen:X-Ssl-Issuer= resp:X-Answer=controller`,
			`GET http://actions.set.test/ -> 200 seen:X-Both=route resp:X-Answer=controller`,
			`GET http://plain.set.test/ -> 200 seen:X-Both=controller seen:X-Forwarded-Host=plain.set.test`,
			`GET http://plain.set.test/ h:Accept-Encoding=gzip -> 200 resp:Content-Encoding=gzip`,
			`GET http://gone.set.test/ -> 503 body~"out of order"`,
			`GET http://unknown.set.test/ -> 404 body~"nothing here"`,
		} {
			b.expectLine(l)
		}
		b.expectLine(`GET http://plain.set.test/logged h:X-Who=me h:Cookie=session=abc -> 200`)
		lines.expect("path=/logged who={me} cookie=session=abc pod=")
		b.expectLine(`GET https://edge.set.test/tls-logged -> 200`)
		lines.expect("path=/tls-logged")
	})
}

func everySetting(s *operatorv1.IngressControllerSpec, syslogPort int) {
	s.TuningOptions = operatorv1.IngressControllerTuningOptions{
		HeaderBufferBytes: 65536, HeaderBufferMaxRewriteBytes: 16384, ThreadCount: 2, MaxConnections: 2000,
		ClientTimeout: seconds(20), ClientFinTimeout: seconds(2), ServerTimeout: seconds(20), ServerFinTimeout: seconds(2),
		TunnelTimeout: seconds(1800), ConnectTimeout: seconds(3), HTTPKeepAliveTimeout: seconds(60), TLSInspectDelay: seconds(3), HealthCheckInterval: seconds(7),
	}
	set := func(name, value string) operatorv1.IngressControllerHTTPHeader {
		return operatorv1.IngressControllerHTTPHeader{Name: name, Action: operatorv1.IngressControllerHTTPHeaderActionUnion{
			Type: operatorv1.Set, Set: &operatorv1.IngressControllerSetHTTPHeader{Value: value},
		}}
	}
	s.HTTPHeaders = &operatorv1.IngressControllerHTTPHeaders{
		UniqueId:                  operatorv1.IngressControllerHTTPUniqueIdHeaderPolicy{Name: "X-Unique"},
		HeaderNameCaseAdjustments: []operatorv1.IngressControllerHTTPHeaderNameCaseAdjustment{"X-WEIRD", "Host"},
		Actions: operatorv1.IngressControllerHTTPHeaderActions{
			Request: []operatorv1.IngressControllerHTTPHeader{
				set("X-Set", `it's $HOME \n #1 %%`), set("X-Copy", "%[req.hdr(X-In),lower]"), set("X-Both", "controller"), set("X-Long", strings.Repeat("long ", 2000)+"end"),
				{Name: "X-Drop", Action: operatorv1.IngressControllerHTTPHeaderActionUnion{Type: operatorv1.Delete}},
			},
			Response: []operatorv1.IngressControllerHTTPHeader{set("X-Answer", "controller")},
		},
	}
	s.HTTPCompression.MimeTypes = []operatorv1.CompressionMIMEType{"application/json", `text/html; charset="utf-8"`}
	s.HTTPEmptyRequestsPolicy = operatorv1.HTTPEmptyRequestsPolicyIgnore
	s.IdleConnectionTerminationPolicy = operatorv1.IngressControllerConnectionTerminationPolicyDeferred
	s.ClosedClientConnectionPolicy = operatorv1.IngressControllerClosedClientConnectionPolicyAbort
	s.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType}
	s.HttpErrorCodePages.Name = "pages"
	s.Logging = &operatorv1.IngressControllerLogging{Access: &operatorv1.AccessLogging{
		Destination: operatorv1.LoggingDestination{Type: operatorv1.SyslogLoggingDestinationType, Syslog: &operatorv1.SyslogLoggingDestinationParameters{
			Address: "127.0.0.1", Port: uint32(syslogPort), Facility: "local3", MaxLength: 2048,
		}},
		HttpLogFormat: `path=%HP who=%hr cookie=%CC pod=%s`,
		HTTPCaptureHeaders: operatorv1.IngressControllerCaptureHTTPHeaders{
			Request: []operatorv1.IngressControllerCaptureHTTPHeader{{Name: "X-Who", MaxLength: 20}},
		},
		HTTPCaptureCookies: []operatorv1.IngressControllerCaptureHTTPCookie{{
			IngressControllerCaptureHTTPCookieUnion: operatorv1.IngressControllerCaptureHTTPCookieUnion{MatchType: operatorv1.CookieMatchTypeExact, Name: "session"}, MaxLength: 100,
		}},
		LogEmptyRequests: operatorv1.LoggingPolicyIgnore,
	}}
}

// logServer is a syslog server.
type logServer struct {
	t     *testing.T
	port  int
	lines chan string
}

func syslog(t *testing.T) *logServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s := &logServer{t: t, port: conn.LocalAddr().(*net.UDPAddr).Port, lines: make(chan string, 1000)}
	go func() {
		buf := make([]byte, 65536)
		for {
			n, _, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			select {
			case s.lines <- string(buf[:n]):
			default:
			}
		}
	}()
	return s
}

// expect waits for a line with a text.
func (s *logServer) expect(text string) {
	s.t.Helper()
	deadline := time.After(patience)
	var seen []string
	for {
		select {
		case l := <-s.lines:
			if strings.Contains(l, text) {
				return
			}
			seen = append(seen, l)
		case <-deadline:
			s.t.Fatalf("no line with %q in the log: %q", text, seen)
		}
	}
}
