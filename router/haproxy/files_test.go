package haproxy_test

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// TestFilesCheck asks each HAProxy whether it would start from the files, with
// every profile and every kind of server in use.
func TestFilesCheck(t *testing.T) {
	t.Parallel()
	for _, bin := range []string{"haproxy", "haproxy-3.0"} {
		t.Run(bin, func(t *testing.T) {
			t.Parallel()
			path, err := toolset.Path(bin)
			if err != nil {
				t.Skip(err)
			}
			caps, version, err := haproxy.Detect(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			layout := render.Layout{Dir: t.TempDir()}
			base, err := render.Skeleton(render.Settings{HTTPPort: 8080, HTTPSPort: 8443, MaxConn: 100, IPv6: true}, layout, caps)
			if err != nil {
				t.Fatal(err)
			}
			files, err := haproxy.NewFiles(layout, caps)
			if err != nil {
				t.Fatal(err)
			}
			if err := files.Write(base, everything(t)); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), path, "-c", "-f", layout.Config()).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", version, err, out)
			}
		})
	}
}

// TestCertificatesOfBefore: what stands where a certificate should is used only
// if it is that certificate.
func TestCertificatesOfBefore(t *testing.T) {
	t.Parallel()
	layout := render.Layout{Dir: t.TempDir()}
	caps := plan.Capabilities{DynamicBackends: true, MaxPayload: 1 << 20}
	base, err := render.Skeleton(render.Settings{HTTPPort: 8080, HTTPSPort: 8443}, layout, caps)
	if err != nil {
		t.Fatal(err)
	}
	st := everything(t)
	for id, pem := range st.Certs {
		path := layout.CertFile(id)
		for name, leave := range map[string]func() error{
			"nothing":      func() error { return nil },
			"another text": func() error { return os.WriteFile(path, []byte("x"), 0o600) },
			"a forged one": func() error { return os.WriteFile(path, []byte(strings.Replace(pem, "A", "B", 1)), 0o600) },
			"a link":       func() error { return os.Symlink("/etc/passwd", path) },
			"the same":     func() error { return os.WriteFile(path, []byte(pem), 0o600) },
			"other things": func() error { return os.MkdirAll(layout.CertsDir()+"/folder/in/folder", 0o700) },
		} {
			_ = os.RemoveAll(path)
			files, err := haproxy.NewFiles(layout, caps)
			if err := errors.Join(err, leave(), files.Write(base, st)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if have, err := os.ReadFile(path); err != nil || string(have) != pem {
				t.Errorf("%s: %q stays, %v", name, have, err)
			}
		}
	}
	left, err := os.ReadDir(layout.CertsDir())
	if err != nil || len(left) != len(st.Certs)+len(st.CAs) {
		t.Errorf("%v, %v", left, err)
	}
}

// everything is a state with all profiles and server options.
func everything(t testing.TB) *plan.State {
	t.Helper()
	cert, err := certfile.SelfSigned("apps.test")
	if err != nil {
		t.Fatal(err)
	}
	st := plan.NewState()
	st.Certs[cert.ID], st.Lines["*"] = cert.PEM, cert.ID
	st.CAs["ns:ca:1"] = cert.PEM // the blocks that are not certificates do not count
	addr := netip.MustParseAddrPort("198.18.9.1:80")
	for i, p := range model.Profiles() {
		b := &model.Backend{Kind: model.KindHTTP, Owner: model.Object{Kind: "Route", Namespace: "ns", Name: "r" + strconv.Itoa(i)}, Profile: p}
		for _, o := range []model.ServerOptions{
			{},
			{CheckInterval: "5000ms"},
			{TLS: true},
			{TLS: true, CAID: "ns:ca:1", CheckInterval: "1000ms"},
			{TLS: true, CAID: "ns:ca:1", VerifyHost: "svc.ns.svc", CheckInterval: "1000ms"},
		} {
			if p.Cookie {
				o.Cookie = "abc"
			}
			b.Servers = append(b.Servers, model.Server{ID: "ept:x", Address: addr, Weight: 1, MaxConn: 5, Options: o})
		}
		if !p.TCP {
			b.Servers = append(b.Servers, model.Server{ID: "ept:y", Address: addr, Weight: 256, Options: model.ServerOptions{H2C: true}})
		}
		st.Backends[b.Name()] = plan.WantBackend(b, func(*model.Server, model.ProbeTarget) bool { return false })
	}
	return st
}
