package chart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/full"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/walk"
)

// changes are what a reader of the pages changes here.
func changes() []walk.Change {
	return []walk.Change{
		{From: "192.168.10.200-192.168.10.250", To: shared.AddressRange(), Why: "free addresses of the cluster's network"},
		{From: "nginxinc/nginx-unprivileged:stable", To: "fairlead.dev/demo:dev", Why: "the nodes reach no registry"},
	}
}

// TestWalk takes a stranger who has only README.md through each task. In make test, upgrading, going back and removing are left to
// TestHelm4, which does the same under load.
func TestWalk(t *testing.T) {
	b := newBed(t, "helm4")
	b.fresh()
	b.plugin()
	words := map[string]string{}
	for _, name := range []string{"install by the chart", "expose a pod with TLS", "see which node announces an address", "find why a Route answers 503"} {
		b.task(name, words)
	}
	b.announcer(words)
	b.faults(words)
	if !full.Wanted() {
		return
	}
	b.kubectl("label", "ingresscontroller/default", "-n", "openshift-ingress-operator", "of-the-user=kept")
	for _, name := range []string{"upgrade", "go back a version", "remove it", "come back"} {
		b.task(name, words)
		if name != "remove it" {
			b.again("expose a pod with TLS", "Check that it works", words)
		}
	}
	if got := b.kubectl("get", "ingresscontrollers", "-n", "openshift-ingress-operator", "-l", "of-the-user=kept", "-o", "name"); got == "" {
		b.t.Error("the copy of the IngressController did not come back")
	}
}

// task does what the pages say about a task, as often and as fast as it may be.
func (b *bed) task(name string, words map[string]string) {
	b.t.Helper()
	for _, task := range walk.Tasks() {
		if task.Name != name {
			continue
		}
		if b.before(name); b.t.Failed() {
			return
		}
		far, err := walk.Distance(root, "README.md", task.Page, 2)
		if err != nil {
			b.t.Fatal(err)
		}
		w := b.reader(task.Page, words)
		began := time.Now()
		for _, heading := range task.Steps {
			b.follow(w, heading)
		}
		took := time.Since(began)
		b.t.Logf("%s: %d commands, %.1f s; %s, %d links from README.md", name, w.Commands, took.Seconds(), task.Page, far)
		if took > task.Most || task.Commands > 0 && w.Commands > task.Commands {
			b.t.Errorf("%s: at most %v and %d commands (0: any number)", name, task.Most, task.Commands)
		}
		return
	}
	b.t.Fatalf("there is no task %q", name)
}

// again does what a page says below one heading once more.
func (b *bed) again(name, heading string, words map[string]string) {
	b.t.Helper()
	for _, task := range walk.Tasks() {
		if task.Name == name {
			b.until("what "+task.Page+" shows below "+heading, func() error {
				return b.reader(task.Page, words).Below(b.t.Context(), heading)
			})
		}
	}
}

// do runs the commands below a heading of the chart's page, with more arguments if there are any for its first two words.
func (b *bed) do(heading string, more map[string]string) {
	b.t.Helper()
	w := b.reader(walk.HelmPage, map[string]string{})
	for command, args := range more {
		w.Changes = append(w.Changes, walk.Change{From: command + " ", To: command + " " + args + " ", Why: "so that all pods are replaced"})
	}
	b.follow(w, heading)
}

func (b *bed) follow(w *walk.Walk, heading string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Minute)
	defer cancel()
	if err := w.Below(ctx, heading); err != nil {
		b.t.Fatal(err)
	}
}

// reader opens a page. The words that a reader has learnt stay from page to page.
func (b *bed) reader(path string, words map[string]string) *walk.Walk {
	b.t.Helper()
	p, err := walk.Read(root, path)
	if err != nil {
		b.t.Fatal(err)
	}
	return &walk.Walk{Page: p, Shell: b.terminal(), Dir: b.dir, Words: words, Changes: changes(), Log: b.t.Logf}
}

// terminal is a shell on the host of a client, with this version of Helm and kubectl in its PATH.
func (b *bed) terminal() *walk.Shell {
	b.t.Helper()
	if b.shell != nil {
		return b.shell
	}
	kubectl, err := toolset.Path("kubectl")
	if err != nil {
		b.t.Fatal(err)
	}
	bin := filepath.Join(b.dir, "bin")
	err = errors.Join(os.MkdirAll(bin, 0o755), os.Symlink(b.helm, filepath.Join(bin, "helm")), os.Symlink(kubectl, filepath.Join(bin, "kubectl")))
	if err != nil {
		b.t.Fatal(err)
	}
	cmd, err := shared.Command(context.WithoutCancel(b.t.Context()), "client", "bash")
	if err != nil {
		b.t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "HOME="+b.dir, "KUBECONFIG="+shared.Kubeconfig(), "PATH="+bin+":"+os.Getenv("PATH"))
	if b.shell, err = walk.Start(cmd, b.t.TempDir()); err != nil {
		b.t.Fatal(err)
	}
	if _, exit, err := b.shell.Run(b.t.Context(), "cd "+b.dir); err != nil || exit != 0 {
		b.t.Fatalf("go to the reader's folder: exit %d, %v", exit, err)
	}
	b.t.Cleanup(func() {
		if err := b.shell.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return b.shell
}

// plugin puts kubectl fairlead into the reader's PATH.
func (b *bed) plugin() {
	b.t.Helper()
	b.terminal()
	build := exec.CommandContext(b.t.Context(), "go", "build", "-o", filepath.Join(b.dir, "bin", "kubectl-fairlead"), "./cmd/kubectl-fairlead")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		b.t.Fatalf("build the plug-in: %v\n%s", err, out)
	}
}

// fresh removes what another test has installed, so that the cluster is as one that never had it but for objects of users.
func (b *bed) fresh() {
	b.t.Helper()
	if !b.there() {
		return
	}
	const operator, create = "openshift-ingress-operator", "fairlead.dev/create-default"
	b.kubectl("annotate", "--overwrite", "namespace", operator, create+"=false")
	b.kubectl("delete", "ingresscontrollers", "--all", "-n", operator)
	if out, err := b.run("uninstall", "fairlead", "-n", "fairlead"); err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
	b.kubectl("annotate", "namespace", operator, create+"-")
}

// there says whether the release is installed.
func (b *bed) there() bool {
	_, err := b.run("status", "fairlead", "-n", "fairlead")
	return err == nil
}

// answers asks for the reader's Route, as a client that trusts any certificate.
func (b *bed) answers(address, want string) {
	b.t.Helper()
	const host = "hello.apps.example.com"
	b.until("the Route answers "+want, func() error {
		code, err := shared.Exec(b.t.Context(), "client", "curl", "-sSk", "-m", "3", "-o", "/dev/null", "-w", "%{http_code}", "--resolve", host+":443:"+address, "https://"+host+"/")
		if err == nil && code != want {
			err = fmt.Errorf("it answers %s", code)
		}
		return err
	})
}

// announcer compares the node that the page finds with the one whose card a client has in its ARP table.
func (b *bed) announcer(words map[string]string) {
	b.t.Helper()
	card, err := shared.Neighbour("client", words["address"])
	if err != nil || card == "" {
		b.t.Fatalf("no card for %s: %v", words["address"], err)
	}
	link, err := shared.Exec(b.t.Context(), words["node"], "ip", "-o", "link", "show", "eth0")
	if err != nil || !strings.Contains(link, card) {
		b.t.Errorf("%s has the card %s, which is not one of node %s: %s, %v", words["address"], card, words["node"], link, err)
	}
}
