package cases

import (
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/share/peers"
	"github.com/fairlead/fairlead/test/openid"
)

// loginRouters are routers of one IngressController whose Routes ask for a login, each with HAProxy and an agent. All
// agents have the same clock.
func loginRouters(t *testing.T, network string, n int) (beds []*loginBed) {
	t.Helper()
	certificate, err := peers.Issue(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var members []netip.Addr
	for i := range n {
		members = append(members, netip.MustParseAddr(fmt.Sprintf("%s.%d", network, i+1)))
	}
	clock, op := filepath.Join(t.TempDir(), "clock"), openid.New(t, "198.18.250.63")
	op.Set(func(o *openid.Options) { o.Now = func() time.Time { return time.Now().Add(aheadBy(clock)) } })
	for i := range n {
		router := newBed(t, "haproxy", newMemory())
		router.agent = &agentBed{dir: router.layout.Run, clock: clock}
		router.agent.replicas.Store(&snapshot.Replicas{Self: members[i], Members: members, Port: 9443, Certificates: [][]byte{certificate}})
		beds = append(beds, startLogins(t, router, op))
	}
	return beds
}

// TestOIDCRouters: two routers with two workers each that get requests of an expired session at the same moment ask the
// provider once, also after workers were killed; a logout that the provider reports to one of them holds at both.
func TestOIDCRouters(t *testing.T) {
	t.Parallel()
	beds := loginRouters(t, "127.0.73", 2)
	op, ahead := beds[0].op, time.Duration(0)
	for round := range 4 {
		if round == 2 { // its place is taken by another process, and the first requests may come before that
			beds[1].signalWorkers(syscall.SIGKILL)
			beds[1].eventually("the workers are back", func() error { return beds[1].browser("shop.po.test").wants("GET", "/", 302) })
		}
		w := beds[0].in(fmt.Sprint("session ", round))
		ahead += 10 * time.Minute
		beds[0].ahead(ahead)
		asked, jars := op.Asked("/token"), make(chan map[string]string, 40)
		var running sync.WaitGroup
		for i := range 40 {
			running.Go(func() {
				copied := &browser{beds[i%2], w.host, maps.Clone(w.jar)}
				if r := copied.do("GET", "/", "Sec-Fetch-Mode: cors"); r.status != 200 {
					t.Errorf("round %d, request %d: status %d", round, i, r.status)
				}
				jars <- copied.jar
			})
		}
		running.Wait()
		if n := op.Asked("/token") - asked; n != 1 || op.Reused() != 0 {
			t.Errorf("round %d: the provider was asked %d times; %d refresh tokens were used twice", round, n, op.Reused())
		}
		renewed := &browser{beds[1], w.host, <-jars}
		renewed.must("GET", "/", 200)
		if r := beds[0].report("shop.po.test", "logout_token="+op.LogoutToken("", logoutOf(fmt.Sprint("session ", round)))); r.status != 200 {
			t.Errorf("round %d: a logout: status %d", round, r.status)
		}
		for _, b := range beds {
			b.eventually("the session has ended", func() error {
				return (&browser{b, w.host, maps.Clone(renewed.jar)}).wants("GET", "/", 401, "Sec-Fetch-Mode: cors")
			})
		}
	}
	// Without the other router, each one renews by itself.
	w := beds[0].in("alone")
	ahead += 10 * time.Minute
	beds[0].ahead(ahead)
	beds[1].killWorkers()
	began := time.Now()
	beds[0].eventually("a renewal without the other router", func() error { return w.wants("GET", "/", 200, "Sec-Fetch-Mode: cors") })
	t.Logf("after %s", time.Since(began).Round(time.Millisecond))
	if op.Reused() != 0 {
		t.Error("a refresh token was used twice")
	}
}
