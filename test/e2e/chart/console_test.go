package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fairlead/fairlead/test/image/archive"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// console turns the console on, which serves its log-in at a host of the routers, and keeps the certificate that Helm has made.
func (b *bed) console(address string) {
	b.t.Helper()
	builder, err := toolset.New(os.Stderr)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := archive.Build(b.t.Context(), builder, "console"); err != nil {
		b.t.Fatal(err)
	}
	if err := shared.Load(b.t.Context(), filepath.Join(builder.Dir(), "images", "console.tar")); err != nil {
		b.t.Fatal(err)
	}
	certificate := func() string {
		return b.kubectl("-n", "fairlead-console", "get", "secret", "fairlead-console-tls", "-o", `jsonpath={.data.tls\.crt}`)
	}
	with := func(values string) {
		b.t.Helper()
		if out, err := b.run("upgrade", "fairlead", "fairlead-0.2.0.tgz", "-n", "fairlead", "--reuse-values", "--set", values); err != nil {
			b.t.Fatalf("%v: %s", err, out)
		}
	}
	with("console.enabled=true,image.tag=dev")
	made := certificate()
	const host = "console.apps.example.com"
	b.until("the log-in of the console", func() error {
		out, err := shared.Exec(b.t.Context(), "client", "curl", "-sSk", "-m", "3", "-L", "--resolve", host+":443:"+address, "https://"+host+"/")
		if err == nil && !strings.Contains(out, "Log in to Fairlead") {
			err = fmt.Errorf("the answer is %.200s", out)
		}
		return err
	})
	with("operator.replicas=2")
	if now := certificate(); now != made || made == "" {
		b.t.Error("an upgrade has made another certificate")
	}
	with("console.enabled=false")
	b.until("the console to end", func() error {
		left, err := shared.Kubectl(b.t.Context(), "-n", "fairlead-console", "get", "deployments,ingresses,secrets", "-o", "name")
		if err == nil && strings.Contains(left, "fairlead-console") {
			err = fmt.Errorf("there is %s", left)
		}
		return err
	})
}
