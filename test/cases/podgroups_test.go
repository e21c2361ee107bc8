package cases

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
	"time"
)

// groupPod is a pod that agrees on some groups alone, and answers with the one that was agreed on.
func groupPod(t *testing.T, at string, groups ...tls.CurveID) {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0), // of the handshakes that fail
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Group", r.TLS.CurveID.String())
		}),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{pki().leaf(t, "pod-groups").servable}, MinVersion: tls.VersionTLS13, CurvePreferences: groups,
		},
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.ServeTLS(l, "", "") }()
}

// TestPodGroups: each version of HAProxy agrees with pods on the hybrid group X25519MLKEM768 where they have it, and
// on another one where they have not; it does not fall back to something for one with an unknown group alone.
func TestPodGroups(t *testing.T) {
	onEach(t, []string{"haproxy", "haproxy-3.2", "haproxy-3.0"}, func(t *testing.T, version string) {
		port := map[string]string{"haproxy": "9453", "haproxy-3.2": "9454", "haproxy-3.0": "9455"}[version] // all run at a time
		groupPod(t, "198.18.250.213:"+port, tls.X25519MLKEM768)
		groupPod(t, "198.18.250.214:"+port, tls.X25519MLKEM768, tls.X25519)
		groupPod(t, "198.18.250.215:"+port, tls.X25519)
		b := newBed(t, version, newMemory())
		b.start()
		var s step
		if err := s.services([]string{
			"groups/hybrid https=" + port + " hybrid@198.18.250.213", "groups/both https=" + port + " both@198.18.250.214", "groups/older https=" + port + " older@198.18.250.215",
		}); err != nil {
			t.Fatal(err)
		}
		b.apply(s.change)
		for _, name := range []string{"hybrid", "both", "older"} {
			b.apply(objectsChange(t, pki().expand(t, fmt.Sprintf(`
kind: Route
metadata: {namespace: groups, name: %[1]s, annotations: {fairlead.dev/destination-server-name: any.test}}
spec: {host: %[1]s.groups.test, to: {kind: Service, name: %[1]s}, tls: {termination: reencrypt, insecureEdgeTerminationPolicy: Allow, destinationCACertificate: ${ca ca}}}
`, name))))
		}
		for name, want := range map[string]string{"hybrid": "X25519MLKEM768", "both": "X25519MLKEM768", "older": "X25519"} {
			b.eventually(name, func() error {
				r := b.get(name + ".groups.test")
				if got := fmt.Sprint(r.status, " ", r.header.Get("X-Group")); got != "200 "+want {
					return fmt.Errorf("%s, want 200 %s", got, want)
				}
				return nil
			})
		}
	})
}
