package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/check/bundle"
)

// shopServer is an API server with a Route that has a key, a Secret, and pods whose names no API
// server would take; it refuses what is not in answers.
func shopServer(t *testing.T, hush string) string {
	t.Helper()
	list := func(version, kind, items string) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{},"items":[%s]}`, version, kind, items)
	}
	answers := map[string]string{
		"/version": `{"gitVersion": "v1.36.3"}`,
		"/apis/route.openshift.io/v1/routes": list("route.openshift.io/v1", "RouteList", `{"apiVersion":"route.openshift.io/v1","kind":"Route","metadata":{"name":"shop","namespace":"acme"},
"spec":{"host":"www.acme.example","tls":{"termination":"edge","key":"`+hush+`"}}}`),
		"/api/v1/secrets": list("v1", "SecretList", `{"metadata":{"name":"s"},"data":{"x":"`+hush+`"}}`),
		"/api/v1/namespaces/openshift-ingress/pods": list("v1", "PodList", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"../../../etc","namespace":"openshift-ingress"},
"spec":{"containers":[{"name":"a\u001b[2Jb"},{"name":"logs"}]},"status":{"containerStatuses":[{"name":"a\u001b[2Jb","restartCount":1}]}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"..\\e\u001b[31m","namespace":"openshift-ingress"},
"spec":{"containers":[{"name":"a\u001b[2Jb"},{"name":"logs"}]},"status":{"containerStatuses":[{"name":"a\u001b[2Jb","restartCount":1}]}}`),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path]
		switch {
		case strings.Contains(r.URL.Path, "secrets"), strings.Contains(r.URL.Path, "configmaps"):
			t.Errorf("%s was read", r.URL.Path)
		case ok:
			_, _ = io.WriteString(w, answer)
		case strings.HasSuffix(r.URL.Path, "/log"):
			_, _ = io.WriteString(w, "2026 route acme/shop password="+hush+"\n")
		default:
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no\u001b[2J"}`)
		}
	}))
	t.Cleanup(server.Close)
	return kubeconfigFor(t, server.URL)
}

// unpacked are the files of an archive.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		files[name] = string(text)
	}
}

// TestCollect: the archive is for its owner only, lists what could not be read, has no key
// and no password, and nothing leaves its folder.
func TestCollect(t *testing.T) {
	const hush = "HUSHhushHUSH"
	for name, want := range map[string][]string{
		"": {
			"collect.json", "logs/openshift-ingress/%2E.%5Ce%1B%5B31m/a%1B%5B2Jb.log", "logs/openshift-ingress/%2E.%5Ce%1B%5B31m/a%1B%5B2Jb.previous.log",
			"objects/acme/routes.route.openshift.io.yaml", "objects/openshift-ingress/pods.yaml", "preflight.json", "preflight.txt", "status.json", "status.txt",
		},
		"--anonymise": {
			"collect.json", "logs/openshift-ingress/%2E.%5Ce%1B%5B31m/a%1B%5B2Jb.log", "logs/openshift-ingress/%2E.%5Ce%1B%5B31m/a%1B%5B2Jb.previous.log",
			"objects/namespace-1/routes.route.openshift.io.yaml", "objects/openshift-ingress/pods.yaml", "preflight.json", "preflight.txt", "status.json", "status.txt",
		},
	} {
		t.Run("collect "+name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.tar.gz")
			args := []string{"collect", "--kubeconfig", shopServer(t, hush), "--out", path, "-o", "json"}
			if name != "" {
				args = append(args, name)
			}
			var out, errs bytes.Buffer
			c := &command{in: strings.NewReader(""), out: &out, err: &errs, now: testNow}
			if code := c.run(t.Context(), args); code != exitBad {
				t.Fatalf("exit code %d: %s", code, errs.String())
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode() != 0o600 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			files := unpacked(t, path)
			var listing []string
			for file, text := range files {
				listing = append(listing, file)
				if strings.Contains(text, hush) || name != "" && strings.Contains(text, "acme") {
					t.Errorf("%s: %s", file, text)
				}
			}
			slices.Sort(listing)
			if d := cmp.Diff(want, listing); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			var s bundle.Summary
			if err := json.Unmarshal(out.Bytes(), &s); err != nil || s.File != path || s.Files != len(files) || len(s.Unread) < 20 {
				t.Errorf("%v: %+v", err, s)
			}
			if !slices.ContainsFunc(s.Unread, func(s string) bool { return strings.Contains(s, "of pod openshift-ingress/../../../etc: ") }) {
				t.Errorf("%q", s.Unread)
			}
			if !strings.Contains(errs.String(), "not read: services of all namespaces, but those of namespace web: you have no right to") || strings.Contains(errs.String(), "\x1b") || !strings.Contains(files["collect.json"], "services of all namespaces") {
				t.Error(errs.String())
			}
		})
	}
}

// TestCollectInTime: a cluster that hangs costs a user the time that was given, and leaves an
// archive that says so.
func TestCollectInTime(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"gitVersion": "v1.36.3"}`)
			return
		}
		select {
		case <-r.Context().Done():
		case <-ctx.Done():
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	path := filepath.Join(t.TempDir(), "x")
	var out, errs bytes.Buffer
	c := &command{in: strings.NewReader(""), out: &out, err: &errs, now: testNow}
	start := time.Now()
	if code := c.run(ctx, []string{"collect", "--kubeconfig", kubeconfigFor(t, server.URL), "--out", path, "--timeout", "3s"}); code != exitBad {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
	if files := unpacked(t, path); !strings.Contains(files["collect.json"], "routes.route.openshift.io of all namespaces: the time was over") {
		t.Errorf("%v", files)
	}
}

// steps are the lines about progress, without their times, and without the last one.
func steps(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if _, step, ok := strings.Cut(line, "s] "); ok && strings.HasPrefix(line, "[") && !strings.Contains(line, " files, ") {
			all = append(all, strings.TrimSpace(step))
		}
	}
	return all
}

// TestCollectDocs: the page shows the steps that there are, and has each flag.
func TestCollectDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/collect.md")
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	c := &command{in: strings.NewReader(""), out: &out, err: &errs, now: testNow}
	if code := c.run(t.Context(), []string{"collect", "--kubeconfig", shopServer(t, "hush"), "--out", filepath.Join(t.TempDir(), "x")}); code != exitBad {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if d := cmp.Diff(steps(string(page)), steps(errs.String())); d != "" {
		t.Errorf("(-docs +now):\n%s", d)
	}
	for _, flag := range []string{"out", "anonymise", "max-size", "timeout"} {
		if f := c.collectCommand().Flags().Lookup(flag); f == nil || !strings.Contains(string(page), "| `--"+flag) {
			t.Errorf("docs/collect.md has no --%s", flag)
		}
	}
}

// TestCollectUsage: nothing is overwritten, and a failure leaves no file.
func TestCollectUsage(t *testing.T) {
	t.Parallel()
	there, fresh := filepath.Join(t.TempDir(), "there"), filepath.Join(t.TempDir(), "fresh")
	writeFile(t, there, []byte("mine"))
	for want, args := range map[string][]string{
		"is there already":         {"--kubeconfig", shopServer(t, "x"), "--out", there},
		"ask cluster":              {"--kubeconfig", kubeconfigFor(t, "http://127.0.0.1:1"), "--out", fresh},
		"no size from 1Mi to 4Gi":  {"--max-size", "12"},
		"no time to read anything": {"--timeout", "0s"},
		"not manifests":            {"-f", "x"},
		"make the archive":         {"--kubeconfig", shopServer(t, "x"), "--out", filepath.Join(fresh, "none", "x")},
	} {
		var out, errs bytes.Buffer
		c := &command{in: strings.NewReader(""), out: &out, err: &errs, now: testNow}
		if code := c.run(t.Context(), append([]string{"collect"}, args...)); code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: exit code %d, %q, %q", args, code, out.String(), errs.String())
		}
	}
	if text, err := os.ReadFile(there); err != nil || string(text) != "mine" {
		t.Error("a file was overwritten")
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("half an archive is left")
	}
}
