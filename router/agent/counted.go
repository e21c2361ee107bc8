package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/share"
	"github.com/fairlead/fairlead/router/share/peers"
	"github.com/fairlead/fairlead/router/spop"
)

// countMessage is what HAProxy sends to have a request counted.
const countMessage = "count"

// join tells the member of the other replicas.
func (e *Engine) join(r *snapshot.Replicas) {
	if e.member == nil || r.Equal(e.replicas) {
		return
	}
	e.replicas = r
	if r == nil {
		e.member.Set(peers.Config{})
		return
	}
	certificates, err := peers.Read(r.Certificates, e.now())
	if err != nil {
		e.log.Error("shared limits: the certificates for other routers cannot be used; those of before stay", "err", err)
	} else {
		e.shown = certificates
	}
	at := func(a netip.Addr, worker int) string {
		return net.JoinHostPort(a.String(), strconv.Itoa(r.Port+worker))
	}
	c := peers.Config{Self: at(r.Self, e.worker), Certificates: e.shown}
	for _, a := range r.Members {
		c.Members = append(c.Members, at(a, 0), at(a, 1))
	}
	slices.Sort(c.Members)
	e.member.Set(c)
}

// countsBy are the keys of limits over all replicas. Who a client is, only policies that
// authenticate know; others count by its address.
func countsBy() []string {
	return []string{"Address", "Header", "Cookie", "Query", "Host", "None", byConsumer, byClaim}
}

const byConsumer, byClaim = "Consumer", "Claim"

// checkCounted checks limits over all replicas.
func checkCounted(limits []snapshot.Counted) error {
	if len(limits) > snapshot.MaxCounted {
		return fmt.Errorf("more than %d limits", snapshot.MaxCounted)
	}
	for i := range limits {
		c := &limits[i]
		if err := limitOf(c).Check(); err != nil || c.ID == "" {
			return fmt.Errorf("limit %q cannot be counted", c.Title)
		}
		if c.Status != tooMany && c.Status != unavailable {
			return fmt.Errorf("limit %q has the status %d", c.Title, c.Status)
		}
		if !slices.Contains(countsBy(), c.By) {
			return fmt.Errorf("limit %q counts by %q", c.Title, c.By)
		}
	}
	return nil
}

func limitOf(c *snapshot.Counted) share.Limit {
	return share.Limit{Requests: c.Requests, Per: c.Per, Burst: c.Burst}
}

// count answers whether a request is within the limits of a policy.
func (e *Engine) count(ctx context.Context, r *spop.Request, out *spop.Reply) {
	headers, err := spop.ParseHeaders(r.Arg("hdrs").Text())
	p := e.world.Load().policies[string(r.Arg("p").Text())]
	if err != nil || p == nil || p.err != nil || len(p.counted) == 0 || e.member == nil {
		refuseCount(out, unavailable, time.Second)
		return
	}
	q := &Question{Method: string(r.Arg("method").Text()), Target: string(r.Arg("path").Text()), Host: string(r.Arg("host").Text()), Client: r.Arg("src").Addr().Unmap(), Headers: headers}
	if !q.Client.IsValid() {
		refuseCount(out, unavailable, time.Second)
		return
	}
	t := e.take(ctx, p.namespace, p.counted, q, nil)
	setHeaders(out, "cset", t.headers)
	if t.status != allowed {
		refuseCount(out, t.status, t.wait)
		return
	}
	out.SetString(spop.ScopeTransaction, "count", "ok")
}

// tally is what limits over all replicas say about a request.
type tally struct {
	// status is 200 if it is within all of them.
	status int
	// wait is for how long it is not, and title the name of the limit that it exceeds.
	wait  time.Duration
	title string
	// headers say so to the client.
	headers []Header
}

// take counts a request. Without anything that counts, none is within a limit. The identity
// is nil where it is not known.
func (e *Engine) take(ctx context.Context, namespace string, limits []snapshot.Counted, q *Question, id *identity) tally {
	if e.member == nil {
		return tally{status: unavailable, wait: time.Second}
	}
	path, _, _ := strings.Cut(q.Target, "?")
	path, plain := match.Normal(path)
	var told *snapshot.Counted
	var wait time.Duration
	for i := range limits {
		c := &limits[i]
		if !c.Match.Has(q.Method, path, plain) || slices.ContainsFunc(c.Exempt, func(n netip.Prefix) bool { return n.Contains(q.Client) }) {
			continue
		}
		v := e.member.Take(ctx, share.Key{Namespace: namespace, Name: c.ID + "/" + countKey(c, q, id)}, limitOf(c))
		switch {
		case v.Admitted:
			told = cmp.Or(told, c)
			continue
		case c.DryRun:
			if wait == 0 {
				told, wait = c, v.Wait
			}
			continue
		}
		if v.Reason != share.Over { // what cannot be counted is no client's fault
			return tally{status: unavailable, wait: v.Wait, title: c.Title}
		}
		return tally{status: c.Status, wait: v.Wait, title: c.Title, headers: limitHeaders(c, max(v.Wait, time.Second))}
	}
	if told == nil {
		return tally{status: allowed}
	}
	return tally{status: allowed, headers: limitHeaders(told, wait)}
}

// within counts a request that the policy lets on by who the client is. If not ok, the answer
// refuses it, and still sets the cookies of a session that the request has renewed.
func (p *policy) within(ctx context.Context, e *Engine, q *Question, id *identity, a *Answer) (refused Answer, ok bool) {
	if len(p.limits) == 0 {
		return Answer{}, true
	}
	at := *q
	if at.Client = q.Client.Unmap(); !at.Client.IsValid() {
		return refuse(unavailable, groupLimits, "no address"), false
	}
	id.consumer = a.Consumer
	t := e.take(ctx, p.namespace, p.limits, &at, id)
	a.Limits = t.headers
	if t.status == allowed {
		return Answer{}, true
	}
	refused = Answer{Status: t.status, Reason: "limit " + t.title, group: groupLimits, from: fromAgent, Consumer: a.Consumer, Limits: t.headers, Body: tooManyText}
	refused.Client = []Header{{"Retry-After", strconv.FormatInt(wholeSeconds(t.wait), 10)}}
	for _, h := range slices.Concat(a.Client, a.Success) {
		if strings.EqualFold(h.Name, "Set-Cookie") {
			refused.Client = append(refused.Client, h)
		}
	}
	return refused, false
}

// groupLimits is the group of verdicts by limits, and tooManyText what clients read then.
const groupLimits, tooManyText = "limits", "Too many requests.\n"

// refuseCount refuses a request for so long.
func refuseCount(out *spop.Reply, status int, wait time.Duration) {
	out.SetInt(spop.ScopeTransaction, "wait", wholeSeconds(wait))
	out.SetString(spop.ScopeTransaction, "count", strconv.Itoa(status))
}

// wholeSeconds rounds up, to one at least.
func wholeSeconds(d time.Duration) int64 { return max(int64((d+time.Second-1)/time.Second), 1) }

// limitHeaders are those about a limit. How many requests are left is known to no
// replica, so only a refusal says it: none.
func limitHeaders(c *snapshot.Counted, wait time.Duration) (list []Header) {
	burst := strconv.FormatInt(c.Burst, 10)
	switch c.Headers {
	case "Draft":
		window := wholeSeconds(time.Duration(float64(c.Per) * float64(c.Burst) / float64(c.Requests)))
		list = append(list, Header{"RateLimit-Policy", fmt.Sprintf("%q;q=%s;w=%d", c.Title, burst, window)})
		if wait > 0 {
			list = append(list, Header{"RateLimit", fmt.Sprintf("%q;r=0;t=%d", c.Title, wholeSeconds(wait))})
		}
	case "Legacy":
		list = append(list, Header{"X-RateLimit-Limit", burst})
		if wait > 0 {
			list = append(list, Header{"X-RateLimit-Remaining", "0"}, Header{"X-RateLimit-Reset", strconv.FormatInt(wholeSeconds(wait), 10)})
		}
	}
	return list
}

// countKey is what a request has in common with those that are counted together. Where it
// lacks that, it is the client's address.
func countKey(c *snapshot.Counted, q *Question, id *identity) string {
	value := ""
	switch c.By {
	case byConsumer, byClaim:
		if id != nil {
			value = identityOf(c.Name, id.consumer, id.claims)
		}
	case "None":
		return "="
	case "Host":
		host, _, _ := strings.Cut(q.Host, ":")
		value = strings.TrimSuffix(strings.ToLower(host), ".")
	case "Header":
		text, n := q.Headers.Get(strings.ToLower(c.Name))
		if n > 0 {
			value = string(text)
		}
	case "Cookie":
		value = cookieOf(q.Headers, c.Name)
	case "Query":
		value = parameterOf(q.Target, c.Name)
	}
	if value != "" {
		sum := sha256.Sum256([]byte(value))
		return "=" + hex.EncodeToString(sum[:16])
	}
	bits := q.Client.BitLen()
	if bits == 128 {
		bits = cmp.Or(c.Bits, 64)
	}
	network, err := q.Client.WithZone("").Prefix(bits)
	if err != nil {
		return q.Client.WithZone("").String()
	}
	return network.String()
}

func cookieOf(h spop.Headers, name string) string {
	for n, v := range h.All() {
		if !strings.EqualFold(string(n), "cookie") {
			continue
		}
		r := http.Request{Header: http.Header{textproto.CanonicalMIMEHeaderKey("cookie"): {string(v)}}}
		if c, err := r.Cookie(name); err == nil {
			return c.Value
		}
	}
	return ""
}

func parameterOf(target, name string) string {
	_, query, _ := strings.Cut(target, "?")
	for query != "" {
		var part string
		part, query, _ = strings.Cut(query, "&")
		key, value, _ := strings.Cut(part, "=")
		if k, err := url.QueryUnescape(key); err == nil && k == name {
			return value
		}
	}
	return ""
}
