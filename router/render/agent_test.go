package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/render"
)

// TestAgentRules: no rule lets a request with a policy on before the one that refuses
// whatever has no verdict "allow"; test/agent shows it with HAProxy.
func TestAgentRules(t *testing.T) {
	t.Parallel()
	rules := render.Agent{}.Rules()
	closing := slices.IndexFunc(rules, func(r string) bool {
		return strings.HasPrefix(r, "http-request return status 503") &&
			strings.HasSuffix(r, "if { var(txn.ask) -m found } !{ var(txn.ask_left) -m int gt 0 } !{ var(txn.fl.verdict) -m str allow }")
	})
	if closing < 0 {
		t.Fatalf("no rule refuses the rest:\n%s", strings.Join(rules, "\n"))
	}
	asked := 0
	for i, r := range rules {
		switch {
		case strings.HasPrefix(r, "http-request send-spoe-group"):
			if asked++; i > closing {
				t.Errorf("asked after the refusal: %s", r)
			}
		case strings.HasPrefix(r, "http-request allow"), strings.HasPrefix(r, "use_backend"), strings.HasPrefix(r, "http-request accept"):
			t.Errorf("the rules after it are skipped: %s", r)
		case strings.Contains(r, "headers-bin"), strings.Contains(r, "sc-set-gpt") && !strings.HasSuffix(r, "if { var(txn.fl.ended) -m found }"):
			if i < closing {
				t.Errorf("before the refusal: %s", r)
			}
		}
		if strings.ContainsAny(r, "\n\r") {
			t.Errorf("two lines: %q", r)
		}
	}
	if asked != 6 { // two of them with the body of a logout
		t.Errorf("asked %d times", asked)
	}
}

// TestAgentSections: the lines name the agent's sockets, and HAProxy's time for a worker is
// what was asked for.
func TestAgentSections(t *testing.T) {
	t.Parallel()
	a := render.Agent{SocketDir: "/run/agent", ConfigFile: "/run/spoe.cfg", Processing: "6s"}
	all := strings.Join(slices.Concat(a.Sections(), a.Config(), []string{a.Filter()}), "\n")
	for _, want := range []string{"unix@/run/agent/decide-a.sock", "unix@/run/agent/decide-b.sock", "config /run/spoe.cfg", "timeout processing 6s", "timeout server 6s", "option continue-on-error"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if all := strings.Join(a.Rules(), "\n"); !strings.Contains(all, "hmac(sha256,proc.key)") || strings.Contains(all, "uuid") {
		t.Error("verdicts are not kept by the key of the pod")
	}
	for key, want := range map[string]int{"": 1, "YWJj": 3, "YWI=": 3, "a b": 1, "a)\n": 1, "a),upper": 1} {
		if lines := render.Globals(key); len(lines) != want {
			t.Errorf("with the key %q: %q", key, lines)
		}
	}
	if strings.Contains(all, "force-set-var") {
		t.Error("the agent may set any variable")
	}
}
