package agent

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/authorize"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
)

func basicPolicy(id string, change ...func(*snapshot.Policy)) snapshot.Policy {
	p := snapshot.Policy{ID: id, Namespace: "demo", Basic: &snapshot.Basic{Htpasswd: htpasswdAnn}}
	for _, f := range change {
		f(&p)
	}
	return p
}

// TestClosed: without a snapshot, for an unknown policy, and for one that cannot be used,
// every request is refused.
func TestClosed(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	wants(t, "no snapshot", e.Decide(t.Context(), ask(t, "p", userPassword("ann", "x"))), 503)
	wants(t, "no policy", e.Decide(t.Context(), ask(t, "", userPassword("ann", "x"))), 503)
	bad := []snapshot.Policy{
		{ID: "nothing"},
		{ID: "no user", Basic: &snapshot.Basic{}},
		{ID: "weak", Basic: &snapshot.Basic{Htpasswd: "ann:x"}},
		{ID: "realm", Basic: &snapshot.Basic{Htpasswd: htpasswdAnn, Realm: "a\r\nX: y"}},
		{ID: "header", Basic: &snapshot.Basic{Htpasswd: htpasswdAnn, ForwardUser: "X User"}},
		{ID: "satisfy", Satisfy: "Some", Basic: &snapshot.Basic{Htpasswd: htpasswdAnn}},
		{ID: "url", External: &snapshot.External{URL: "auth"}},
		{ID: "scheme", External: &snapshot.External{URL: "file:///etc/passwd"}},
		{ID: "user", External: &snapshot.External{URL: "http://a:b@auth/"}},
		{ID: "method", External: &snapshot.External{URL: "http://auth/", Method: "PUT"}},
		{ID: "ca", External: &snapshot.External{URL: "https://auth/", CA: "none"}},
		{ID: "key", External: &snapshot.External{URL: "http://auth/", Cache: snapshot.Cache{TTL: time.Minute, Key: []string{"X-Real-IP"}}}},
		{ID: "agent", External: &snapshot.External{URL: "http://auth/", Cache: snapshot.Cache{TTL: time.Minute, Key: []string{"User-Agent"}}}},
		{ID: "signin", External: &snapshot.External{URL: "http://auth/", SignIn: &snapshot.SignIn{URL: "/login"}}},
		{ID: "issuers", JWT: &snapshot.JWT{}},
		{ID: "algorithm", JWT: &snapshot.JWT{Issuers: []snapshot.Issuer{{Name: "i", Algorithms: []string{"none"}, JWKSURI: "http://i/"}}}},
		{ID: "keys", JWT: &snapshot.JWT{Issuers: []snapshot.Issuer{{Name: "i", JWKS: "{}"}}}},
		{ID: "rules", Authorization: make([]authorize.Rule, authorize.MaxRules+1)},
	}
	closed := e.Swap(&snapshot.Snapshot{Generation: 1, Policies: bad})
	for _, p := range bad {
		if closed[p.ID] == nil {
			t.Errorf("%s: usable", p.ID)
		}
		wants(t, p.ID, e.Decide(t.Context(), ask(t, p.ID, userPassword("ann", "x"))), 503)
	}
}

// TestBasic: right, wrong and unreadable credentials, and what the pod gets.
func TestBasic(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	use(t, e, 1, basicPolicy("p", func(p *snapshot.Policy) { p.Basic.ForwardUser, p.Basic.Realm = "X-User", `a "b"` }), basicPolicy("q"))
	for name, test := range map[string]struct {
		headers []string
		want    int
	}{
		"right":                {[]string{userPassword("ann", "x")}, 200},
		"right, scheme":        {[]string{"authorization: bAsIc YW5uOng="}, 200},
		"wrong password":       {[]string{userPassword("ann", "y")}, 401},
		"wrong user":           {[]string{userPassword("bob", "x")}, 401},
		"empty":                {[]string{userPassword("", "")}, 401},
		"long":                 {[]string{userPassword("ann", strings.Repeat("x", 4096))}, 401},
		"no credentials":       {nil, 401},
		"twice":                {[]string{userPassword("ann", "x"), userPassword("ann", "x")}, 401},
		"bearer":               {[]string{"Authorization: Bearer YW5uOng="}, 401},
		"no base64":            {[]string{"Authorization: Basic ann:x"}, 401},
		"no colon":             {[]string{"Authorization: Basic YW5u"}, 401},
		"control character":    {[]string{userPassword("an\nn", "x")}, 401},
		"in another header":    {[]string{"Proxy-" + userPassword("ann", "x")}, 401},
		"underscore":           {[]string{strings.Replace(userPassword("ann", "x"), "Author", "Author_", 1)}, 401},
		"user with NUL at end": {[]string{userPassword("ann\x00", "x")}, 401},
	} {
		a := e.Decide(t.Context(), ask(t, "p", test.headers...))
		wants(t, name, a, test.want)
		if test.want == 401 && value(a.Client, "WWW-Authenticate") != `Basic realm="a \"b\"", charset="UTF-8"` {
			t.Errorf("%s: challenge %q", name, value(a.Client, "WWW-Authenticate"))
		}
	}
	a := e.Decide(t.Context(), ask(t, "p", userPassword("ann", "x"), "X_User: root", "x-uSER: root", "X-Users: y"))
	if value(a.Set, "X-User") != "ann" || !slices.Contains(a.Del, "X_User") || !slices.Contains(a.Del, "x-uSER") ||
		slices.Contains(a.Del, "X-Users") || !slices.Contains(a.Del, "Authorization") || a.Consumer != "ann" || a.TTL != 0 {
		t.Errorf("answer %+v", a)
	}
	if a := e.Decide(t.Context(), ask(t, "q", userPassword("ann", "x"))); a.TTL != userLife {
		t.Errorf("kept for %v", a.TTL)
	}
}

// TestRotation: a password is wrong as soon as the snapshot has another one.
func TestRotation(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	use(t, e, 1, basicPolicy("p"))
	wants(t, "before", e.Decide(t.Context(), ask(t, "p", userPassword("ann", "x"))), 200)
	use(t, e, 2, basicPolicy("p", func(p *snapshot.Policy) { p.Basic.Htpasswd = "ann:$apr1$saltstri$aGfuB7Lcvs2TUeFTqUVfN0" }))
	wants(t, "old password", e.Decide(t.Context(), ask(t, "p", userPassword("ann", "x"))), 401)
	wants(t, "new password", e.Decide(t.Context(), ask(t, "p", userPassword("ann", "Hello world!"))), 200)
	use(t, e, 3)
	wants(t, "no policy", e.Decide(t.Context(), ask(t, "p", userPassword("ann", "Hello world!"))), 503)
}

// TestFailures: an address that sends wrong passwords has to wait; others, and a client
// there whose password was right, do not.
func TestFailures(t *testing.T) {
	t.Parallel()
	e, c := newEngine(t)
	use(t, e, 1, basicPolicy("p"))
	wants(t, "right", e.Decide(t.Context(), ask(t, "p", userPassword("ann", "x"))), 200)
	for i := range 10 {
		wants(t, "wrong", e.Decide(t.Context(), ask(t, "p", userPassword("ann", strings.Repeat("y", i+2)))), 401)
	}
	a := e.Decide(t.Context(), ask(t, "p", userPassword("ann", "z")))
	wants(t, "the eleventh", a, 429)
	if value(a.Client, "Retry-After") == "" {
		t.Error("no Retry-After")
	}
	wants(t, "right again", e.Decide(t.Context(), ask(t, "p", userPassword("ann", "x"))), 200)
	other := ask(t, "p", userPassword("ann", "zz"))
	other.Client = netip.MustParseAddr("192.0.2.8")
	wants(t, "another address", e.Decide(t.Context(), other), 401)
	c.add(61 * time.Second)
	wants(t, "later", e.Decide(t.Context(), ask(t, "p", userPassword("ann", "z"))), 401)
}

// TestSatisfy: which methods must admit, and what a client is asked for.
func TestSatisfy(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	server := newAuthServer(t, status(200, "X-Team: a"))
	both := func(id string, s snapshot.Satisfy) snapshot.Policy {
		p := externalPolicy(id, server.URL, func(x *snapshot.External) { x.ResponseHeaders = []string{"X-Team"} })
		p.Basic, p.Satisfy = &snapshot.Basic{Htpasswd: htpasswdAnn}, s
		return p
	}
	use(t, e, 1, both("all", ""), both("any", snapshot.Any))
	right, wrong := userPassword("ann", "x"), userPassword("ann", "y")
	for name, test := range map[string]struct {
		policy, credentials string
		server, want        int
	}{
		"all: both":                {"all", right, 200, 200},
		"all: wrong password":      {"all", wrong, 200, 401},
		"all: the server refuses":  {"all", right, 403, 403},
		"all: the server is sick":  {"all", right, 500, 503},
		"any: password":            {"any", right, 500, 200},
		"any: server":              {"any", wrong, 200, 200},
		"any: neither":             {"any", wrong, 401, 401},
		"any: neither, forbidden":  {"any", wrong, 403, 401},
		"any: wrong, server sick":  {"any", wrong, 500, 503},
		"any: wrong, odd redirect": {"any", wrong, 304, 503},
	} {
		server.set(status(test.server, "X-Team: a"))
		q := ask(t, test.policy, test.credentials)
		q.Client = netip.AddrFrom4([4]byte{192, 0, 2, byte(len(name))})
		a := e.Decide(t.Context(), q)
		wants(t, name, a, test.want)
		if name == "all: both" && value(a.Set, "X-Team") != "a" {
			t.Errorf("headers %v", a.Set)
		}
	}
}

// TestAuthorization: rules come after the methods, and know who the client is.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	use(t, e, 1, basicPolicy("p", func(p *snapshot.Policy) {
		p.Authorization = []authorize.Rule{{Action: authorize.Allow, Consumers: []string{"ann"}, Paths: []authorize.Path{{Value: "/a"}}}}
	}), snapshot.Policy{ID: "rules", Authorization: []authorize.Rule{{Action: authorize.Allow, Methods: []string{"GET"}}}})
	wants(t, "ann", e.Decide(t.Context(), ask(t, "p", userPassword("ann", "x"))), 200)
	wants(t, "wrong password", e.Decide(t.Context(), ask(t, "p", userPassword("ann", "y"))), 401)
	q := ask(t, "p", userPassword("ann", "x"))
	q.Target = "/admin?x=/a"
	wants(t, "another path", e.Decide(t.Context(), q), 403)
	if a := e.Decide(t.Context(), ask(t, "p", userPassword("ann", "x"))); a.TTL != 0 {
		t.Errorf("a verdict about one path is kept for %v", a.TTL)
	}
	wants(t, "rules alone", e.Decide(t.Context(), ask(t, "rules")), 200)
	q = ask(t, "rules")
	q.Method = "POST"
	wants(t, "rules alone, POST", e.Decide(t.Context(), q), 403)
}

// TestHashPool: too much work is refused before it is begun, and one namespace does
// not take the turns of another.
func TestHashPool(t *testing.T) {
	t.Parallel()
	p := newHashPool(1, time.Now, nil)
	hold := make(chan struct{})
	began := make(chan struct{})
	go func() { _ = p.do(t.Context(), "slow", func() { close(began); <-hold }) }()
	<-began
	order := make(chan string, 100)
	ended := make(chan error, 100)
	enqueue := func(namespace string) {
		before := queued(p)
		go func() { ended <- p.do(t.Context(), namespace, func() { order <- namespace }) }()
		until(t, func() bool { return queued(p) > before })
	}
	for range mostQueued / 4 {
		enqueue("slow")
	}
	if err := p.do(t.Context(), "slow", func() {}); !errors.Is(err, errBusy) {
		t.Errorf("more than a quarter of the queue: %v", err)
	}
	enqueue("fast")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.do(gone, "gone", func() { order <- "gone" }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(hold)
	for range mostQueued/4 + 1 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	first := []string{<-order, <-order}
	if !slices.Contains(first, "fast") {
		t.Errorf("the first two are of %v", first)
	}
	close(order)
	for n := range order {
		if n == "gone" {
			t.Error("work is done that no request waits for")
		}
	}
	p.each = 600 * time.Millisecond
	p.free = 0
	go func() { _ = p.do(t.Context(), "a", func() {}) }()
	until(t, func() bool { return queued(p) > 0 })
	if err := p.do(t.Context(), "b", func() {}); !errors.Is(err, errBusy) {
		t.Errorf("more than a second of work: %v", err)
	}
}

func queued(p *hashPool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queued
}

// TestCredentials: HAProxy may keep a verdict only where it depends on the credentials
// alone, and brings nothing for the pod.
func TestCredentials(t *testing.T) {
	t.Parallel()
	basic, jwt := &snapshot.Basic{}, &snapshot.JWT{}
	cached := func(key ...string) *snapshot.External {
		return &snapshot.External{Cache: snapshot.Cache{TTL: time.Minute, Key: key}}
	}
	for name, test := range map[string]struct {
		p    snapshot.Policy
		want string
	}{
		"basic":                    {snapshot.Policy{Basic: basic}, "a"},
		"basic, user for the pod":  {snapshot.Policy{Basic: &snapshot.Basic{ForwardUser: "X-User"}}, ""},
		"basic, any":               {snapshot.Policy{Basic: basic, Satisfy: snapshot.Any}, ""},
		"basic, rule by path":      {snapshot.Policy{Basic: basic, Authorization: []authorize.Rule{{Paths: []authorize.Path{{}}}}}, ""},
		"basic, rule by user":      {snapshot.Policy{Basic: basic, Authorization: []authorize.Rule{{Consumers: []string{"a"}}}}, "a"},
		"jwt":                      {snapshot.Policy{JWT: jwt}, "a"},
		"jwt in a cookie":          {snapshot.Policy{JWT: &snapshot.JWT{From: []snapshot.Source{{Type: "Cookie", Name: "t"}}}}, ""},
		"jwt with claims":          {snapshot.Policy{JWT: &snapshot.JWT{Claims: []snapshot.ClaimHeader{{}}}}, ""},
		"jwt, optional":            {snapshot.Policy{JWT: &snapshot.JWT{Optional: true}}, ""},
		"external":                 {snapshot.Policy{External: &snapshot.External{}}, ""},
		"external, cached":         {snapshot.Policy{External: cached()}, "a"},
		"external, by cookie":      {snapshot.Policy{External: cached("Cookie:s")}, "c"},
		"external, by both":        {snapshot.Policy{External: cached("Cookie:s", "authorization")}, "ac"},
		"external, another header": {snapshot.Policy{External: cached("X-Token")}, ""},
		"external and basic":       {snapshot.Policy{External: cached("Cookie:s"), Basic: basic}, "ac"},
		"basic, counted by user":   {snapshot.Policy{Basic: basic, Identities: []snapshot.Identity{{}}}, "a"},
		"the same with keys":       {snapshot.Policy{Basic: basic, APIKeys: &snapshot.APIKeys{}, Identities: []snapshot.Identity{{}}}, ""},
		"session":                  {snapshot.Policy{OIDC: &snapshot.OIDC{}}, "s"},
		"session, rule by claim":   {snapshot.Policy{OIDC: &snapshot.OIDC{}, Authorization: []authorize.Rule{{Claims: []authorize.Claim{{}}}}}, "s"},
		"session, rule by path":    {snapshot.Policy{OIDC: &snapshot.OIDC{}, Authorization: []authorize.Rule{{Paths: []authorize.Path{{}}}}}, ""},
		"session with claims":      {snapshot.Policy{OIDC: &snapshot.OIDC{Claims: []snapshot.ClaimHeader{{}}}}, ""},
		"session, token for pods":  {snapshot.Policy{OIDC: &snapshot.OIDC{AccessToken: "Authorization"}}, ""},
		"session and basic":        {snapshot.Policy{OIDC: &snapshot.OIDC{}, Basic: basic}, ""},
		"session, any":             {snapshot.Policy{OIDC: &snapshot.OIDC{}, Satisfy: snapshot.Any}, ""},
		"session, API keys":        {snapshot.Policy{OIDC: &snapshot.OIDC{}, APIKeys: &snapshot.APIKeys{}}, ""},
		"session, shared limit":    {snapshot.Policy{OIDC: &snapshot.OIDC{}, Limits: []snapshot.Counted{{}}}, ""},
		"rules alone":              {snapshot.Policy{Authorization: []authorize.Rule{{}}}, ""},
	} {
		if got := test.p.Credentials(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestHandle: what HAProxy gets, from a frame and back.
func TestHandle(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		a    Answer
		want string
	}{
		"allow":              {Answer{Status: 200, TTL: 90 * time.Second}, "allow"},
		"refusal":            {Answer{Status: 401, Body: "no"}, "401"},
		"no rule for it":     {Answer{Status: 418}, "503"},
		"the zero answer":    {Answer{}, "503"},
		"a bad header":       {Answer{Status: 200, Set: []Header{{"X", "a\r\nb"}}}, "503"},
		"a bad name":         {Answer{Status: 200, Del: []string{"X Y"}}, "503"},
		"a long body":        {Answer{Status: 401, Body: strings.Repeat("x", 20000)}, "503"},
		"many headers":       {Answer{Status: 200, Set: []Header{{"X", strings.Repeat("x", 16000)}, {"Y", strings.Repeat("x", 16000)}}}, "503"},
		"a bad client value": {Answer{Status: 403, Client: []Header{{"Location", "a\nb"}}}, "503"},
	} {
		got := spop.Answered(16380, func(r *spop.Reply) { test.a.write(r) })
		if string(got["verdict"].Text()) != test.want {
			t.Errorf("%s: verdict %q, want %q", name, got["verdict"].Text(), test.want)
		}
		if test.want == "503" && (got["set"].Text() != nil || got["del"].Text() != nil) {
			t.Errorf("%s: parts of the answer are left", name)
		}
	}
}
