package cases

import (
	"crypto/tls"
	"fmt"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/test/wait"
)

// TestSettingsBoot: settings that HAProxy cannot start with do not keep routes
// from being served for long, and what they should protect stays closed.
func TestSettingsBoot(t *testing.T) {
	if testing.Short() {
		t.Skip("takes most of a minute")
	}
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.settingsRoutes(t)
		ic := &operatorv1.IngressController{}
		everySetting(&ic.Spec, 514)
		ic.Spec.Logging.Access.HttpLogFormat = "%[no_such_fetch]"
		ic.Spec.ClientTLS.ClientCertificatePolicy = operatorv1.ClientCertificatePolicyRequired
		b.flags.ClientCA = pki().ca(t, "clients").certPEM
		b.controller.Store(ic)
		b.startSupervisor()
		b.startEngine()
		wait.Poll{Limit: 2 * time.Minute}.For(t, "the router is ready", func() error { return wait.True(b.engine.Ready()) })
		b.expectLine("GET http://plain.set.test/ -> 200")
		b.eventually("TLS is refused", func() error {
			text, _, err := b.handshake(&tls.Config{MinVersion: tls.VersionTLS12})
			if err == nil {
				return fmt.Errorf("answered %.60q", text)
			}
			return nil
		})
		b.configure(func(*operatorv1.IngressControllerSpec) {})
		b.expectLine("GET https://edge.set.test/ -> 200")
	})
}
