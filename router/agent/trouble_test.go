package agent

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/jwt"
	"github.com/fairlead/fairlead/router/agent/session"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/test/openid"
)

// settle waits until nothing is being fetched.
func settle(t *testing.T, e *Engine) {
	t.Helper()
	until(t, func() bool {
		return e.providers.tend(e.now(), mostTended) == mostTended && e.keys.tend(e.now(), mostTended) == mostTended
	})
}

// pass lets time go by in which no request comes.
func pass(t *testing.T, e *Engine, c *clock, d time.Duration) {
	t.Helper()
	c.add(d)
	e.Tend()
	settle(t, e)
}

func trouble(t *testing.T, e *Engine, id string) snapshot.Trouble {
	t.Helper()
	all, known := e.Troubles()
	switch list := all[id]; {
	case !known:
		t.Error("it is not known")
		fallthrough
	case len(list) == 0:
		return snapshot.Trouble{}
	default:
		return list[0]
	}
}

func down(o *openid.Options) {
	o.Fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true }
}

// TestTroubles: what cannot be read is known without a request, from the first failure on while
// nothing was ever read, and goes when it can be read; one failure of a refresh is no news.
func TestTroubles(t *testing.T) {
	t.Parallel()
	e, c := newEngine(t)
	b := &loginBed{t: t, e: e, c: c, op: openid.New(t)}
	b.op.Set(down)
	keys := newIDP(t)
	good := keys.answer
	keys.set(says(404, ""))
	tokens := tokenPolicy("keys", keys.URL, func(j *snapshot.JWT) {
		j.Issuers = append([]snapshot.Issuer{{Name: "fixed", Secret: []byte(strings.Repeat("x", 32)), Algorithms: []string{"HS256"}}}, j.Issuers...)
	})
	if closed := b.use(1, []snapshot.SessionKey{sessionKey(1, c.now())}, loginPolicy(b.op, "login"), tokens); len(closed) > 0 {
		t.Fatal(closed)
	}
	settle(t, e)
	want := func(when string, login, token snapshot.Trouble) {
		t.Helper()
		if got := trouble(t, e, "login"); got != login {
			t.Errorf("%s: %+v, want %+v", when, got, login)
		}
		if got := trouble(t, e, "keys"); got != token {
			t.Errorf("%s: %+v, want %+v", when, got, token)
		}
	}
	login := snapshot.Trouble{Kind: snapshot.KindIssuer, Address: b.op.Issuer + "/.well-known/openid-configuration", Cause: causeNoIssuer}
	token := snapshot.Trouble{Kind: snapshot.KindKeys, Place: 1, Address: keys.URL, Cause: causeNoKeys}
	want("at first", login, token)
	asked := keys.count()
	for range 5 {
		e.Tend()
		settle(t, e)
	}
	if keys.count() != asked {
		t.Errorf("asked %d times at once", keys.count()-asked)
	}
	for range 20 {
		pass(t, e, c, time.Second)
	}
	if n := keys.count() - asked; n < 2 || n > 5 {
		t.Errorf("asked %d times in 20 s", n)
	}
	b.op.Set(func(o *openid.Options) { o.Fault = nil })
	keys.set(good)
	pass(t, e, c, refetchAfter)
	want("they are back", snapshot.Trouble{}, snapshot.Trouble{})
	if a := b.browser().do("GET", "/", page); a.Status != 302 {
		t.Errorf("a login: %d", a.Status)
	}
	b.op.Set(down)
	keys.set(says(200, "<html>"))
	pass(t, e, c, defaultKeys)
	want("one failure", snapshot.Trouble{}, snapshot.Trouble{})
	pass(t, e, c, refetchAfter)
	login.Until, token.Until = e.providers.first().expires.Add(staleKeys).Unix(), e.keys.first().expires.Add(staleKeys).Unix()
	want("a second one", login, token)
	if a := b.browser().do("GET", "/", page); a.Status != 302 {
		t.Errorf("a login by what was read: %d", a.Status)
	}
	pass(t, e, c, staleKeys)
	login.Until, token.Until = 0, 0
	want("a day later", login, token)
	b.use(2, []snapshot.SessionKey{sessionKey(1, c.now())})
	if all, _ := e.Troubles(); len(all) > 0 {
		t.Errorf("of policies that are gone: %v", all)
	}
}

// first returns the only one.
func (k *collection[T]) first() *kept[T] {
	for _, s := range k.sets {
		return s
	}
	return nil
}

// TestRecall: a worker that starts while issuers are away goes on by what the one before it has
// read, for as long as that one would have, and by nothing else.
func TestRecall(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "documents")
	begin := func(at time.Time) (*Engine, *clock) {
		e, c := newEngine(t, func(o *Options) { o.Documents = dir })
		c.add(at.Sub(c.now()))
		return e, c
	}
	first, c := begin(time.Unix(1_800_000_000, 0))
	op, keys := openid.New(t), newIDP(t)
	session1 := []snapshot.SessionKey{{Made: c.now().Unix() - 3600, Secret: []byte(strings.Repeat("s", session.KeySize))}}
	policies := []snapshot.Policy{loginPolicy(op, "login"), tokenPolicy("keys", keys.URL)}
	use := func(e *Engine, c *clock) (login, token int) {
		b := &loginBed{t: t, e: e, c: c, op: op}
		if closed := b.use(1, session1, policies...); len(closed) > 0 {
			t.Fatal(closed)
		}
		settle(t, e)
		return b.browser().do("GET", "/", page).Status, e.Decide(t.Context(), ask(t, "keys", "Authorization: Bearer "+keys.token(claimsOf(c, "")))).Status
	}
	if login, token := use(first, c); login != 302 || token != 200 {
		t.Fatalf("%d, %d", login, token)
	}
	until(t, func() bool { names, _ := filepath.Glob(dir + "/*"); return len(names) == 2 })
	asked := keys.count()
	next, c2 := begin(c.now().Add(time.Minute))
	if login, token := use(next, c2); login != 302 || token != 200 || keys.count() != asked {
		t.Errorf("started again: %d, %d; the issuer was asked %d times", login, token, keys.count()-asked)
	}
	op.Set(down)
	keys.set(says(500, ""))
	next, c2 = begin(c.now().Add(20 * time.Hour))
	if login, token := use(next, c2); login != 302 || token != 200 {
		t.Errorf("20 hours later: %d, %d", login, token)
	}
	if got := trouble(t, next, "keys"); got.Until != c.now().Add(defaultKeys+staleKeys).Unix() {
		t.Errorf("%+v", got)
	}
	late, c3 := begin(c.now().Add(30 * time.Hour))
	if login, token := use(late, c3); login != 503 || token != 503 {
		t.Errorf("30 hours later: %d, %d", login, token)
	}
	past, c4 := begin(c.now().Add(-time.Hour))
	if login, token := use(past, c4); login != 503 || token != 503 {
		t.Errorf("a document of the future: %d, %d", login, token)
	}
	// Another CA is another issuer.
	policies[1].JWT.Issuers[0].CA = op.CA()
	other, c5 := begin(c.now().Add(time.Minute))
	if _, token := use(other, c5); token != 503 {
		t.Errorf("with another CA: %d", token)
	}
	names, _ := filepath.Glob(dir + "/*")
	if len(names) != 1 {
		t.Errorf("%d documents are kept, of one issuer in use", len(names))
	}
}

// TestDocuments: the folder is bounded, and long documents go before short ones.
func TestDocuments(t *testing.T) {
	t.Parallel()
	d := documents(t.TempDir())
	now := time.Unix(1_800_000_000, 0)
	put := func(name string, size int) {
		d.put(name, &document{Read: now, Expires: now.Add(time.Hour), Parts: map[string][]byte{"u": []byte(strings.Repeat("x", size))}})
	}
	for i := range 10 {
		put(fmt.Sprintf("short%d", i), 1000)
	}
	for i := range 60 {
		put(fmt.Sprintf("long%d", i), jwt.MaxKeySet)
	}
	put("late", 1000)
	put("huge", 4*jwt.MaxKeySet)
	total := int64(0)
	entries, err := os.ReadDir(string(d))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, _ := e.Info()
		total += pages(info.Size())
	}
	if total > mostDocumentBytes || total < mostDocumentBytes/2 {
		t.Errorf("%d bytes", total)
	}
	for _, name := range []string{"short0", "short9", "late"} {
		if d.get(name) == nil {
			t.Errorf("%s is gone", name)
		}
	}
	if d.get("huge") != nil || d.get("none") != nil {
		t.Error("what should not be there is")
	}
	documents("").put("x", &document{})
	if documents("").get("x") != nil {
		t.Error("without a folder something is kept")
	}
}

// FuzzDocument: whatever is in a file of the folder does no harm.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"read":"2026-01-01T00:00:00Z","expires":"2026-01-01T01:00:00Z","parts":{"https://a/keys":"e30="}}`))
	f.Add([]byte("{\"read\":\"x\"}\n\t\r\x00\f"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d := readDocument(text)
		if d == nil {
			return
		}
		_, _, _ = readKeys(t.Context(), d, "https://a/keys")
		_, _, _ = readProvider(t.Context(), d, "https://a", snapshot.Endpoints{})
	})
}

// TestAuthServerFails: an auth server that fails three times is reported once, as long as it fails
// every few minutes, whether or not it answers between; a refusal is no failure.
func TestAuthServerFails(t *testing.T) {
	t.Parallel()
	e, c := newEngine(t)
	s := newAuthServer(t, says(401, ""))
	use(t, e, 1, externalPolicy("p", s.URL+"/check?key=secret"), externalPolicy("q", s.URL))
	fails := func(code int) snapshot.Trouble {
		t.Helper()
		s.set(says(code, ""))
		e.Decide(t.Context(), ask(t, "p"))
		if other := trouble(t, e, "q"); other.Kind != "" {
			t.Errorf("of another policy: %+v", other)
		}
		return trouble(t, e, "p")
	}
	for _, code := range []int{401, 403, 500, 200, 503} {
		if got := fails(code); got.Kind != "" {
			t.Errorf("after %d: %+v", code, got)
		}
	}
	want := snapshot.Trouble{Kind: snapshot.KindAuthServer, Address: s.URL + "/check", Cause: causeUndecided}
	for _, code := range []int{404, 200, 404, 200} {
		if got := fails(code); got != want {
			t.Errorf("after %d: %+v", code, got)
		}
		c.add(authQuiet/2 - time.Second)
	}
	c.add(authQuiet)
	if got := fails(200); got.Kind != "" {
		t.Errorf("after some good minutes: %+v", got)
	}
	for range 3 {
		fails(502)
	}
	use(t, e, 2, externalPolicy("q", s.URL))
	if len(e.servers.failing) > 0 {
		t.Error("failures of a policy that is gone are kept")
	}
}
