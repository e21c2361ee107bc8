package cases

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// universe makes random changes among few names, so that they meet often.
type universe struct {
	*rand.Rand
	t    *testing.T
	uids int
	// invalid makes some routes invalid, so that what is served depends on
	// what was before.
	invalid bool
	// policies come and go, too.
	policies bool
	// unbounded has no bounds that an IngressController cannot say.
	unbounded bool
}

var (
	someHosts = []string{"a.u.test", "b.u.test", "a.b.u.test", "u.test"}
	somePaths = []string{"", "/", "/foo", "/foo/", "/foo/bar", "/foo/bar/", "/a;b", "/fo"}
	// Patterns are for the same paths.
	somePatterns = []string{"/foo(/|$)", "/fo+", "/foo/b[a-z]+$", "/FOO/", "/f.*r$", "/foo/?", "/(x|a)", "/foo/[^/]*/baz", "/.*", `/\.[a-z]+`}
	badPatterns  = []string{"/fo(o", "/foo/(b+)+r", "", "/%66oo", "foo"}
	// A request may have any of these paths, too.
	otherPaths = []string{"/foobar", "/foo//bar", "/.env", "/foo/bar/baz", "/foo/!x", "/x", "//", "/%66oo", "/a", "/foo/./bar", "/x/../foo", "/foo;v=1/bar", "/fo%6F/bar", "/foo%2fbar", "/%2566oo", "/;/foo", "/foo/..;/x"}
	spaces     = []string{"u1", "u2"}
)

func pick[T any](u *universe, from []T) T { return from[u.IntN(len(from))] }

func (u *universe) route() *routev1.Route {
	u.uids++
	r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{
		Namespace: pick(u, spaces), Name: fmt.Sprintf("r%d", u.IntN(8)), Annotations: map[string]string{},
		CreationTimestamp: metav1.Unix(int64(u.IntN(4)), 0),
	}}
	if u.IntN(3) == 0 {
		r.UID = types.UID(fmt.Sprintf("fresh-%d", u.uids)) // deleted and created again
	}
	r.Spec.Host, r.Spec.Path = pick(u, someHosts), pick(u, somePaths)
	if u.IntN(4) == 0 {
		r.Spec.WildcardPolicy = routev1.WildcardPolicySubdomain
	}
	if u.IntN(4) == 0 {
		r.Annotations["fairlead.dev/path-type"] = "Exact"
		if u.invalid || r.Spec.Path == "" || r.Spec.Path == "/" {
			r.Annotations["fairlead.dev/path-type"] = pick(u, []string{"Exact", "Default"})
		}
	}
	if u.IntN(4) == 0 {
		r.Annotations["fairlead.dev/path-type"] = pick(u, []string{"Regex", "RegexIgnoreCase"})
		if r.Spec.Path = pick(u, somePatterns); u.invalid && u.IntN(4) == 0 {
			r.Spec.Path = pick(u, badPatterns)
		}
	}
	if u.IntN(8) == 0 {
		r.Annotations["fairlead.dev/any-host"] = "true"
	}
	if u.IntN(4) == 0 {
		r.Annotations["haproxy.router.openshift.io/balance"] = pick(u, []string{"roundrobin", "leastconn", "bad"})
	}
	if u.IntN(4) == 0 {
		r.Annotations["haproxy.router.openshift.io/rewrite-target"] = pick(u, []string{"/", "/to", "/to/", "/foo/bar", `/$1\1`})
	}
	if u.IntN(4) == 0 {
		r.Annotations["fairlead.dev/rewrite"] = pick(u, []string{"/foo(/|$)(.*) /$2", "(?i)/FOO/?(b[^/]*)?(.*) /$2/$1", "(.*) $1/x", "/(a+)+b /no"})
	}
	if u.IntN(6) == 0 {
		r.Annotations["haproxy.router.openshift.io/ip_allowlist"] = "127.0.0.0/8 198.18.0.0/15"
	}
	if u.invalid && u.IntN(12) == 0 {
		r.Annotations["haproxy.router.openshift.io/ip_whitelist"] = "nobody"
	}
	if u.policies && u.IntN(3) == 0 {
		r.Labels = map[string]string{"tier": pick(u, someTiers)}
	}
	if u.policies && u.IntN(8) == 0 {
		r.Annotations["fairlead.dev/policy"] = fmt.Sprintf("p%d", u.IntN(4))
	}
	if u.policies && u.IntN(4) == 0 {
		u.ofIngress(r)
	}
	r.Spec.To.Name = pick(u, []string{"s1", "s2", "none"})
	if u.IntN(3) == 0 {
		weight := int32(u.IntN(3) * 50)
		r.Spec.AlternateBackends = []routev1.RouteTargetReference{{Name: "s2", Weight: &weight}}
	}
	policies := []routev1.InsecureEdgeTerminationPolicyType{"", "Allow", "Redirect"}
	switch u.IntN(5) {
	case 0:
		r.Spec.TLS = &routev1.TLSConfig{Termination: "edge", InsecureEdgeTerminationPolicy: pick(u, policies)}
		if u.IntN(2) == 0 {
			p := pki().leaf(u.t, pick(u, []string{"u-1", "u-2"}))
			r.Spec.TLS.Certificate, r.Spec.TLS.Key = p.certPEM, p.keyPEM
		}
	case 1:
		r.Spec.TLS = &routev1.TLSConfig{Termination: "reencrypt", DestinationCACertificate: pki().ca(u.t, "ca").certPEM}
		r.Spec.To.Name, r.Spec.AlternateBackends = "tls", nil
	case 2:
		r.Spec.TLS = &routev1.TLSConfig{Termination: "passthrough", InsecureEdgeTerminationPolicy: pick(u, []routev1.InsecureEdgeTerminationPolicyType{"", "Redirect"})}
		r.Spec.Path, r.Spec.To.Name, r.Spec.AlternateBackends = "", "tls", nil
	}
	return r
}

func (u *universe) services() change {
	var s step
	var lines []string
	for i, space := range spaces {
		for j, name := range []string{"s1", "s2"} {
			line := fmt.Sprintf("%s/%s http=8080", space, name)
			for p := range u.IntN(3) {
				line += fmt.Sprintf(" p%d@198.18.250.%d", p, 60+i*20+j*10+p)
			}
			lines = append(lines, line)
		}
		lines = append(lines, fmt.Sprintf("%s/tls https=8443 t@198.18.250.%d", space, 100+i))
	}
	if err := s.services(lines); err != nil {
		u.t.Fatal(err)
	}
	return s.change
}

// change is one to three random changes at once.
func (u *universe) change() change {
	var c change
	for range 1 + u.IntN(3) {
		switch n := u.IntN(8); {
		case n > 5 && u.policies:
			u.policyChange(&c)
		case n == 0:
			c.del = append(c.del, model.Object{Kind: route.Kind, Namespace: pick(u, spaces), Name: fmt.Sprintf("r%d", u.IntN(8))})
		case n == 1:
			s := u.services()
			i := 2 * u.IntN(len(s.put)/2)
			c.put = append(c.put, s.put[i:i+2]...)
		default:
			c.put = append(c.put, u.route())
		}
	}
	if u.IntN(12) == 0 {
		c.settings = &door.Settings{RouterName: "cases", WildcardsAllowed: u.IntN(3) > 0, InterNamespace: u.IntN(2) == 0}
		if !u.unbounded {
			c.settings.NamespaceChecks, c.settings.NamespacePatterns, c.settings.Patterns = u.IntN(3), u.IntN(3), u.IntN(4)
		}
	}
	return c
}

func newUniverse(t *testing.T) *universe {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return &universe{Rand: rand.New(rand.NewPCG(seed, 1)), t: t}
}

// TestIncremental compares, after every change of long random sequences, the
// incremental state with that of computing everything from scratch. HAProxy refuses
// some of what it is given.
func TestIncremental(t *testing.T) {
	t.Parallel()
	for i := range 21 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			u := newUniverse(t)
			if i == 20 { // it had claims for no path as a version to go back to
				u.Rand = rand.New(rand.NewPCG(1795832589881519092, 1))
			}
			u.invalid, u.policies = true, i < 20 && i%2 == 0
			k := newCore(t)
			k.apply(u.services())
			for n := range 100 {
				touched := k.propose(u.change())
				for u.IntN(3) == 0 { // HAProxy refuses some
					_, more, _ := k.pipeline.Refuse(model.Object{Kind: route.Kind, Namespace: pick(u, spaces), Name: fmt.Sprintf("r%d", u.IntN(8))}, "at random")
					maps.Copy(touched, more)
				}
				k.pipeline.Accept(touched)
				if err := k.equalsFull(t); err != nil {
					t.Fatalf("after change %d: %v", n, err)
				}
			}
		})
	}
}

// TestMatchEqualsHAProxy sends random requests at random route sets, which
// change under the running HAProxy: it decides as the tables do.
func TestMatchEqualsHAProxy(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.start()
	u := newUniverse(t)
	u.invalid = true
	k := newCore(t)
	apply := func(c change) {
		b.apply(c)
		k.apply(c)
	}
	apply(u.services())
	apply(change{settings: &door.Settings{RouterName: "cases", WildcardsAllowed: true}})
	for n := range 30 {
		apply(u.change())
		for range 15 {
			scheme := pick(u, []string{"http", "https"})
			host := pick(u, append([]string{"c.u.test", "x.b.u.test", "test", "A.U.TEST", "nobody.test"}, someHosts...))
			line := fmt.Sprintf("GET %s://%s/ target=%s -> x", scheme, host, pick(u, append(otherPaths, somePaths[1:]...)))
			e, err := parseLine(line)
			if err != nil {
				t.Fatal(err)
			}
			if e.request.tls && u.IntN(4) == 0 {
				e.request.sni = pick(u, someHosts)
			}
			d := decide(k.pipeline.Want(), &e.request)
			res := e.request.do(b.http, b.https)
			if err := errors.Join(d.exactly(res), d.rewritten(&e.request, res)); err != nil {
				t.Fatalf("after change %d: %s: %v", n, line, err)
			}
		}
	}
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
	if err := b.sameAs(k); err != nil {
		t.Error(err)
	}
}

// rewritten compares the path that a pod saw with what the policy says.
func (d decision) rewritten(r *request, res response) error {
	if res.pod == nil || strings.HasPrefix(d.value, string(model.KindTCP)) {
		return nil
	}
	path := r.target
	_, record, _ := strings.Cut(d.target, "|")
	if text := model.RecordField(record, model.FieldStrip); text != "" {
		strip, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		if rest := path[min(strip, len(path)):]; rest != "" {
			path = model.RecordField(record, model.FieldRewrite) + rest
		} else {
			path = model.RecordField(record, model.FieldRewriteEmpty)
		}
	}
	if text := model.RecordField(record, model.FieldPattern); text != "" {
		fields := strings.Split(text, ":")
		longest, err1 := strconv.Atoi(fields[0])
		pattern, err2 := hex.DecodeString(fields[1])
		replacement, err3 := hex.DecodeString(fields[2])
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		raw, query, asked := strings.Cut(path, "?")
		if path = regex.Replace(string(pattern), string(replacement), longest, raw).Path; asked {
			path += "?" + query
		}
	}
	if res.pod.Path != path {
		return fmt.Errorf("the pod saw %q, not %q", res.pod.Path, path)
	}
	return nil
}

// exactly demands that the response is what the decision leads to.
func (d decision) exactly(r response) error {
	e := &expectation{request: request{target: "/"}, status: 200}
	if d.backend != nil && !d.alive() && r.status != 503 && r.err == nil && r.pod == nil {
		return fmt.Errorf("no server of %s can answer, but HAProxy gives %d", d.value, r.status)
	}
	return d.agrees(e, r)
}

// sameAs compares what HAProxy has with what it should have, save what still
// waits to be removed.
func (b *bed) sameAs(k *core) error {
	want, got := k.pipeline.Want(), b.readBack()
	for e, v := range want.Entries {
		if got.Entries[e] != v {
			return fmt.Errorf("entry %v is %q, want %q", e, got.Entries[e], v)
		}
	}
	for e, v := range got.Entries {
		backend, policy := e.Policy()
		if gone := policy && want.Backends[backend] == nil; gone {
			continue // it goes after a pause
		}
		if _, ok := want.Entries[e]; !ok {
			return fmt.Errorf("entry %v %q is left over", e, v)
		}
	}
	for name, w := range want.Backends {
		h := got.Backends[name]
		if h == nil {
			return fmt.Errorf("backend %s is missing", name)
		}
		for _, s := range w.Servers {
			if g := h.Servers.Get(s.Name); g == nil || g.Stopped || g.Weight != s.Weight || g.Address != s.Address {
				return fmt.Errorf("server %s/%s is %+v, want %+v", name, s.Name, g, s)
			}
		}
	}
	for filter, id := range want.Lines {
		if got.Lines[filter] != id {
			return fmt.Errorf("certificate of %s is %s, want %s", filter, got.Lines[filter], id)
		}
	}
	return nil
}
