package cases

import (
	"crypto/tls"
	"fmt"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
)

// TestSettingsHybridGroup: clients agree on the hybrid group X25519MLKEM768 with each version of
// HAProxy, if both offer it: without a setting, and where a profile names it. A profile without
// it refuses clients that have nothing else.
func TestSettingsHybridGroup(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"haproxy", "haproxy-3.2", "haproxy-3.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := settingsBed(t, version, func(b *bed) { b.controller.Store(&operatorv1.IngressController{}) })
			agrees := func(what string, offered []tls.CurveID, want tls.CurveID) {
				t.Helper()
				b.eventually(what, func() error {
					_, state, err := b.handshake(&tls.Config{MinVersion: tls.VersionTLS13, CurvePreferences: offered})
					if (err == nil) != (want != 0) || state.CurveID != want {
						return fmt.Errorf("group %v, %s", state.CurveID, fmt.Sprint(err))
					}
					return nil
				})
			}
			groups := func(names ...configv1.TLSGroup) {
				t.Helper()
				b.configure(func(s *operatorv1.IngressControllerSpec) {
					s.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{TLSProfileSpec: configv1.TLSProfileSpec{
						Ciphers: []string{"TLS_AES_128_GCM_SHA256"}, MinTLSVersion: configv1.VersionTLS13, Groups: names,
					}}}
				})
			}
			hybrid, old, both := []tls.CurveID{tls.X25519MLKEM768}, []tls.CurveID{tls.X25519}, []tls.CurveID{tls.X25519, tls.X25519MLKEM768}
			agrees("hybrid, without a profile", hybrid, tls.X25519MLKEM768)
			agrees("both, without a profile", both, tls.X25519MLKEM768)
			agrees("an older client", old, tls.X25519)
			groups(configv1.TLSGroupX25519)
			agrees("both, where the profile has X25519 alone", both, tls.X25519)
			agrees("hybrid, where the profile has X25519 alone", hybrid, 0)
			groups(configv1.TLSGroupX25519MLKEM768)
			agrees("both, where the profile has the hybrid group alone", both, tls.X25519MLKEM768)
			agrees("an older client, where the profile has the hybrid group alone", old, 0)
		})
	}
}
