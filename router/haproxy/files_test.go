package haproxy_test

import (
	"net/netip"
	"os/exec"
	"strconv"
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
		b := &model.Backend{Kind: model.KindHTTP, Owner: model.Key{Namespace: "ns", Name: "r" + strconv.Itoa(i)}, Profile: p}
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
		st.Backends[b.Name()] = plan.WantBackend(b)
	}
	return st
}
