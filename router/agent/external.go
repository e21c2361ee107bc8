package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
)

// Bounds of external authentication.
const (
	defaultTimeout  = time.Second
	shortestTimeout = 50 * time.Millisecond
	longestTimeout  = 5 * time.Second
	longestTTL      = time.Hour
	longestNegative = 10 * time.Second
	// longestBody is how much of a refusal's body the client gets.
	longestBody = 16 << 10
	mostNames   = 64
)

// external is authentication by another server.
type external struct {
	url       *url.URL
	endpoints endpoints
	client    *http.Client
	original  bool
	// request are the plain names of the headers that are sent; empty is all.
	request  []string
	response []string
	toClient []string
	signIn   *url.URL
	param    string
	always   bool
	timeout  time.Duration
	refuse3x bool
	cache    snapshot.Cache
}

func (e *Engine) newExternal(x *snapshot.External) (*external, error) {
	u, err := url.Parse(x.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, errors.New("external: not a URL of http or https with a host")
	}
	m := &external{
		url: u, endpoints: endpoints{x.Endpoints, x.ByEndpoints, new(atomic.Uint32)}, response: x.ResponseHeaders, toClient: x.ClientHeaders,
		param: "rd", always: x.SetCookieAlways, refuse3x: x.RefuseRedirects, cache: x.Cache, timeout: defaultTimeout,
	}
	if m.original = x.Method == "Original"; !m.original && x.Method != "" && x.Method != http.MethodGet {
		return nil, fmt.Errorf("external: unknown method %q; use one of: GET, Original", x.Method)
	}
	if x.Timeout != 0 {
		m.timeout = min(max(x.Timeout, shortestTimeout), longestTimeout)
	}
	m.cache.TTL, m.cache.Negative = min(m.cache.TTL, longestTTL), min(m.cache.Negative, longestNegative)
	if len(m.toClient) == 0 {
		m.toClient = []string{"WWW-Authenticate", "Set-Cookie", "Location", "Content-Type"}
	}
	for _, n := range x.RequestHeaders {
		m.request = append(m.request, plainName([]byte(n)))
	}
	slices.Sort(m.request)
	if err := m.checkNames(x); err != nil {
		return nil, err
	}
	if err := m.readSignIn(x.SignIn); err != nil {
		return nil, err
	}
	transport, err := e.transport(transportKey{ca: x.CA})
	if err != nil {
		return nil, fmt.Errorf("external: %w", err)
	}
	m.client = &http.Client{Transport: transport, CheckRedirect: noRedirects}
	return m, nil
}

// checkNames checks the names of headers, and gives the cache its key.
func (m *external) checkNames(x *snapshot.External) error {
	for _, n := range slices.Concat(x.ResponseHeaders, m.toClient, x.RequestHeaders) {
		if !spop.ValidName(n) {
			return fmt.Errorf("external: %q is not the name of a header", n)
		}
	}
	if len(x.ResponseHeaders)+len(m.toClient)+len(m.request)+len(m.cache.Key) > mostNames {
		return fmt.Errorf("external: more than %d names of headers", mostNames)
	}
	if m.cache.TTL <= 0 && m.cache.Negative <= 0 {
		return nil
	}
	if len(m.cache.Key) == 0 {
		m.cache.Key = []string{"Authorization"}
	}
	for _, k := range m.cache.Key {
		if !credential(k) {
			return fmt.Errorf("external: answers cannot be kept by %q: use Authorization, Cookie:NAME, or a header that holds a credential", k)
		}
	}
	return nil
}

// credential reports whether answers may be kept by a header or cookie. Those that the
// router or the connection makes say nothing about who the client is.
func credential(name string) bool {
	if c, ok := strings.CutPrefix(name, "Cookie:"); ok {
		return c != ""
	}
	plain := plainName([]byte(name))
	return spop.ValidName(name) && !ofAgent(plain) && !ofConnection(plain) && plain != "user-agent" && !strings.HasPrefix(plain, "accept")
}

func (m *external) readSignIn(s *snapshot.SignIn) error {
	if s == nil {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !spop.ValidValue(s.URL) {
		return errors.New("external: signIn is not a URL of http or https with a host")
	}
	m.signIn = u
	if s.Param != "" {
		m.param = s.Param
	}
	return nil
}

func (m *external) mapped() []string { return m.response }

// decide asks the server, or takes its last answer about the same credentials.
func (m *external) decide(ctx context.Context, e *Engine, p *policy, q *Question, _ *identity) Answer {
	// The server and the pod could each take another one.
	if _, n := q.Headers.Get("authorization"); n > 1 {
		return refuse(badRequest, groupExternal, "several Authorization headers")
	}
	k, cached := m.key(e, p, q)
	if !cached {
		a, _ := m.ask(ctx, e, p, q)
		return m.finish(a, q)
	}
	// The question is copied, because its computation may outlive the frame.
	copied := q.clone()
	a, kept, err := e.cache.once(ctx, k, m.timeout+time.Second, func(ctx context.Context) (Answer, time.Duration) {
		return m.ask(ctx, e, p, copied)
	})
	if err != nil {
		return refuse(unavailable, groupExternal, "no time left")
	}
	if kept {
		a.from = fromCache
	}
	return m.finish(a, q)
}

// clone returns a question that does not point into a frame.
func (q *Question) clone() *Question {
	c := *q
	c.Headers = q.Headers.Clone()
	return &c
}

// key returns what the answer is kept by. It reports false for requests without any of
// the credentials, which are always asked about.
func (m *external) key(e *Engine, p *policy, q *Question) (key, bool) {
	if m.cache.TTL <= 0 && m.cache.Negative <= 0 {
		return key{}, false
	}
	parts := []string{p.hash, groupExternal}
	if safe := q.Method == http.MethodGet || q.Method == http.MethodHead || q.Method == http.MethodOptions; !safe {
		parts = append(parts, q.Method)
	} else {
		parts = append(parts, "safe")
	}
	shown := false
	for _, name := range m.cache.Key {
		var value string
		var ok bool
		if c, isCookie := strings.CutPrefix(name, "Cookie:"); isCookie {
			value, ok = cookie(q.Headers, c)
		} else {
			v, n := q.Headers.Get(strings.ToLower(name))
			if n > 1 {
				return key{}, false
			}
			value, ok = string(v), n == 1
		}
		shown = shown || ok && value != ""
		parts = append(parts, fmt.Sprint(ok), value)
	}
	return e.keyOf(parts...), shown
}

// ask asks the server once. The second result is for how long the answer may be kept.
func (m *external) ask(ctx context.Context, e *Engine, p *policy, q *Question) (Answer, time.Duration) {
	if !e.slots.take(p.namespace) {
		e.metrics.shed.Inc()
		return refuse(unavailable, groupExternal, "too much work"), 0
	}
	defer e.slots.give(p.namespace)
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	ctx = context.WithValue(ctx, endpointsKey{}, m.endpoints)
	r, err := m.newRequest(ctx, q)
	if err != nil {
		return refuse(unavailable, groupExternal, "AuthServerError: "+short(err.Error())), 0
	}
	began := e.now()
	answer, err := m.client.Do(r)
	e.metrics.upstream.WithLabelValues(groupExternal).Observe(e.now().Sub(began).Seconds())
	if errors.Is(err, context.Canceled) { // HAProxy does not wait any more
		return refuse(unavailable, groupExternal, "AuthServerError: "+causeNoAnswer), 0
	}
	if err != nil {
		return m.failed(e, p, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, longestBody+1))
	if err != nil {
		return m.failed(e, p, err)
	}
	if a, ttl, good := m.read(answer, body); good {
		return a, ttl
	}
	return m.failed(e, p, &answerError{fmt.Errorf("status %d", answer.StatusCode)})
}

// failed refuses a question that the server did not answer, and notes that for the policy.
func (m *external) failed(e *Engine, p *policy, err error) (Answer, time.Duration) {
	cause := m.cause(err)
	if asked, ok := errors.AsType[*url.Error](err); ok {
		err = asked.Err // without the URL, whose query may be a secret
	}
	if e.servers.failed(p.id, m.url, cause, e.now()) {
		e.log.Error("an auth server does not decide", "policy", p.id, "err", terminal.Excerpt(err.Error(), mostLogged))
	}
	return refuse(unavailable, groupExternal, "AuthServerError: "+cause), 0
}

// read turns the server's answer into one for the client or the pod; good is false if it is none.
func (m *external) read(answer *http.Response, body []byte) (a Answer, keepFor time.Duration, good bool) {
	status := answer.StatusCode
	a = Answer{Status: status, group: groupExternal, from: fromAgent}
	keep := !strings.Contains(strings.ToLower(answer.Header.Get("Cache-Control")), "no-store") && len(answer.Header["Set-Cookie"]) == 0
	switch {
	case status >= 200 && status < 300:
		m.admit(&a, answer.Header)
		if keep {
			a.TTL = m.cache.TTL
		}
		return a, a.TTL, true
	case status == unauthorized || status == forbidden || status == tooMany,
		status >= 300 && status < 400 && !m.refuse3x && hasRule(status) && answer.Header.Get("Location") != "":
	default:
		return a, 0, false
	}
	a.Reason = fmt.Sprintf("auth server said %d", status)
	for _, n := range m.toClient {
		for _, v := range answer.Header.Values(n) {
			a.Client = append(a.Client, Header{n, v})
		}
	}
	if len(body) <= longestBody && !bytes.ContainsRune(body, 0) {
		a.Body = string(body)
	}
	if keep && (status == unauthorized || status == forbidden) {
		return a, m.cache.Negative, true
	}
	return a, 0, true
}

// admit adds what the pod and the client get with a request that is let on.
func (m *external) admit(a *Answer, from http.Header) {
	a.Status = allowed
	for _, n := range m.response {
		if v := from.Values(n); len(v) > 0 {
			a.Set = append(a.Set, Header{n, strings.Join(v, ", ")})
		}
	}
	for _, c := range from.Values("Set-Cookie") {
		if m.always {
			a.Client = append(a.Client, Header{"Set-Cookie", c})
		} else {
			a.Success = append(a.Success, Header{"Set-Cookie", c})
		}
	}
}

// finish makes of a refusal the way to sign in, which depends on the request.
func (m *external) finish(a Answer, q *Question) Answer {
	if a.Status != unauthorized || m.signIn == nil {
		return a
	}
	u := *m.signIn
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += url.QueryEscape(m.param) + "=" + url.QueryEscape(q.URL())
	out := Answer{Status: found, Reason: a.Reason, group: a.group, from: a.from, Client: []Header{{"Location", u.String()}, {"Cache-Control", "no-store"}}}
	for _, h := range a.Client {
		if strings.EqualFold(h.Name, "Set-Cookie") {
			out.Client = append(out.Client, h)
		}
	}
	return out
}

// Scheme is that of the request.
func (q *Question) Scheme() string {
	if q.TLS {
		return "https"
	}
	return "http"
}

// URL is the request's own URL: of its host, never of another one.
func (q *Question) URL() string { return q.Scheme() + "://" + q.Host + q.Target }

// newRequest makes the question for the server. It has no body, and no header of the
// client that could be taken for one of ours.
func (m *external) newRequest(ctx context.Context, q *Question) (*http.Request, error) {
	method := http.MethodGet
	if m.original {
		method = q.Method
	}
	r, err := http.NewRequestWithContext(ctx, method, m.url.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	for n, v := range q.Headers.All() {
		plain := plainName(n)
		if ofConnection(plain) || ofAgent(plain) || slices.Contains(m.response, string(n)) {
			continue
		}
		if _, listed := slices.BinarySearch(m.request, plain); len(m.request) == 0 || listed {
			r.Header.Add(string(n), string(v))
		}
	}
	own := map[string]string{
		"X-Original-Url": q.URL(), "X-Original-Method": q.Method, "X-Forwarded-Method": q.Method, "X-Forwarded-Proto": q.Scheme(),
		"X-Forwarded-Host": q.Host, "X-Forwarded-Uri": q.Target, "X-Auth-Request-Redirect": q.Target,
	}
	if q.Client.IsValid() {
		own["X-Forwarded-For"], own["X-Real-Ip"] = q.Client.String(), q.Client.String()
	}
	for n, v := range own {
		r.Header[n] = []string{v}
	}
	if r.Header["User-Agent"] == nil {
		r.Header["User-Agent"] = []string{""} // none, instead of Go's
	}
	return r, nil
}
