package agent

import (
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/share/peers"
	"github.com/fairlead/fairlead/router/spop"
	"github.com/fairlead/fairlead/test/wait"
)

// TestEndedSessions: a logout ends the copies of the cookies at both workers, at once, also at
// one that starts later, and no other session.
func TestEndedSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/ended"
	b := newLoginBed(t)
	b.e.ended = newEndedSessions(dir)
	worker := func() *loginBed {
		e, c := newEngine(t, func(o *Options) { o.Ended = dir })
		o := &loginBed{t: t, e: e, c: c, op: b.op}
		o.use(1, []snapshot.SessionKey{sessionKey(1, b.c.now().Add(-time.Hour))}, b.policies...)
		return o
	}
	second := worker()
	w, other := b.browser(), b.browser()
	w.login("/")
	other.login("/")
	copied := maps.Clone(w.jar)
	at := func(what string, o *loginBed, jar map[string]string, want int) {
		t.Helper()
		wants(t, what, (&browser{o, w.host, maps.Clone(jar)}).do("GET", "/", "Accept: x/y"), want)
	}
	at("before", second, copied, 200)
	w.wants("logout", w.do("GET", "/oauth2/logout"), 302)
	at("at this worker", b, copied, 401)
	at("at the other one", second, copied, 401)
	at("at a new one", worker(), copied, 401)
	at("another session", second, other.jar, 200)
}

// TestEndedForgotten: sessions that would have ended anyway are forgotten, in the folder by the
// first logout of a worker.
func TestEndedForgotten(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	s := newEndedSessions(t.TempDir())
	if err := s.add("a", now.Add(time.Hour), now); err != nil {
		t.Fatal(err)
	}
	other := newEndedSessions(s.dir)
	later := now.Add(2 * time.Hour)
	if !other.has("a", now) || s.has("a", later) || other.has("a", later) || other.has("b", now) {
		t.Error("not what was ended, and for so long")
	}
	if err := other.add("b", later.Add(time.Hour), later); err != nil {
		t.Fatal(err)
	}
	if fresh := newEndedSessions(s.dir); fresh.has("a", now) || !fresh.has("b", later) {
		t.Error("what has ended is kept, or what has not is forgotten")
	}
}

// TestEndedBound: users of one provider who log out without end have none of another's sessions
// forgotten.
func TestEndedBound(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	s := newEndedSessions(t.TempDir())
	victim := sessionName("victim", "1")
	if err := s.add(victim, now.Add(time.Minute), now); err != nil {
		t.Fatal(err)
	}
	last := ""
	for i := range mostEnded + 2*endedBatch {
		last = sessionName("hostile", strconv.Itoa(i))
		if err := s.add(last, now.Add(time.Hour+time.Duration(i)), now); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(s.dir)
	if len(s.until) > mostEnded || len(files) > mostEnded+endedBatch || err != nil {
		t.Errorf("%d in memory, %d in the folder, %v", len(s.until), len(files), err)
	}
	for what, w := range map[string]*endedSessions{"memory": s, "folder": newEndedSessions(s.dir)} {
		if !w.has(victim, now) || !w.has(last, now) {
			t.Errorf("%s: another's session is forgotten, or the last one", what)
		}
		if w.has(sessionName("hostile", "0"), now) {
			t.Errorf("%s: the first one is still there", what)
		}
	}
}

// TestEndedAtOtherRouters: a logout ends copies of the cookies at another router, also at one that was not there at that moment,
// and what another router says is no name of a file.
func TestEndedAtOtherRouters(t *testing.T) {
	t.Parallel()
	text, err := peers.Issue(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := peers.Read([][]byte{text}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	addresses := loopback(t, 3)
	b := newLoginBed(t)
	begin := func(self string) *loginBed {
		member := peers.New(slog.New(slog.DiscardHandler), 0)
		e, c := newEngine(t, func(o *Options) { o.Member, o.Ended = member, t.TempDir()+"/ended" })
		member.Set(peers.Config{Self: self, Members: addresses, Certificates: certificates})
		t.Cleanup(member.Close)
		o := &loginBed{t: t, e: e, c: c, op: b.op}
		o.use(1, []snapshot.SessionKey{sessionKey(1, b.c.now().Add(-time.Hour))}, b.policies...)
		return o
	}
	first, second := begin(addresses[0]), begin(addresses[1])
	w, other := (&browser{first, b.browser().host, map[string]string{}}), (&browser{first, b.browser().host, map[string]string{}})
	w.login("/")
	other.login("/")
	copied := maps.Clone(w.jar)
	ask := func(o *loginBed, jar map[string]string) int {
		return (&browser{o, w.host, maps.Clone(jar)}).do("GET", "/", "Accept: x/y").Status
	}
	if got := ask(second, copied); got != 200 {
		t.Fatalf("the session at the other router: %d", got)
	}
	w.wants("logout", w.do("GET", "/oauth2/logout"), 302)
	third := begin(addresses[2]) // after it
	for name, o := range map[string]*loginBed{"the other router": second, "one that begins later": third} {
		wait.Poll{}.For(t, "the end of the session at "+name, func() error {
			if got := ask(o, copied); got != 401 {
				return fmt.Errorf("it answers %d", got)
			}
			return nil
		})
		if got := ask(o, other.jar); got != 200 {
			t.Errorf("another session at %s: %d", name, got)
		}
	}
	for _, name := range []string{"", ".", "../x", strings.Repeat("a", 64), strings.Repeat("A", 64) + "." + strings.Repeat("a", 64), strings.Repeat("a", 64) + "./" + strings.Repeat("a", 62)} {
		if (endsOf{first.e}).Take(name, time.Hour); first.e.ended.has(name, b.c.now()) {
			t.Errorf("%q was taken for a session", name)
		}
	}
}

// loopback returns addresses at which nothing listens yet.
func loopback(t *testing.T, n int) (out []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out = append(out, l.Addr().String())
	}
	return out
}

// TestEndedBesides: a logout ends what HAProxy keeps, whatever other methods say of the request, and if its answer
// does not fit.
func TestEndedBesides(t *testing.T) {
	t.Parallel()
	b := newLoginBed(t)
	p := b.policies[0]
	p.OIDC.Endpoints = snapshot.Endpoints{Authorization: b.op.URL + "/authorize", Token: b.op.URL + "/token", JWKS: b.op.URL + "/keys"}
	p.Satisfy, p.Basic = snapshot.Any, &snapshot.Basic{Htpasswd: htpasswdAnn}
	b.use(2, []snapshot.SessionKey{sessionKey(1, b.c.now().Add(-time.Hour))}, p)
	w := b.browser()
	w.login("/")
	a := w.do("GET", "/oauth2/logout")
	if a.Status != 401 || !a.Ended {
		t.Errorf("status %d, ended: %t", a.Status, a.Ended)
	}
	a.Body = strings.Repeat("x", 1<<12)
	for limit, status := range map[uint32]string{1 << 14: "401", 1 << 10: "503"} {
		got := spop.Answered(limit, a.write)
		if string(got["verdict"].Text()) != status || got["ended"].Number != 1 {
			t.Errorf("of %d bytes: %v", limit, got)
		}
	}
}
