package soak

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/cluster"
	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/full"
)

// clients are addresses of clients: on no allow-list, and on one each.
var clients = []string{"127.0.0.2", "127.0.0.1", "10.0.0.1", "203.0.113.7"}

// explained is how many requests are compared, and mostExplained how many at most until all kinds of answers were among them.
const explained, mostExplained = 200, 2000

// answers are kinds of answers that are to be among them.
var answers = []string{"served", "302", "403", "404", "served by cookie", "passthrough"}

// TestExplain compares what explain says, from the API server's objects, with
// what HAProxy really does, over random requests to routes of the soak: with
// other paths, hosts, server names, headers, cookies and client addresses.
func TestExplain(t *testing.T) {
	for _, haproxy := range []string{"haproxy", "haproxy-3.2", "haproxy-3.0"} {
		t.Run(haproxy, func(t *testing.T) {
			if haproxy == "haproxy-3.2" {
				full.Only(t, "what routes of the soak have, 3.2 does as 3.4 or as 3.0")
			}
			b := newBed(t, haproxy)
			b.routes = min(size.routes, 60)
			for _, a := range clients[2:] {
				// It may be there from the test before.
				if out, err := exec.Command("ip", "addr", "replace", a+"/32", "dev", "lo").CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			if err := b.populate(t.Context()); err != nil {
				t.Fatal(err)
			}
			config, err := b.Config()
			if err != nil {
				t.Fatal(err)
			}
			objects, err := cluster.Read(t.Context(), config, rig.Namespace)
			if err != nil {
				t.Fatal(err)
			}
			w, err := explain.NewSnapshot(objects, explain.Options{Router: "default", Now: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("seed %d", b.seed)
			d, seen := newDice(b.CA, b.seed, 1<<20), map[string]int{}
			missing := func() []string {
				return slices.DeleteFunc(slices.Clone(answers), func(a string) bool { return seen[a] > 0 })
			}
			n := 0
			for ; n < explained || n < mostExplained && len(missing()) > 0; n++ {
				b.explain(t, w, d, seen)
			}
			t.Logf("%d requests by what was explained: %v", n, seen)
			if none := missing(); len(none) > 0 {
				t.Errorf("no request was %s, so this test proves little", strings.Join(none, " or "))
			}
		})
	}
}

// explain compares one request, and once more with the cookie that it gave.
func (b *bed) explain(t *testing.T, w *explain.Snapshot, d *dice, seen map[string]int) {
	t.Helper()
	r, args := d.request(b)
	for range 2 {
		e := explanation(t, w, args)
		got, err := askOnce(r, args)
		if err := errors.Join(happened(e, got, err)); err != nil {
			t.Errorf("%s, headers %q, server name %q, from %s: %v\nexplained: %+v", args.URL, args.Headers, args.SNI, args.ClientIP, err, e)
			return
		}
		seen[summary(e)]++
		cookies := (&http.Response{Header: got.Header}).Cookies()
		if len(cookies) != 1 || !e.Served || e.Listener.Name == "passthrough" {
			return
		}
		args.Headers = append(slices.Clone(args.Headers), "Cookie: other=1; "+cookies[0].Name+"="+cookies[0].Value)
	}
}

func summary(e *explain.Explanation) string {
	switch {
	case e.Served && e.Listener.Name == "passthrough":
		return "passthrough"
	case e.Served && slices.ContainsFunc(e.Endpoints, func(p explain.Endpoint) bool { return p.Sticky }):
		return "served by cookie"
	case e.Served:
		return "served"
	case e.Result.Status == 0:
		return "closed"
	}
	return fmt.Sprint(e.Result.Status)
}

// request draws a request near a route: what it answers, or something that
// differs in a few things.
func (d *dice) request(b *bed) (rig.Request, explain.RequestArgs) {
	states := slices.Clone(b.stable)
	for _, s := range b.subjects {
		states = append(states, s.now())
	}
	s, other := pick(d, states...), pick(d, states...)
	t := s.target(d.IntN(2) == 0)
	if d.IntN(8) == 0 {
		t.secure = !t.secure
	}
	if d.IntN(3) == 0 {
		t.path = pick(d, "/", "/"+strings.TrimPrefix(s.path+"x", "/"), s.path+"/", s.path+"/deep/er", "/a", "/a/b", "/a/b/c", "/%61/x", other.path+"/y") + pick(d, "", "?q=/a")
	}
	args := explain.RequestArgs{ClientIP: clients[0]}
	if d.IntN(3) == 0 {
		args.ClientIP = pick(d, clients...)
	}
	scheme := "http://"
	if t.secure {
		scheme = "https://"
	}
	host := pick(d, t.host, t.host, t.host, t.host, strings.ToUpper(t.host), t.host+":8443", "nobody."+rig.Domain)
	args.URL = scheme + host + t.path
	if t.secure && d.IntN(6) == 0 {
		args.SNI, args.SNISet = pick(d, other.host, strings.ToUpper(t.host), "-"), true
	}
	if d.IntN(6) == 0 {
		args.Headers = append(args.Headers, "Host: "+other.host)
	}
	if d.IntN(4) == 0 {
		args.Headers = append(args.Headers, pick(d, "X-Forwarded-For: 203.0.113.9", "X-Soak: from the client", "Cookie: one=nonsense; two=nonsense"))
	}
	return rig.Request{Method: pick(d, http.MethodGet, http.MethodPost), Path: t.path, From: args.ClientIP}, args
}

func explanation(t *testing.T, w *explain.Snapshot, args explain.RequestArgs) *explain.Explanation {
	t.Helper()
	request, err := explain.ParseRequest(args)
	if err != nil {
		t.Fatal(err)
	}
	return w.Explain(request)
}

// askOnce sends what was explained.
func askOnce(r rig.Request, args explain.RequestArgs) (rig.Answer, error) {
	scheme, rest, _ := strings.Cut(args.URL, "://")
	r.Host, _, _ = strings.Cut(rest, "/")
	if r.Name = args.SNI; !args.SNISet {
		r.Name, _, _ = strings.Cut(r.Host, ":")
	}
	r.Header = nil
	for _, h := range args.Headers {
		if host, ok := strings.CutPrefix(h, "Host: "); ok {
			r.Host = host
			continue
		}
		r.Header = append(r.Header, h)
	}
	p := rig.NewProbe(scheme == "https")
	defer p.Close()
	return p.Ask(r)
}

// happened compares an explanation with an answer, or with none.
func happened(e *explain.Explanation, a rig.Answer, err error) error {
	switch closed := err != nil; {
	case closed && (e.Served || e.Result.Status != 0):
		return fmt.Errorf("no answer: %w", err)
	case closed:
		return nil
	case !e.Served && a.Status != e.Result.Status:
		return fmt.Errorf("status %d", a.Status)
	case e.Result.Location != "" && a.Header.Get("Location") != e.Result.Location:
		return fmt.Errorf("redirected to %s", a.Header.Get("Location"))
	case e.Served && a.Status != http.StatusOK:
		return fmt.Errorf("status %d", a.Status)
	}
	if err := showedCertificate(e, a); err != nil || !e.Served {
		return err
	}
	return servedAs(e, a)
}

func showedCertificate(e *explain.Explanation, a rig.Answer) error {
	switch c := e.Certificate; {
	case c == nil && a.Certificate == nil:
		return nil
	case c == nil || a.Certificate == nil:
		return errors.New("a certificate was shown, or was not")
	case c.Source == "route" && !slices.Equal(c.Names, a.Certificate.DNSNames),
		c.Source == "pod" && !slices.Equal(a.Certificate.DNSNames, []string{rig.PodHost}),
		c.Source == "default" && slices.Contains(a.Certificate.DNSNames, rig.PodHost):
		return fmt.Errorf("the certificate was for %s", a.Certificate.DNSNames)
	}
	return nil
}

// servedAs compares who answered, and what it saw.
func servedAs(e *explain.Explanation, a rig.Answer) error {
	sticky := slices.ContainsFunc(e.Endpoints, func(p explain.Endpoint) bool { return p.Sticky })
	from := slices.ContainsFunc(e.Endpoints, func(p explain.Endpoint) bool {
		ip, _, err := net.SplitHostPort(p.Address)
		return err == nil && ip == a.Body && (p.Sticky || !sticky && p.Weight > 0)
	})
	if !from {
		return fmt.Errorf("pod %s answered", a.Body)
	}
	if e.Listener.Name == "passthrough" {
		return nil
	}
	path := e.Path
	if e.PodPath != "" {
		path = e.PodPath
	}
	if got := a.Header.Get("X-Path"); got != path && got != strings.ReplaceAll(path, "%61", "a") {
		return fmt.Errorf("the pod saw path %q", got)
	}
	want := ""
	for _, p := range e.Policies {
		if v, ok := strings.CutPrefix(p.Value, "set X-Soak: "); ok {
			want = v
		}
	}
	if got := a.Header.Get("X-Soak"); got != want {
		return fmt.Errorf("header X-Soak is %q, not %q", got, want)
	}
	return nil
}
