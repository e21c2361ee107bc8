package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

// echoYAML is a Service with an address of its own and a pod on every node.
// With the policy Local, only nodes with a ready pod may announce the address.
const echoYAML = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: echo, namespace: default}
spec:
  selector: {matchLabels: {app: echo}}
  template:
    metadata: {labels: {app: echo}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: echo, image: "fairlead.dev/demo:dev", imagePullPolicy: IfNotPresent}
---
apiVersion: v1
kind: Service
metadata: {name: echo, namespace: default}
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  selector: {app: echo}
  ports: [{name: http, port: 80, targetPort: 8080}]
`

const (
	// silencePause and silenceTimeout bound how exactly a silence is measured.
	silencePause   = 20 * time.Millisecond
	silenceTimeout = 250 * time.Millisecond
	// plannedLimit is the longest silence when a speaker says that it stops.
	plannedLimit = time.Second
	// crashLimit is the longest silence when a node dies: 1 to 1.6 s until the
	// others notice, and as much again for a machine that is busy testing.
	crashLimit = 3 * time.Second
)

// silence asks the address on new connections, one after the other, while
// something happens, and returns the longest time without an answer.
type silence struct {
	stop context.CancelFunc
	done chan time.Duration
}

func listen(t *testing.T, p *install.Product) *silence {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &silence{stop: cancel, done: make(chan time.Duration, 1)}
	client := &http.Client{Timeout: silenceTimeout, Transport: &http.Transport{DialContext: p.Cluster.Dial("client"), DisableKeepAlives: true}}
	go func() {
		longest, last := time.Duration(0), time.Now()
		for ctx.Err() == nil {
			if request(context.WithoutCancel(ctx), client, "http://"+p.Address+"/text", "echo") == nil {
				now := time.Now()
				longest, last = max(longest, now.Sub(last)), now
			}
			<-time.After(silencePause)
		}
		s.done <- max(longest, time.Since(last))
	}()
	t.Cleanup(cancel)
	return s
}

func (s *silence) report(t *testing.T, what string, limit time.Duration) {
	t.Helper()
	s.stop()
	longest := <-s.done
	t.Logf("%s: silent for %v", what, longest.Round(10*time.Millisecond))
	if longest > limit {
		t.Errorf("%s: the address was silent for %v, allowed are %v", what, longest, limit)
	}
}

// TestAddressMoves takes the announcing node away in every way, and brings it back.
func TestAddressMoves(t *testing.T) {
	p := installed(t)
	apply(t, p, echoYAML)
	echo := *p
	err := wait.Poll{Limit: 60 * time.Second, Every: wait.Slowly}.Until(t.Context(), "the address of the echo Service", func() error {
		out, err := p.Cluster.Kubectl(t.Context(), "-n", "default", "get", "service", "echo", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if err != nil || out == "" {
			return fmt.Errorf("no address: %w", err)
		}
		echo.Address = out
		_, err = echo.Owner(t.Context())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	everyNodeReady(t, p)

	t.Run("the speaker leaves", func(t *testing.T) {
		owner := ownerOf(t, &echo)
		s := listen(t, &echo)
		observe(t, time.Second)
		if _, err := p.Cluster.Kubectl(t.Context(), "-n", "metallb-system", "delete", "pod", "-l", "app.kubernetes.io/component=speaker",
			"--field-selector", "spec.nodeName="+owner); err != nil {
			t.Fatal(err)
		}
		observe(t, 8*time.Second) // it comes back, settles, and takes the address again
		s.report(t, "the speaker on "+owner+" was replaced", plannedLimit)
		everyNodeReady(t, p)
	})
	t.Run("the cable is cut", func(t *testing.T) {
		owner := ownerOf(t, &echo)
		s := listen(t, &echo)
		observe(t, time.Second)
		if err := p.Cluster.Cut(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		observe(t, 5*time.Second)
		err := p.Cluster.Heal(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		observe(t, 5*time.Second)
		s.report(t, "the cable of "+owner+" was cut and mended", crashLimit)
		everyNodeReady(t, p)
	})
	t.Run("the node loses power", func(t *testing.T) {
		owner := ownerOf(t, &echo)
		s := listen(t, &echo)
		observe(t, time.Second)
		if err := p.Cluster.StopNode(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		observe(t, 5*time.Second)
		s.report(t, owner+" lost power", crashLimit)
		if now := ownerOf(t, &echo); now == owner {
			t.Errorf("%s is off and yet announces", now)
		}
		back := listen(t, &echo)
		if err := p.Cluster.StartNode(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		everyNodeReady(t, p)
		observe(t, 7*time.Second) // until its speaker has settled
		back.report(t, owner+" came back", plannedLimit)
	})
	t.Run("the speakers cannot reach each other", func(t *testing.T) {
		for _, node := range p.Cluster.Nodes() {
			block(t, p, node)
		}
		restart := []string{"-n", "metallb-system", "rollout", "restart", "daemonset/speaker"}
		if _, err := p.Cluster.Kubectl(t.Context(), restart...); err != nil {
			t.Fatal(err)
		}
		everyNodeReady(t, p)
		err := wait.Poll{Limit: time.Minute, Every: wait.Slowly}.Until(t.Context(), "one node answers for the address", func() error { // an old speaker's last words may still be heard
			out, err := p.Cluster.Exec(t.Context(), "client", "arping", "-r", "-c", "3", "-W", "0.1", "-i", "eth0", echo.Address)
			cards := strings.Fields(out)
			slices.Sort(cards)
			if answers, cards := len(cards), slices.Compact(cards); answers != 3 || len(cards) != 1 {
				return fmt.Errorf("%d answers to 3 requests, by %v: %w", answers, cards, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("no pod is ready", func(t *testing.T) {
		patch := `{"spec":{"template":{"spec":{"nodeSelector":{"nowhere":"yes"}}}}}`
		if _, err := p.Cluster.Kubectl(t.Context(), "-n", "default", "patch", "daemonset", "echo", "-p", patch); err != nil {
			t.Fatal(err)
		}
		err := wait.Poll{Limit: 30 * time.Second, Every: wait.Slowly}.Until(t.Context(), "no node answers for the address", func() error {
			// arping fails if no host answers, as it should be here.
			out, _ := p.Cluster.Exec(t.Context(), "client", "arping", "-r", "-c", "1", "-w", "1", "-i", "eth0", echo.Address)
			if strings.TrimSpace(out) != "" {
				return fmt.Errorf("%s still answers: %s", echo.Address, out)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// block drops what speakers say to each other on the way into the node, until the test ends.
func block(t *testing.T, p *install.Product, node string) {
	t.Helper()
	nft := func(ctx context.Context, rule ...string) {
		t.Helper()
		if _, err := p.Cluster.Exec(ctx, node, append([]string{"nft"}, rule...)...); err != nil {
			t.Errorf("%v", err)
		}
	}
	nft(t.Context(), "add", "table", "inet", "nogossip")
	t.Cleanup(func() { nft(context.WithoutCancel(t.Context()), "delete", "table", "inet", "nogossip") })
	nft(t.Context(), "add", "chain", "inet", "nogossip", "in", "{ type filter hook input priority -10; }")
	for _, protocol := range []string{"tcp", "udp"} {
		nft(t.Context(), "add", "rule", "inet", "nogossip", "in", protocol, "dport", "7946", "drop")
	}
}

func ownerOf(t *testing.T, p *install.Product) string {
	t.Helper()
	var owner string
	err := wait.Poll{Limit: time.Minute, Every: wait.Slowly}.Until(t.Context(), "the owner of the router's address", func() error {
		var err error
		owner, err = p.Owner(t.Context())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return owner
}

// everyNodeReady waits until speakers, echo pods and routers are complete again.
func everyNodeReady(t *testing.T, p *install.Product) {
	t.Helper()
	if err := p.Cluster.WaitNodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-n", "metallb-system", "rollout", "status", "daemonset/speaker", "--timeout=90s"},
		{"-n", "default", "rollout", "status", "daemonset/echo", "--timeout=90s"},
		{"-n", "openshift-ingress", "rollout", "status", "deployment/router-default", "--timeout=90s"},
	} {
		if _, err := p.Cluster.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
}
