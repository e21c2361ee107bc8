package certfile

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAuthority: the leaf is good for the hosts of the domain by the authority's file, is
// used again, and made again for another domain or when it is about to expire; only its
// user can read the files.
func TestAuthority(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	first, err := Authority(dir, "apps.localhost", now)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, AuthorityFile))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, leafFile), filepath.Join(dir, leafFile))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "x.apps.localhost"}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{AuthorityFile, authorityKeyFile, leafFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
	for _, test := range []struct {
		domain string
		now    time.Time
		same   bool
		name   string
	}{
		{"apps.localhost", now, true, "again"},
		{"apps.localhost", now.Add(lifetime - renewBefore - time.Hour), true, "before its end"},
		{"other.localhost", now, false, "another domain"},
		{"apps.localhost", now.Add(lifetime - time.Hour), false, "at its end"},
	} {
		cert, err := Authority(dir, test.domain, test.now)
		if err != nil || (cert.ID == first.ID) != test.same {
			t.Errorf("%s: the same certificate %v, want %v: %v", test.name, cert.ID == first.ID, test.same, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, leafFile), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Authority(dir, "apps.localhost", now); err != nil {
		t.Errorf("a broken file is not replaced: %v", err)
	}
}
