package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/console"
)

// linkOf is the address in what the command prints.
var linkOf = regexp.MustCompile(`http://127\.0\.0\.1:\d+/c/[\w-]{22}/login\?t=[\w-]{43}`)

// lines sends each Write.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestConsole runs the command as docs/console.md shows it: it prints a link, answers by
// it, and ends with the context.
func TestConsole(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "shop.yaml"), []byte("{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: shop, namespace: web}, spec: {host: www.example.com, to: {kind: Service, name: shop}}}\n"))
	ran := 0
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(line, "#")
		args := strings.Fields(strings.ReplaceAll(line, "manifests/", dir))
		if len(args) < 3 {
			t.Fatalf("%q is no command", line)
		}
		ran++
		want := "web/shop"
		if !strings.Contains(line, "-f") {
			args = append(args, "--kubeconfig", closedServer(t))
			want = "Services of all namespaces could not be read: you have no right to"
		}
		text := askConsole(t, append(args[2:], "--no-open"))
		if strings.Contains(line, "-n web") != strings.Contains(text, `value="ns:web"`) {
			t.Errorf("%s: it does not begin with the namespace", line)
		}
		if !strings.Contains(strings.ReplaceAll(text, "<wbr>", ""), want) {
			t.Errorf("%s: no %q in %s", line, want, text)
		}
	}
	if ran < 3 {
		t.Errorf("only %d examples", ran)
	}
}

// askConsole runs the command, and returns the list of Routes that it shows.
func askConsole(t *testing.T, args []string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, ended := make(lines, 10), make(chan int, 1)
	var errs bytes.Buffer
	c := &command{in: strings.NewReader(""), out: out, err: &errs, now: testNow}
	go func() { ended <- c.run(ctx, args) }()
	var link string
	select {
	case text := <-out:
		link = linkOf.FindString(text)
	case code := <-ended:
		t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if strings.HasSuffix(answer.Request.URL.Path, "/") { // the overview
		r.URL = answer.Request.URL.JoinPath("routes")
		if answer, err = client.Do(r); err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v: code %d, %v", args, answer.StatusCode, err)
	}
	stop()
	if code := <-ended; code != exitGood {
		t.Errorf("%v: exit code %d: %s", args, code, errs.String())
	}
	return string(text)
}

// TestConsoleLines: the command lines of pages ask the same objects.
func TestConsoleLines(t *testing.T) {
	t.Parallel()
	o := &options{router: "internal", domain: "x.example.com", kcontext: "there"}
	for _, tt := range []struct {
		line console.Line
		want string
	}{
		{console.Line{Command: "why", Subject: "route/a b", Namespace: "web"}, "kubectl fairlead why 'route/a b' -n web --router internal --domain x.example.com --context there"},
		{console.Line{Command: "status"}, "kubectl fairlead status --router internal --context there"},
		{console.Line{Command: "explain", Subject: "http://x/;reboot", Flags: []string{"-H", "A: $(b)"}}, "kubectl fairlead explain 'http://x/;reboot' -H 'A: $(b)' --router internal --domain x.example.com --context there"},
	} {
		if got := o.line(tt.line); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}
