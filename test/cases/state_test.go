package cases

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// lastGoodState is where a bed's router keeps the last good versions.
func (b *bed) lastGoodState() string { return filepath.Join(b.layout.StateDir(), "lastgood.json") }

// TestState: the last good version of a route outlives the router's process. If
// what keeps it has been changed by another program, the route is not served,
// and all others are.
func TestState(t *testing.T) {
	t.Parallel()
	route := func(host, timeout string) string {
		return fmt.Sprintf(`
kind: Route
metadata: {namespace: f, name: kept, annotations: {haproxy.router.openshift.io/timeout: 1s}}
spec: {host: %s, port: {targetPort: %s}, to: {kind: Service, name: web}, tls: {termination: edge, certificate: %q, key: %q}}
`, host, timeout, pki().leaf(t, "kept").certPEM, pki().leaf(t, "kept").keyPEM)
	}
	for name, spoil := range map[string]struct {
		change func(path string) error
		lost   bool
	}{
		"as it was": {func(string) error { return nil }, false},
		"another host": {func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "kept.f.test", "plain.f.test")), 0o600))
		}, true},
		"cut off":  {func(path string) error { return os.Truncate(path, 200) }, true},
		"too long": {func(path string) error { return os.Truncate(path, 1<<30) }, true},
		"a link":   {func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/dev/zero", path)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, k := sampleBed(t, "haproxy")
			good := objectsChange(t, route("kept.f.test", "http"))
			b.apply(good)
			k.apply(good)
			bad := strings.Replace(route("kept.f.test", "http"), "BEGIN PRIVATE KEY", "BEGIN NOTHING", 1)
			b.apply(objectsChange(t, strings.Replace(bad, "END PRIVATE KEY", "END NOTHING", 1)))
			st, _ := b.statusOf(parseObject("Route", "f/kept"))
			if st.Admitted || st.Reason != api.ReasonExtendedValidationFailed {
				t.Fatalf("status %+v", st)
			}
			served := append([]string{"GET https://kept.f.test/ -> 200 pod=a|b cert=kept"}, sampleRequests...)
			b.serves(k, served)
			b.eventually("the last good version is kept", func() error { _, err := os.Stat(b.lastGoodState()); return err })
			b.stopEngine()
			if err := spoil.change(b.lastGoodState()); err != nil {
				t.Fatal(err)
			}
			b.startEngine()
			b.waitReady()
			if spoil.lost {
				served[0] = "GET https://kept.f.test/ -> 404 cert=default"
				k.apply(change{del: []model.Object{parseObject("Route", "f/kept")}})
			}
			b.serves(k, served)
			if n := b.count("fairlead_router_state_discarded_total"); n != map[bool]int{true: 1}[spoil.lost] {
				t.Errorf("%d files discarded", n)
			}
		})
	}
}
