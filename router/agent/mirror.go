package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
)

// Bounds of copies.
const (
	// MostMirrorTargets is how many targets a policy may have.
	MostMirrorTargets = 3
	// mirrorTime is how long a target may take.
	mirrorTime = 5 * time.Second
	// mirrorSlots is how many copies are under way at a time, in one worker; a quarter of
	// them of one namespace.
	mirrorSlots = 512
	// mirrorAnswer is how much of an answer is read, so that its connection is used again.
	mirrorAnswer = 64 << 10
	// mirrorMark says that a request is a copy.
	mirrorMark = "X-Fairlead-Mirror"
)

// Why a copy is not sent, for metrics, beside mirrorReasons.
const (
	mirrorBusy      = "busy"      // too many are under way
	mirrorForbidden = "forbidden" // the address may not be connected to
	mirrorFailed    = "failed"    // the target did not answer
	mirrorUnknown   = "unknown"   // the worker does not know the policy, or the message
)

// mirror is a target of copies.
type mirror struct {
	url       *url.URL
	endpoints endpoints
	client    *http.Client
	http2     bool
	host      string
	set       []Header
	// without are plain names of headers that are not copied.
	without []string
	// most is how many copies may be under way.
	most     int64
	inflight atomic.Int64
}

func (e *Engine) newMirror(s *snapshot.Mirror) (*mirror, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("mirror: not a URL of http or https with a host and no path")
	}
	m := &mirror{url: u, endpoints: endpoints{s.Endpoints, s.ByEndpoints, new(atomic.Uint32)}, http2: s.HTTP2, host: s.Host, most: max(int64(s.MaxInFlight), 1)}
	for _, h := range s.Set {
		if !spop.ValidName(h.Name) || !spop.ValidValue(h.Value) {
			return nil, fmt.Errorf("mirror: %q is not a header", h.Name)
		}
		m.set = append(m.set, Header{h.Name, h.Value})
	}
	for _, n := range []string{"Authorization", "Cookie"} {
		if !slices.Contains(s.Keep, n) {
			m.without = append(m.without, plainName([]byte(n)))
		}
	}
	for _, n := range s.Remove {
		m.without = append(m.without, plainName([]byte(n)))
	}
	if len(m.set)+len(m.without) > mostNames {
		return nil, fmt.Errorf("mirror: more than %d headers", mostNames)
	}
	slices.Sort(m.without)
	transport, err := e.transport(transportKey{http2: s.HTTP2})
	if err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	m.client = &http.Client{Transport: transport, CheckRedirect: noRedirects}
	return m, nil
}

// addMirrors prepares the targets of copies. A policy with such decides about nothing.
func (e *Engine) addMirrors(p *policy, s *snapshot.Policy) error {
	if s.Basic != nil || s.External != nil || s.JWT != nil || s.APIKeys != nil || len(s.Authorization) > 0 || len(s.Mirrors) > MostMirrorTargets {
		return errors.New("a policy with targets of copies has nothing else, and three of them at most")
	}
	for i := range s.Mirrors {
		m, err := e.newMirror(&s.Mirrors[i])
		if err != nil {
			return err
		}
		p.mirrors = append(p.mirrors, m)
	}
	return nil
}

// Mirror takes what HAProxy hands over, and sends copies. It does not wait for them.
func (e *Engine) Mirror(ctx context.Context, message []byte) error {
	m, err := readMirrorMessage(message)
	if err != nil {
		e.metrics.mirrorSkipped.WithLabelValues(mirrorUnknown).Inc()
		return err
	}
	for reason, n := range m.missed {
		e.metrics.mirrorSkipped.WithLabelValues(reason).Add(float64(n))
	}
	if !m.copied {
		return nil
	}
	p := e.world.Load().policies[m.policy]
	for _, c := range m.targets {
		if p == nil || p.err != nil || c.number >= len(p.mirrors) {
			e.metrics.mirrorSkipped.WithLabelValues(mirrorUnknown).Inc()
			continue
		}
		e.copyTo(ctx, p, p.mirrors[c.number], m, c.withBody)
	}
	return nil
}

// copyTo sends a copy in the background, if there is room.
func (e *Engine) copyTo(ctx context.Context, p *policy, to *mirror, m *mirrorMessage, withBody bool) {
	skip := func(reason string) { e.metrics.mirrorSkipped.WithLabelValues(reason).Inc() }
	if to.inflight.Add(1) > to.most {
		to.inflight.Add(-1)
		skip(mirrorBusy)
		return
	}
	if !e.mirrors.take(p.namespace) {
		to.inflight.Add(-1)
		skip(mirrorBusy)
		return
	}
	go func() {
		defer e.mirrors.give(p.namespace)
		defer to.inflight.Add(-1)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mirrorTime)
		defer cancel()
		switch err := to.send(ctx, m, withBody); {
		case err == nil:
			e.metrics.mirrorSent.Inc()
		case errors.Is(err, ErrForbidden):
			skip(mirrorForbidden)
		default:
			skip(mirrorFailed)
		}
	}()
}

// send sends a copy and drops the answer.
func (to *mirror) send(ctx context.Context, m *mirrorMessage, withBody bool) error {
	pods := to.endpoints
	if to.http2 && len(pods.list) > 1 { // or one connection would have all copies, to one pod
		at := pods.list[int(pods.turn.Add(1))%len(pods.list)]
		pods.list = []netip.AddrPort{at}
	}
	r, err := to.newRequest(context.WithValue(ctx, endpointsKey{}, pods), m, withBody)
	if err != nil {
		return err
	}
	if to.http2 && len(pods.list) == 1 {
		r.URL.Host = pods.list[0].String() // connections are kept by it
	}
	answer, err := to.client.Do(r)
	if err != nil {
		return fmt.Errorf("send a copy: %w", err)
	}
	_, _ = io.CopyN(io.Discard, answer.Body, mirrorAnswer)
	return answer.Body.Close()
}

// newRequest makes the copy. The target stands as the client wrote it.
func (to *mirror) newRequest(ctx context.Context, m *mirrorMessage, withBody bool) (*http.Request, error) {
	target, err := url.ParseRequestURI(m.target)
	if err != nil {
		return nil, fmt.Errorf("make a copy: %w", err)
	}
	target.Scheme, target.Host = to.url.Scheme, to.url.Host
	var body io.Reader = http.NoBody
	if withBody && len(m.body) > 0 {
		body = bytes.NewReader(m.body)
	}
	r, err := http.NewRequestWithContext(ctx, m.method, target.String(), body)
	if err != nil {
		return nil, fmt.Errorf("make a copy: %w", err)
	}
	r.URL = target
	if r.Host = m.host; to.host != "" {
		r.Host = to.host
	}
	for n, v := range m.headers.All() {
		plain := plainName(n)
		if to.http2 && plain == "te" && string(v) == "trailers" {
			r.Header.Set("Te", "trailers")
			continue
		}
		if _, without := slices.BinarySearch(to.without, plain); without || plain == "content-length" || plain != "content-type" && plain != "content-encoding" && ofConnection(plain) {
			continue
		}
		r.Header.Add(string(n), string(v))
	}
	for _, h := range to.set {
		r.Header.Set(h.Name, h.Value)
	}
	r.Header.Set(mirrorMark, "1")
	if r.Header["User-Agent"] == nil {
		r.Header["User-Agent"] = []string{""} // none, instead of Go's
	}
	return r, nil
}

// MirrorHandler answers HAProxy, which waits for nothing but that the message has arrived.
func (e *Engine) MirrorHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := io.ReadAll(http.MaxBytesReader(w, r.Body, LongestMirrorMessage))
		if err == nil {
			err = e.Mirror(r.Context(), message)
		}
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
}
