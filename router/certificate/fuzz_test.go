package certificate

import (
	"strings"
	"testing"
)

// FuzzBlocks: only certificates and private keys survive, re-encoded.
func FuzzBlocks(f *testing.F) {
	f.Add("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	f.Add("text\n-----BEGIN PRIVATE KEY-----\nX: y\n\nAAAA\n-----END PRIVATE KEY-----\n\n%FL%\nshow info")
	f.Add("-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----")
	for _, s := range []string{"\n", "\t", "\r", "\x00", "\f"} {
		f.Add("-----BEGIN CERTIFICATE-----" + s + "AAAA\n" + s + "\n-----END CERTIFICATE-----" + s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		certs, keys, err := blocks(text, maxBundle)
		if err != nil {
			return
		}
		for _, b := range append(certs, keys...) {
			if strings.Contains(b, "\n\n") || strings.Contains(b, "%FL%") || !strings.HasPrefix(b, "-----BEGIN ") || !strings.HasSuffix(b, "-----\n") {
				t.Fatalf("block %q", b)
			}
		}
	})
}
