package agent

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/share/peers"
	"github.com/fairlead/fairlead/test/openid"
)

// routers are engines of several routers with the same provider.
type routers struct {
	*loginBed
	all          []*loginBed
	members      []*peers.Member
	addresses    []string
	certificates *peers.Certificates
}

func newRouters(t *testing.T, n int, change ...func(*snapshot.OIDC)) *routers {
	t.Helper()
	text, err := peers.Issue(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r := &routers{loginBed: newLoginBed(t, change...), addresses: loopback(t, n)}
	if r.certificates, err = peers.Read([][]byte{text}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		member := peers.New(slog.New(slog.DiscardHandler), 0)
		e, c := newEngine(t, func(o *Options) {
			o.Member, o.Ended, o.Renewals = member, t.TempDir()+"/ended", t.TempDir()+"/renewals"
		})
		o := &loginBed{t: t, e: e, c: c, op: r.op}
		o.use(1, []snapshot.SessionKey{sessionKey(1, r.c.now().Add(-time.Hour))}, r.policies...)
		r.all, r.members = append(r.all, o), append(r.members, member)
		r.begin(i)
	}
	return r
}

// begin has a member listen.
func (r *routers) begin(i int) {
	r.t.Helper()
	m := r.members[i]
	m.Set(peers.Config{Self: r.addresses[i], Members: r.addresses, Certificates: r.certificates})
	r.t.Cleanup(m.Close)
	until(r.t, func() bool { // it listens
		names := map[string]bool{}
		for j := range 200 {
			names[m.Owner(strings.Repeat("x", j+1))] = true
		}
		return len(names) == len(r.addresses)
	})
}

// later moves all clocks.
func (r *routers) later(d time.Duration) {
	r.c.add(d)
	for _, o := range r.all {
		o.c.add(d)
	}
}

// owned logs in until the session's renewal is another member's, at router 0.
func (r *routers) owned(by int) *browser {
	r.t.Helper()
	for {
		w := &browser{r.all[0], "shop.example.com", map[string]string{}}
		w.login("/")
		var cookies []string
		for k, v := range w.jar {
			cookies = append(cookies, k+"="+v)
		}
		world := r.all[0].e.world.Load()
		v := &visit{login: world.policies["p"].login, e: r.all[0].e, q: ask(r.t, "p", "Cookie: "+strings.Join(cookies, "; ")), keys: world.sessions}
		s, ok := v.session()
		if !ok {
			r.t.Fatal("no session")
		}
		if r.members[0].Owner(v.renewalName(s)) == r.addresses[by] {
			return w
		}
	}
}

// TestRouterRenewals: routers that get requests with the same cookies at a time ask the provider once, so that none
// of them shows it a refresh token that was used.
func TestRouterRenewals(t *testing.T) {
	t.Parallel()
	r := newRouters(t, 2)
	for range 5 {
		w := &browser{r.all[0], "shop.example.com", map[string]string{}}
		w.login("/")
		r.later(10 * time.Minute)
		asked := r.op.Asked("/token")
		var running sync.WaitGroup
		var mu sync.Mutex
		var last *browser
		for i := range 20 {
			running.Go(func() {
				copied := &browser{r.all[i%2], w.host, maps.Clone(w.jar)}
				if a := copied.do("GET", "/", "Accept: x/y"); a.Status != 200 || value(a.Set, "X-User") != "alice" {
					t.Errorf("request %d: status %d (%s)", i, a.Status, a.Reason)
				}
				mu.Lock()
				last = copied
				mu.Unlock()
			})
		}
		running.Wait()
		if n := r.op.Asked("/token") - asked; n != 1 {
			t.Errorf("the provider was asked %d times", n)
		}
		r.later(10 * time.Minute)
		last.b = r.all[1]
		last.wants("the renewed session, at the other router", last.do("GET", "/", "Accept: x/y"), 200)
	}
	if n := r.op.Reused(); n != 0 {
		t.Errorf("%d refresh tokens were used twice", n)
	}
}

// TestRenewalsOfADomain: hosts that share a session renew it once.
func TestRenewalsOfADomain(t *testing.T) {
	t.Parallel()
	r := newRouters(t, 2, func(o *snapshot.OIDC) { o.Cookie.Domain = "example.com" })
	w := &browser{r.all[0], "shop.example.com", map[string]string{}}
	w.login("/")
	r.later(10 * time.Minute)
	asked := r.op.Asked("/token")
	var running sync.WaitGroup
	for i := range 20 {
		running.Go(func() {
			copied := &browser{r.all[i/2%2], []string{"shop.example.com", "cart.example.com"}[i%2], maps.Clone(w.jar)}
			copied.wants("a request", copied.do("GET", "/", "Accept: x/y"), 200)
		})
	}
	running.Wait()
	if n := r.op.Asked("/token") - asked; n != 1 || r.op.Reused() != 0 {
		t.Errorf("the provider was asked %d times; %d refresh tokens were used twice", n, r.op.Reused())
	}
}

// TestRenewalsWithoutOwner: the owner of a renewal has ended: the router asks the provider itself. It does not know
// the policy: so, too. It hangs: nothing is asked, the session goes on while its tokens do, and no request waits for long.
func TestRenewalsWithoutOwner(t *testing.T) {
	t.Parallel()
	r := newRouters(t, 2)
	unknown, ended := r.owned(1), r.owned(1)
	r.later(10 * time.Minute)
	r.all[1].use(2, []snapshot.SessionKey{sessionKey(1, r.c.now().Add(-time.Hour))}, loginPolicy(r.op, "other"))
	unknown.wants("of a policy that the owner does not know", unknown.do("GET", "/", "Accept: x/y"), 200)
	r.members[1].Close()
	began := time.Now()
	ended.wants("without its owner", ended.do("GET", "/", "Accept: x/y"), 200)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
	if r.op.Reused() != 0 {
		t.Error("a refresh token was used twice")
	}
}

// TestRenewalsHangingOwner: the owner took the question and does not answer: the provider is not asked a second time.
func TestRenewalsHangingOwner(t *testing.T) {
	t.Parallel()
	r := newRouters(t, 2)
	hangs := r.owned(1)
	r.op.Set(func(o *openid.Options) { o.Life = time.Hour })
	good := r.owned(1)
	release := make(chan struct{})
	r.members[1].Close()
	r.members[1] = peers.New(slog.New(slog.DiscardHandler), 0)
	r.members[1].Answer(func(ctx context.Context, _ []byte) []byte {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
	r.begin(1)
	r.later(59*time.Minute + 30*time.Second)
	asked := r.op.Asked("/token")
	var running sync.WaitGroup
	for _, one := range []struct {
		w    *browser
		want int
	}{{hangs, 503}, {good, 200}} {
		running.Go(func() {
			began := time.Now()
			one.w.wants("a hanging owner", one.w.do("GET", "/", "Accept: x/y"), one.want)
			if took := time.Since(began); took > loginTime+2*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	running.Wait()
	close(release)
	if n := r.op.Asked("/token") - asked; n != 0 {
		t.Errorf("the provider was asked %d times while the owner may have asked", n)
	}
}
