package cases

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// TestSettingsLogLines: each request is one line, with what is captured of it,
// and so is a passthrough connection. A connection without a request has no line
// where the IngressController ignores empty requests.
func TestSettingsLogLines(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		lines := syslog(t)
		// The settings are there from the start, so that no old worker of HAProxy
		// takes a request.
		b := settingsBed(t, version, func(b *bed) {
			ic := &operatorv1.IngressController{}
			everySetting(&ic.Spec, lines.port)
			ic.Spec.HTTPHeaders, ic.Spec.TLSSecurityProfile = nil, nil
			a := ic.Spec.Logging.Access
			a.HttpLogFormat = "be=%b path=%HP status=%ST who=%hr type=%hs cookie=%CC."
			a.HTTPCaptureHeaders.Response = []operatorv1.IngressControllerCaptureHTTPHeader{{Name: "Content-Type", MaxLength: 11}}
			a.HTTPCaptureCookies = []operatorv1.IngressControllerCaptureHTTPCookie{{
				IngressControllerCaptureHTTPCookieUnion: operatorv1.IngressControllerCaptureHTTPCookieUnion{MatchType: operatorv1.CookieMatchTypePrefix, NamePrefix: "sess"}, MaxLength: 100,
			}}
			b.controller.Store(ic)
		})
		b.apply(parseStep(t, map[string]string{"services": "s/tls https=8443 tls@198.18.250.95", "in.yaml": `
kind: Route
metadata: {namespace: s, name: pass}
spec: {host: pass.set.test, to: {kind: Service, name: tls}, tls: {termination: passthrough}}
---
kind: Route
metadata: {namespace: s, name: plain}
spec:
  host: plain.set.test
  to: {kind: Service, name: web}
  httpHeaders: {actions: {request: [{name: X-Who, action: {type: Set, set: {value: changed}}}]}}
`}))
		b.expectLine("GET http://plain.set.test/begin -> 200")
		lines.expect("path=/begin ")
		empty, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(b.http)))
		if err != nil {
			t.Fatal(err)
		}
		_ = empty.Close()
		for _, r := range []request{
			{host: "plain.set.test", target: "/one", header: []string{"X-Who: me", "Cookie: other=1; session7=abc"}},
			{host: "edge.set.test", target: "/two", tls: true, sni: "edge.set.test"},
			{host: "pass.set.test", target: "/three", tls: true, sni: "pass.set.test"},
			{host: "nobody.set.test", target: "/four"},
		} {
			r.method = "GET"
			if res := r.do(b.http, b.https); res.err != nil {
				t.Fatal(res.err)
			}
		}
		want := []string{
			"path=/one status=200 who={me} type={application} cookie=session7=abc.",
			"path=/two status=200", " be_tcp:s:pass:", "be=router_default path=/four status=404",
		}
		got := lines.gather(want)
		b.expectLine("GET http://plain.set.test/end -> 200")
		got += lines.gather([]string{"path=/end "})
		for _, w := range want {
			if n := strings.Count(got, w); n != 1 {
				t.Errorf("%q is %d times in\n%s", w, n, got)
			}
		}
		if n := strings.Count(got, "\n"); n != len(want)+1 {
			t.Errorf("%d lines, want %d:\n%s", n, len(want)+1, got)
		}
	})
}

// gather returns all lines until each of some texts was there, save those of
// the request that a test begins with, which may have been repeated.
func (s *logServer) gather(texts []string) string {
	s.t.Helper()
	deadline := time.After(patience)
	got := ""
	for missing := texts; len(missing) > 0; {
		select {
		case l := <-s.lines:
			if !strings.Contains(l, "path=/begin ") {
				got += strings.TrimSpace(l) + "\n"
			}
		case <-deadline:
			s.t.Fatalf("no line with %q in\n%s", missing, got)
		}
		missing = nil
		for _, text := range texts {
			if !strings.Contains(got, text) {
				missing = append(missing, text)
			}
		}
	}
	return got
}
