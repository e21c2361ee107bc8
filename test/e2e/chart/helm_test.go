package chart

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
	"github.com/fairlead/fairlead/test/walk"
)

const (
	root      = "../../.."
	routeHost = "chart.apps.example.com"
)

// bed is the cluster with the charts of two versions, and a version of Helm.
type bed struct {
	t     *testing.T
	helm  string
	dir   string      // has fairlead-VERSION.tgz; the reader of the pages is there
	shell *walk.Shell // the reader's, once there is one
}

// newBed makes the charts as a release does.
func newBed(t *testing.T, program string) *bed {
	t.Helper()
	if shared == nil {
		t.Skip(skipped)
	}
	helm, err := toolset.Path(program)
	if err != nil {
		t.Skip(err)
	}
	b := &bed{t: t, helm: helm, dir: t.TempDir()}
	for _, version := range []string{first, second} {
		folder := filepath.Join(b.dir, "fairlead")
		cmd := exec.CommandContext(t.Context(), "go", "run", "./config/generate/chart", "-version", version, folder)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make the chart: %v: %s", err, out)
		}
		if out, err := b.run("package", folder, "--destination", b.dir); err != nil {
			t.Fatalf("pack the chart: %v: %s", err, out)
		}
	}
	return b
}

// run runs Helm as a user of the cluster does.
func (b *bed) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), 4*time.Minute)
	defer cancel()
	for i, arg := range args {
		if strings.HasSuffix(arg, ".tgz") {
			args[i] = filepath.Join(b.dir, arg)
		}
	}
	cmd, err := shared.Command(ctx, "cp", append([]string{b.helm}, args...)...)
	if err != nil {
		return "", err
	}
	cmd.Env = append(os.Environ(), "KUBECONFIG="+shared.Kubeconfig(), "HELM_CACHE_HOME="+b.dir, "HELM_CONFIG_HOME="+b.dir, "HELM_DATA_HOME="+b.dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (b *bed) kubectl(args ...string) string {
	b.t.Helper()
	out, err := shared.Kubectl(b.t.Context(), args...)
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (b *bed) apply(yaml string) {
	b.t.Helper()
	b.until("the objects are accepted", func() error {
		cmd := shared.KubectlCommand(b.t.Context(), "apply", "-f", "-")
		cmd.Stdin = strings.NewReader(yaml)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

func (b *bed) until(what string, check func() error) {
	b.t.Helper()
	if err := (wait.Poll{Limit: 2 * time.Minute, Every: wait.Slowly}).Until(b.t.Context(), what, check); err != nil {
		b.t.Fatal(err)
	}
}

// complete waits until all pods of Fairlead are of a version, and ready.
func (b *bed) complete(version string) {
	b.t.Helper()
	for _, o := range []struct{ namespace, object, program string }{
		{"openshift-ingress-operator", "deployment/ingress-operator", "operator"},
		{"metallb-system", "daemonset/speaker", "speaker"},
		{"openshift-ingress", "deployment/router-default", "router"},
	} {
		want := "fairlead.dev/" + o.program + ":" + version
		b.until(o.object+" names "+want, func() error {
			got, err := shared.Kubectl(b.t.Context(), "-n", o.namespace, "get", o.object, "-o", "jsonpath={.spec.template.spec.containers[0].image}")
			if err == nil && got != want {
				err = fmt.Errorf("the image is %s", got)
			}
			return err
		})
		b.kubectl("-n", o.namespace, "rollout", "status", o.object, "--timeout=180s")
	}
}

// address is that of the router's Service, once it has one.
func (b *bed) address() (ip string) {
	b.t.Helper()
	b.until("the router's address", func() error {
		var err error
		ip, err = shared.Kubectl(b.t.Context(), "-n", "openshift-ingress", "get", "service", "router-default", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if err == nil && ip == "" {
			err = fmt.Errorf("the Service has no address")
		}
		return err
	})
	return ip
}

// served waits until the Route is served at the address.
func (b *bed) served(address string) {
	b.t.Helper()
	b.until("the Route is served", func() error {
		code, err := shared.Exec(b.t.Context(), "client", "curl", "-sS", "-m", "3", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: "+routeHost, "http://"+address+"/text")
		if err == nil && code != "200" {
			err = fmt.Errorf("the router answers %s", code)
		}
		return err
	})
}

// objects are what users write, beside the addresses of the page: pods and a Route.
const objects = `apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: app, image: "fairlead.dev/demo:dev", imagePullPolicy: IfNotPresent, readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}}
---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: default}
spec:
  selector: {app: app}
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: app, namespace: default}
spec:
  host: ` + routeHost + `
  port: {targetPort: http}
  to: {kind: Service, name: app}
`

// observe lets a time pass in which the load goes on.
func observe(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}
