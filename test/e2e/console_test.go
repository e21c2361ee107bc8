package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/image/archive"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

// consoleBlocks are the commands of docs/console.md, "In the cluster": of the installation, and of
// a token.
func consoleBlocks(t *testing.T) (install, token string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## In the cluster\n")
	blocks := strings.Split(text, "```")
	if len(blocks) < 4 {
		t.Fatal("docs/console.md has no commands")
	}
	return strings.TrimPrefix(blocks[1], "sh\n"), strings.TrimPrefix(blocks[3], "sh\n")
}

// consoleShell runs commands on the host client, as a user who types them there.
func consoleShell(ctx context.Context, t *testing.T, script string) (string, error) {
	t.Helper()
	kubectl, err := toolset.Path("kubectl")
	if err != nil {
		t.Skip(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(shared.Scratch, "console")
	cmd, err := shared.Cluster.Command(ctx, "client", "bash", "-ec", "cd "+dir+"\n"+script)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "config"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "config/console"), os.DirFS(filepath.Join(root, "config/console"))); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "KUBECONFIG="+shared.Cluster.Kubeconfig(), "PATH="+filepath.Dir(kubectl)+":"+os.Getenv("PATH"))
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, errs.String())
	}
	return string(out), nil
}

// TestConsole types the commands of docs/console.md: the console serves behind its Route, whose router
// verifies the pod, and a token of an account of a namespace shows the Routes of that namespace only.
func TestConsole(t *testing.T) {
	p := installed(t)
	b, err := toolset.New(os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Build(t.Context(), b, "console"); err != nil {
		t.Fatal(err)
	}
	if err := p.Cluster.Load(t.Context(), filepath.Join(b.Dir(), "images", "console.tar")); err != nil {
		t.Fatal(err)
	}
	install, token := consoleBlocks(t)
	t.Cleanup(func() {
		_, _ = p.Cluster.Kubectl(context.Background(), "delete", "-k", "../../config/console", "--wait=false")
		_, _ = p.Cluster.Kubectl(context.Background(), "delete", "namespace", "web", "--wait=false")
	})
	out, err := consoleShell(t.Context(), t, install)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	host := strings.TrimSuffix(strings.TrimPrefix(lines[len(lines)-1], "https://"), "/")
	if !strings.HasSuffix(host, ".apps.example.com") {
		t.Fatalf("the last line is %q", lines[len(lines)-1])
	}
	curl := fmt.Sprintf("curl -sk --max-time 10 --resolve %s:443:%s ", host, p.Address)
	err = wait.Poll{Limit: 2 * time.Minute, Every: time.Second}.Until(t.Context(), "the log-in of the console", func() error {
		out, err := consoleShell(t.Context(), t, curl+"-L https://"+host+"/")
		if err == nil && !strings.Contains(out, "Log in to Fairlead") {
			err = fmt.Errorf("the answer is %.200s", out)
		}
		return err
	})
	if err != nil {
		pod, _ := p.Cluster.Kubectl(t.Context(), "-n", "fairlead-console", "describe", "pods")
		t.Fatalf("%v\n%s", err, pod)
	}
	out, err = consoleShell(t.Context(), t, "kubectl create namespace web >/dev/null\nkubectl -n web apply -f - >/dev/null <<E\n"+webRouteYAML+"E\n"+token)
	if err != nil {
		t.Fatal(err)
	}
	lines = strings.Split(strings.TrimSpace(out), "\n")
	own, err := consoleShell(t.Context(), t, curl+fmt.Sprintf("-c jar -o /dev/null -w '%%{http_code} ' -H 'Origin: https://%[1]s' --data-urlencode token=%[2]s https://%[1]s/login\n", host, lines[len(lines)-1])+
		curl+"-b jar https://"+host+"/routes.csv")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(own, "303 ") || !strings.Contains(own, "console-shop") || strings.Contains(own, "plain.apps.example.com") || strings.Contains(own, "fairlead-console") {
		t.Errorf("the user sees %s", own)
	}
	logs, err := p.Cluster.Kubectl(t.Context(), "-n", "fairlead-console", "logs", "deployment/fairlead-console")
	if err != nil || !strings.Contains(logs, "system:serviceaccount:web:viewer") || strings.Contains(logs, `"from":"10.`) || strings.Contains(logs, "eyJ") {
		t.Errorf("the log: %v\n%s", err, logs)
	}
}

const webRouteYAML = `apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: console-shop}
spec: {host: console-shop.apps.example.com, to: {kind: Service, name: shop}}
`
