package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// complete returns what a shell is offered for a command line, as kubectl asks
// for it: through the link's name.
func complete(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	c := &command{in: strings.NewReader(""), out: &out, err: new(bytes.Buffer), now: testNow}
	if code := c.run(t.Context(), arguments(append([]string{"/usr/bin/" + completer}, args...))); code != exitGood {
		t.Errorf("%v: exit code %d", args, code)
	}
	return out.String()
}

// apiServer serves the metadata of named objects by path, and returns a kubeconfig
// that leads there.
func apiServer(t *testing.T, names map[string][]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
		found, ok := names[r.URL.Path]
		if !ok || r.URL.Query().Get("limit") == "" {
			http.NotFound(w, r)
			return
		}
		for _, name := range found {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return kubeconfigFor(t, server.URL)
}

func kubeconfigFor(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: here,
clusters: [{name: c, cluster: {server: %q}}],
contexts: [{name: here, context: {cluster: c, namespace: web}}, {name: there, context: {cluster: c}}]}`, url)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	config := apiServer(t, map[string][]string{
		"/apis/route.openshift.io/v1/namespaces/web/routes":                                       {"cart", "shop"},
		"/api/v1/namespaces/other/services":                                                       {"db"},
		"/apis/operator.openshift.io/v1/namespaces/openshift-ingress-operator/ingresscontrollers": {"default", "internal"},
		"/api/v1/namespaces": {"web", "other"},
	})
	const noFile, noSpaceNoFile = "\n:4\n", "\n:6\n"
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"kinds":       {[]string{"why", ""}, "gateway/\ngrpcroute/\nhttproute/\ningress/\nlistenerset/\nroute/\nservice/\ntcproute/\ntlsroute/\nudproute/" + noSpaceNoFile},
		"routes":      {[]string{"why", "--kubeconfig", config, "route/"}, "route/cart\nroute/shop" + noFile},
		"services":    {[]string{"why", "--kubeconfig", config, "-n", "other", "service/"}, "service/db" + noFile},
		"no right":    {[]string{"why", "--kubeconfig", config, "ingress/"}, ":4\n"},
		"one object":  {[]string{"why", "--kubeconfig", config, "route/shop", ""}, ":4\n"},
		"manifests":   {[]string{"why", "-f", "shop.yaml", "route/"}, ":4\n"},
		"routers":     {[]string{"lint", "--kubeconfig", config, "--router", ""}, "default\ninternal" + noFile},
		"namespaces":  {[]string{"lint", "--kubeconfig", config, "-n", ""}, "web\nother" + noFile},
		"contexts":    {[]string{"lb", "--kubeconfig", config, "--context", ""}, "here\nthere" + noFile},
		"output":      {[]string{"lint", "-o", ""}, "text\njson" + noFile},
		"versions":    {[]string{"render", "--haproxy", ""}, "3.0\n3.2\n3.4" + noFile},
		"no config":   {[]string{"why", "--kubeconfig", "/nowhere", "route/"}, ":4\n"},
		"no URL":      {[]string{"explain", ""}, ":4\n"},
		"files":       {[]string{"lint", "-f", ""}, ":0\n"},
		"subcommands": {[]string{"l"}, "lb\tWhich node announces an address, since when, and which would be next\nlint\tWhat is wrong with manifests; for CI" + noFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, complete(t, tt.args...)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestCompletionIsQuick: a cluster that does not answer costs a user two seconds,
// not the time until a connection fails.
func TestCompletionIsQuick(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ctx.Done():
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	start := time.Now()
	if got := complete(t, "why", "--kubeconfig", kubeconfigFor(t, server.URL), "route/"); got != ":4\n" {
		t.Errorf("offered %q", got)
	}
	if took := time.Since(start); took > 10*completionTime {
		t.Errorf("it took %v", took)
	}
}

// TestCompletionScripts: what the shells read is what cobra writes, unharmed by
// the filter for terminals, and where a shell is here, it can read it.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		var out, raw bytes.Buffer
		c := &command{in: strings.NewReader(""), out: &out, err: &out, now: testNow}
		if code := c.run(t.Context(), []string{"completion", shell}); code != exitGood {
			t.Fatalf("%s: exit code %d: %s", shell, code, out.String())
		}
		root := c.root()
		root.SetArgs([]string{"completion", shell})
		root.SetOut(&raw)
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "__complete") || out.String() != raw.String() {
			t.Errorf("%s: the script was changed:\n%s", shell, cmp.Diff(raw.String(), out.String()))
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		check := exec.CommandContext(t.Context(), path, "-n")
		check.Stdin = &out
		if text, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s does not read its script: %v\n%s", shell, err, text)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ process, want []string }{
		"by name":        {[]string{"kubectl-fairlead", "lint", "-f", "-"}, []string{"lint", "-f", "-"}},
		"by path":        {[]string{"/usr/bin/kubectl-fairlead"}, []string{}},
		"for completion": {[]string{"/usr/bin/kubectl_complete-fairlead", "lint", ""}, []string{"__complete", "lint", ""}},
		"on Windows":     {[]string{"kubectl_complete-fairlead.exe", "l"}, []string{"__complete", "l"}},
	} {
		if d := cmp.Diff(tt.want, arguments(tt.process)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
