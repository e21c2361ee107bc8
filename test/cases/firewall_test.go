package cases

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/firewall"
	"github.com/fairlead/fairlead/test/wait"
)

// firewallEnv makes the test's own program a firewall: the folder of its sockets.
const firewallEnv = "FAIRLEAD_CASES_FIREWALL"

// runFirewall is the firewall's main, if the program was started as one.
func runFirewall() (is bool) {
	dir := os.Getenv(firewallEnv)
	if dir == "" {
		return false
	}
	if err := firewall.Serve(context.Background(), dir, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// firewallProcess is the firewall of a bed, started again by start.
type firewallProcess struct {
	cmd *exec.Cmd
	log logBuffer
}

// startFirewall runs the firewall beside the bed's HAProxy, and returns its process.
func (b *bed) startFirewall() {
	b.t.Helper()
	if b.firewall == nil {
		b.firewall = &firewallProcess{}
		b.t.Cleanup(b.killFirewall)
	}
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), firewallEnv+"="+b.layout.Run)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.Stderr = &b.firewall.log
	if err := c.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.firewall.cmd = c
}

func (b *bed) killFirewall() {
	_ = b.firewall.cmd.Process.Kill()
	_ = b.firewall.cmd.Wait()
}

// firewallDir is empty without a firewall.
func (b *bed) firewallDir() string {
	if b.firewall == nil {
		return ""
	}
	return b.layout.Run
}

// firewallBed serves Routes block, detect and all, whose policies are named so.
func firewallBed(t *testing.T, policies ...string) *bed {
	t.Helper()
	b := newBed(t, "haproxy", newMemory())
	b.startFirewall()
	text := []string{"kind: ClusterRoutePolicy\nmetadata: {name: guard}\nspec: {guard: {firewallExclusions: [941000-941999]}}"}
	for _, p := range policies {
		name, spec, _ := strings.Cut(p, " ")
		text = append(text, "kind: Route\nmetadata: {namespace: fw, name: "+name+"}\nspec: {host: "+name+".fw.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}",
			"kind: RoutePolicy\nmetadata: {namespace: fw, name: "+name+"}\nspec: {targetRefs: [{group: route.openshift.io, kind: Route, name: "+name+"}], firewall: {"+spec+"}}")
	}
	c := parseStep(t, map[string]string{"services": "fw/web http=8080 web@198.18.250.134", "in.yaml": strings.Join(text, "\n---\n")})
	for _, o := range c.put {
		ensurePods(t, o)
	}
	b.cluster.apply(c)
	b.start()
	name, _, _ := strings.Cut(policies[0], " ")
	b.expectStatus(func() int { return b.ask1(name + ".fw.test") }, http.StatusOK)
	return b
}

// rawStatus sends parts of a request, and returns the status of the answer.
func rawStatus(t *testing.T, port int, parts []string) int {
	t.Helper()
	c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	for i, part := range parts {
		if i > 0 {
			time.Sleep(20 * time.Millisecond) // so that it comes by itself
		}
		if _, err := c.Write([]byte(part)); err != nil {
			break // an early refusal
		}
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	return r.StatusCode
}

const script = "/?q=%3Cscript%3Ealert(1)%3C/script%3E"

// TestFirewall: attacks get 403 where a policy blocks, and pass with a line of the log where
// it only detects. Bodies are judged, whole or by their first part, and the pod gets them.
func TestFirewall(t *testing.T) {
	t.Parallel()
	b := firewallBed(t, "block mode: Block", "detect mode: Detect", "part mode: Block, requestBody: 1024, bodyOver: Pass", "without mode: Block, exclusions: [941100, 941110, 941160, 941390]")
	ask := func(host, target string, change func(*request)) response {
		r := &request{method: http.MethodGet, host: host + ".fw.test", target: target}
		if change != nil {
			change(r)
		}
		return r.do(b.http, b.https)
	}
	for _, tt := range []struct {
		name, host, target string
		change             func(*request)
		want               int
	}{
		{"a page", "block", "/shop?item=1", nil, 200},
		{"a script", "block", script, nil, 403},
		{"a script by HTTP/2", "block", script, func(r *request) { r.tls, r.sni, r.alpn = true, r.host, []string{"h2"} }, 403},
		{"SQL in a header", "block", "/", func(r *request) { r.header = []string{"Cookie: a=1' or '1'='1"} }, 403},
		{"a tunnel", "block", "/", func(r *request) { r.ws = true }, 101},
		{"a body", "block", "/", func(r *request) {
			r.method, r.body, r.header = "POST", 500, []string{"Content-Type: application/x-www-form-urlencoded"}
		}, 200},
		{"a long body", "block", "/", func(r *request) {
			r.method, r.body, r.header = "POST", 20_000, []string{"Content-Type: application/x-www-form-urlencoded"}
		}, 413},
		{"a long body, by its first part", "part", "/", func(r *request) {
			r.method, r.body, r.header = "POST", 20_000, []string{"Content-Type: application/x-www-form-urlencoded"}
		}, 200},
		{"a script where its rules are left out", "without", script, nil, 200},
		{"a script that is only detected", "detect", script, nil, 200},
		{"a long body that is only looked at", "detect", "/", func(r *request) {
			r.method, r.body, r.header = "POST", 20_000, []string{"Content-Type: application/x-www-form-urlencoded"}
		}, 200},
	} {
		if got := ask(tt.host, tt.target, tt.change); got.status != tt.want {
			t.Errorf("%s: status %d, want %d: %v", tt.name, got.status, tt.want, got.err)
		}
	}
	b.eventually("the log has the rules", func() error {
		if log := b.firewall.log.String(); !strings.Contains(log, "verdict=allow namespace=fw route=detect") || !strings.Contains(log, "941100") {
			return fmt.Errorf("the log is %q", log)
		}
		return nil
	})
}

// TestFirewallSpelling: where a path is judged and its host's others are not, another spelling
// of the path is judged, too.
func TestFirewallSpelling(t *testing.T) {
	t.Parallel()
	b := firewallBed(t, "block mode: Block")
	const route = "kind: Route\nmetadata: {namespace: fw, name: %s}\nspec: {host: mixed.fw.test, path: %s, to: {kind: Service, name: web}}\n"
	b.apply(objectsChange(t, fmt.Sprintf(route, "open", "/")+"---\n"+fmt.Sprintf(route, "judged", "/admin")+
		"---\nkind: RoutePolicy\nmetadata: {namespace: fw, name: judged}\nspec: {targetRefs: [{group: route.openshift.io, kind: Route, name: judged}], firewall: {mode: Block}}"))
	for target, want := range map[string][]int{
		script: {200}, "/admin" + script: {403}, "/%61dmin" + script: {403}, "//admin" + script: {400, 403}, "/x/../admin" + script: {400, 403}, "/admin;x" + script: {403},
	} {
		q := request{method: http.MethodGet, host: "mixed.fw.test", target: target}
		if got := q.do(b.http, b.https); !slices.Contains(want, got.status) {
			t.Errorf("%s: status %d, want %v: %v", target, got.status, want, got.err)
		}
	}
}

// TestFirewallBodies: an attack in a body is found however the body arrives, and a client
// that does not send what it announced gets no further.
func TestFirewallBodies(t *testing.T) {
	t.Parallel()
	b := firewallBed(t, "block mode: Block", "detect mode: Detect")
	const attack = "q=%3Cscript%3Ealert(1)%3C/script%3E"
	head := func(host, more string) string {
		return "POST / HTTP/1.1\r\nHost: " + host + ".fw.test\r\nUser-Agent: x\r\nAccept: */*\r\nContent-Type: application/x-www-form-urlencoded\r\n" + more + "\r\n"
	}
	chunk := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
	for _, tt := range []struct {
		name, host string
		parts      []string
		want       int
	}{
		{"with its headers", "block", []string{head("block", fmt.Sprintf("Content-Length: %d\r\n", len(attack))) + attack}, 403},
		{"later", "block", []string{head("block", fmt.Sprintf("Content-Length: %d\r\n", len(attack))), attack[:5], attack[5:]}, 403},
		{"in chunks", "block", []string{head("block", "Transfer-Encoding: chunked\r\n"), chunk(attack[:7]), chunk(attack[7:]) + "0\r\n\r\n"}, 403},
		{"in chunks, harmless", "block", []string{head("block", "Transfer-Encoding: chunked\r\n"), chunk("a=b"), "0\r\n\r\n"}, 200},
		{"in chunks, behind too much", "block", []string{head("block", "Transfer-Encoding: chunked\r\n") + chunk("a="+strings.Repeat("b", 16400)), chunk("&" + attack)}, 413},
		{"behind long headers", "block", []string{head("block", "X-Long: "+strings.Repeat("a", 12_000)+"\r\nTransfer-Encoding: chunked\r\n") + chunk("a="+strings.Repeat("b", 15_000)), chunk("&"+attack) + "0\r\n\r\n"}, 413},
		{"never", "block", []string{head("block", "Content-Length: 100\r\n"), "a=b"}, 408},
		{"only detected", "detect", []string{head("detect", fmt.Sprintf("Content-Length: %d\r\n", len(attack))), attack}, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := rawStatus(t, b.http, tt.parts); got != tt.want {
				t.Errorf("status %d, want %d", got, tt.want)
			}
		})
	}
}

// TestFirewallFails: without an answer of the firewall nothing passes where a policy
// blocks, and all does, counted, where it only detects.
func TestFirewallFails(t *testing.T) {
	t.Parallel()
	b := firewallBed(t, "block mode: Block", "detect mode: Detect")
	check := func(what string, block int) {
		t.Helper()
		b.expectStatus(func() int { return b.ask1("block.fw.test") }, block)
		if got := b.ask1("detect.fw.test"); got != http.StatusOK {
			t.Errorf("%s: detect gets %d", what, got)
		}
	}
	check("at first", 200)
	_ = b.firewall.cmd.Process.Signal(syscall.SIGSTOP)
	check("it hangs", 503)
	_ = b.firewall.cmd.Process.Signal(syscall.SIGCONT)
	check("it goes on", 200)
	b.killFirewall()
	check("it is dead", 503)
	wait.Poll{Limit: patience, Every: 50 * time.Millisecond}.For(t, "what passed is counted", func() error {
		if n := b.count("fairlead_router_policy_answers_total"); n < 2 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	b.startFirewall()
	check("another one", 200)
}
