package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// routerService is what the operator makes of an IngressController on AWS.
const routerService = `apiVersion: v1
kind: Service
metadata: {name: router-default, namespace: openshift-ingress}
spec:
  type: LoadBalancer
  loadBalancerClass: fairlead.dev/aws-elb
  ports: [{name: http, port: 80}, {name: https, port: 443}]
`

// TestAWSPage runs the commands of docs/cloud/aws.md that need no account of
// AWS, word by word, in a shell: the policy, the installation, the annotations.
func TestAWSPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes an API server")
	}
	all := pages(t)
	page := all[slices.IndexFunc(all, func(p page) bool { return p.path == "docs/cloud/aws.md" })]
	api, err := cluster.StartAPIServer(t.Context(), t.TempDir())
	if err != nil {
		t.Skipf("no API server (run \"make tools\"): %v", err)
	}
	t.Cleanup(func() { _ = api.Stop() }) // its files go with the folder
	sh := shell(t, api)

	policy := filepath.Join(t.TempDir(), "policy.json")
	rights := page.indented(t, "test evaluates the policy against foreign resources.")
	command, _, _ := strings.Cut(rights, "\n")
	sh(root, strings.Replace(command, "policy.json", policy, 1))
	if text, err := os.ReadFile(policy); err != nil || !json.Valid(text) || !strings.Contains(string(text), "mycluster") {
		t.Errorf("the policy: %v\n%s", err, text)
	}

	clone := t.TempDir()
	if err := os.CopyFS(filepath.Join(clone, "config"), os.DirFS(filepath.Join(root, "config"))); err != nil {
		t.Fatal(err)
	}
	sh(clone, page.indented(t, "with the name of the cluster set in `config/cloud/aws/kustomization.yaml`:"))
	var d appsv1.Deployment
	read(t, api, &d, "deployment/ingress-operator")
	if args := d.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--cloud=aws") || !slices.Contains(args, "--cloud-cluster=YOURS") {
		t.Errorf("the operator's arguments: %q", args)
	}

	mustKubectl(t, api, routerService, "apply", "-f")
	sh(clone, page.indented(t, "[all of them](aws-annotations.md). Some examples:"))
	var service corev1.Service
	out := sh(clone, "kubectl -n openshift-ingress get service router-default -o json")
	if err := json.Unmarshal([]byte(out), &service); err != nil {
		t.Fatal(err)
	}
	settings, problems := stack.Read(service.Annotations)
	for _, p := range problems {
		t.Errorf("the page's annotations: %s", p)
	}
	if len(settings.Certificates) != 1 || len(settings.NodeLabels) != 1 || settings.TargetType != "ip" || len(settings.ListenerAttributes["TCP-443"]) != 1 {
		t.Errorf("the annotations mean %+v", settings)
	}
}

// shell returns what runs commands in a folder, with the kubectl of an API
// server, and returns what they print.
func shell(t *testing.T, api *cluster.APIServer) func(folder, commands string) string {
	t.Helper()
	kubectl, err := toolset.Path("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(kubectl, filepath.Join(bin, "kubectl")); err != nil {
		t.Fatal(err)
	}
	return func(folder, commands string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", commands)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+api.Kubeconfig(), "KUBECACHEDIR="+bin)
		var out, errors strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errors
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s\n%v: %s", commands, err, errors.String())
		}
		return out.String()
	}
}
