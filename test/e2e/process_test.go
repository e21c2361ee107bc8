package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

// privileges are what a process may do beyond its user, as the kernel tells.
type privileges struct {
	program                          string
	user, group                      string // real, effective, saved, file system
	permitted, effective, bounded    uint64
	ambient                          uint64
	seccomp, noNewPrivileges, rootRO bool
	filesRO                          bool // of HAProxy, what it starts from
}

const (
	capBind = 1 << 10
	capRaw  = 1 << 13
)

// TestProcesses looks at every process of every pod of ours, by what the kernel
// says of it: none is root, none holds a capability but those in
// docs/security-processes.md, all are confined by seccomp and cannot write to
// their image.
func TestProcesses(t *testing.T) {
	p := installed(t)
	var seen []string
	const agentUser = "65533 65533 65533 65533"
	agents := 0
	for _, namespace := range []string{"openshift-ingress-operator", "openshift-ingress", "openshift-ingress-canary", "metallb-system"} {
		for _, process := range processes(t, p, namespace) {
			if process.program == "pause" {
				continue // the sandbox is the runtime's
			}
			seen = append(seen, process.program)
			want := privileges{program: process.program, user: "65532 65532 65532 65532", group: "65532 65532 65532 65532", seccomp: true, noNewPrivileges: true, rootRO: true}
			want.filesRO = process.program == "haproxy"
			if process.user == agentUser {
				want.user, agents = agentUser, agents+1
			}
			if process.program == "speaker" {
				want.permitted, want.effective, want.bounded, want.noNewPrivileges = capRaw, capRaw, capRaw, false
			}
			if process != want {
				t.Errorf("in %s:\n got %+v\nwant %+v", namespace, process, want)
			}
		}
	}
	if agents < 3 { // a supervisor and two workers
		t.Errorf("%d processes of the policy agent", agents)
	}
	for _, program := range []string{"operator", "router", "haproxy", "speaker"} {
		if !strings.Contains(strings.Join(seen, " "), program) {
			t.Errorf("no process of %s among %q", program, seen)
		}
	}
}

// TestHostNetwork serves on port 80 of a node by a user other than root. The
// namespace refuses the pod until it is labelled, and the IngressController says
// so.
func TestHostNetwork(t *testing.T) {
	p := installed(t)
	label := func(level string) {
		t.Helper()
		if _, err := p.Kubectl(t.Context(), "label", "namespace", "openshift-ingress", "--overwrite", "pod-security.kubernetes.io/enforce="+level); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, args := range [][]string{
			{"-n", "openshift-ingress-operator", "delete", "ic/host", "--timeout=90s"},
			{"label", "namespace", "openshift-ingress", "--overwrite", "pod-security.kubernetes.io/enforce=restricted"},
		} {
			if out, err := p.Cluster.KubectlCommand(context.WithoutCancel(t.Context()), args...).CombinedOutput(); err != nil {
				t.Logf("clean up: %v: %s", err, out)
			}
		}
	})
	apply(t, p, `apiVersion: operator.openshift.io/v1
kind: IngressController
metadata: {name: host, namespace: openshift-ingress-operator}
spec: {domain: host.example.com, replicas: 1, endpointPublishingStrategy: {type: HostNetwork}}
`)
	const message = `jsonpath={.status.conditions[?(@.type=="DeploymentAvailable")].message}`
	says := func(want string) {
		t.Helper()
		err := wait.Poll{Limit: 60 * time.Second, Every: wait.Slowly}.Until(t.Context(), "the condition names the remedy", func() error {
			text, err := p.Kubectl(t.Context(), "-n", "openshift-ingress-operator", "get", "ic/host", "-o", message)
			if err == nil && !strings.Contains(text, want) {
				err = fmt.Errorf("DeploymentAvailable says %q, want %q", text, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	says(`label it pod-security.kubernetes.io/enforce=privileged`)
	label("privileged")
	// The ReplicaSet's own back-off may be minutes by now.
	if _, err := p.Kubectl(t.Context(), "-n", "openshift-ingress", "delete", "replicaset", "-l", "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=host"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Kubectl(t.Context(), "-n", "openshift-ingress-operator", "wait", "--for=condition=DeploymentAvailable", "ic/host", "--timeout=120s"); err != nil {
		t.Fatal(err)
	}
	node, err := p.Kubectl(t.Context(), "-n", "openshift-ingress", "get", "pods", "-l",
		"ingresscontroller.operator.openshift.io/deployment-ingresscontroller=host", "-o", "jsonpath={.items[0].status.hostIP}")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DialContext: p.Cluster.Dial("client"), DisableKeepAlives: true}}
	err = wait.Poll{Limit: 30 * time.Second, Every: wait.Slowly}.Until(t.Context(), "the node answers", func() error { return request(t.Context(), client, "http://"+node+"/text", plainHost) })
	if err != nil {
		t.Error(err)
	}
	found := false
	for _, process := range processes(t, p, "openshift-ingress") {
		if process.program == "haproxy" && process.effective == capBind {
			found = true
			if process.user != "65532 65532 65532 65532" || process.bounded != capBind || !process.seccomp {
				t.Errorf("HAProxy on the network of the node: %+v", process)
			}
		}
	}
	if !found {
		t.Error("no HAProxy that holds NET_BIND_SERVICE")
	}
}

// processes finds the processes of a namespace's pods by their control groups.
func processes(t *testing.T, p *install.Product, namespace string) []privileges {
	t.Helper()
	uids, err := p.Kubectl(t.Context(), "-n", namespace, "get", "pods", "-o", "jsonpath={.items[*].metadata.uid}")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	var list []privileges
	for _, file := range groups {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		for uid := range strings.FieldsSeq(uids) {
			if strings.Contains(string(text), "pod"+uid) {
				if process, ok := look(t, filepath.Dir(file)); ok {
					list = append(list, process)
				}
				break
			}
		}
	}
	return list
}

// look reads what the kernel says of a process; it may have ended.
func look(t *testing.T, dir string) (privileges, bool) {
	t.Helper()
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return privileges{}, false
	}
	mounts, err := os.ReadFile(filepath.Join(dir, "mountinfo"))
	if err != nil {
		return privileges{}, false
	}
	got := privileges{}
	sets := map[string]*uint64{"CapPrm": &got.permitted, "CapEff": &got.effective, "CapBnd": &got.bounded, "CapAmb": &got.ambient}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.Join(strings.Fields(value), " ")
		switch name {
		case "Name":
			got.program = value
		case "Uid":
			got.user = value
		case "Gid":
			got.group = value
		case "Seccomp":
			got.seccomp = value == "2" // a filter
		case "NoNewPrivs":
			got.noNewPrivileges = value == "1"
		}
		if set := sets[name]; set != nil {
			if *set, err = strconv.ParseUint(value, 16, 64); err != nil {
				t.Fatalf("%s of %s: %v", name, dir, err)
			}
		}
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) > 5 && fields[4] == "/" {
			got.rootRO = strings.Contains(","+fields[5]+",", ",ro,")
		}
		if len(fields) > 5 && fields[4] == "/var/lib/haproxy" && got.program == "haproxy" {
			got.filesRO = strings.Contains(","+fields[5]+",", ",ro,")
		}
	}
	return got, got.program != ""
}
