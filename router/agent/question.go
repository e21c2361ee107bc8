package agent

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/spop"
)

// Question is what HAProxy asks: may this request go on?
type Question struct {
	// Policy is the ID of the policy.
	Policy string
	Method string
	// Target is the path with the query, as the pod will get it.
	Target string
	Host   string
	Client netip.Addr
	TLS    bool
	// Consumer is whose API key HAProxy has found, or empty.
	Consumer string
	// Headers are those of the client. They point into the frame.
	Headers spop.Headers
}

// Header is a header of a request or a response.
type Header struct{ Name, Value string }

// The statuses of answers besides those of other servers.
const (
	allowed      = 200
	badRequest   = 400
	unauthorized = 401
	forbidden    = 403
	tooMany      = 429
	unavailable  = 503
	found        = 302
	noVerdict    = 0
	// needsBody has HAProxy ask once more, with the body, and isDone ends the request with 200. Neither lets it on.
	needsBody       = 100
	isDone          = 299
	longestConsumer = 256
)

// Answer is the verdict about a request. The zero Answer refuses.
type Answer struct {
	// Status is 200 if the request may go on, otherwise what the client gets.
	Status int
	// Set and Del change the headers for the pod.
	Set []Header
	Del []string
	// Client are headers for the client; Success those only for answers with 2xx and 3xx.
	Client, Success []Header
	Body            string
	// TTL is for how long HAProxy may let requests with the same credentials on by itself.
	TTL time.Duration
	// Ended says that a session may have ended, so HAProxy is to forget all verdicts by sessions of the namespace.
	Ended bool
	// Consumer is who the client is, Reason why it is refused; both are for the log.
	Consumer, Reason string
	// Identities are what limits count the request by: 16 hexadecimal digits for each one of
	// the policy, zeros where there is none.
	Identities string
	// Limits are headers about limits over all replicas by identity, in place of the pod's.
	Limits []Header
	// group and from are for metrics.
	group, from string
}

// Allowed reports whether the request may go on.
func (a *Answer) Allowed() bool { return a.Status == allowed }

func refuse(status int, group, reason string) Answer {
	a := Answer{Status: status, Reason: reason, group: group, from: fromAgent}
	if status == unavailable || status == tooMany {
		a.Client = []Header{{"Retry-After", "1"}}
	}
	return a
}

// statuses are those for which HAProxy has a rule. Any other one becomes 503.
func hasRule(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308, 400, 401, 403, 404, 429, 503:
		return true
	}
	return false
}

// readQuestion reads the message "ask". It reports false for a question that cannot be
// answered, which then is refused.
func readQuestion(q *spop.Request) (Question, bool) {
	var out Question
	headers, err := spop.ParseHeaders(q.Arg("hdrs").Text())
	if string(q.Message) != "ask" || err != nil {
		return out, false
	}
	out = Question{
		Policy: string(q.Arg("p").Text()), Method: string(q.Arg("method").Text()),
		Target: string(q.Arg("path").Text()), Host: strings.ToLower(string(q.Arg("host").Text())),
		Client: q.Arg("src").Addr(), TLS: q.Arg("tls").True(), Consumer: string(q.Arg("consumer").Text()), Headers: headers,
	}
	return out, out.Policy != "" && out.Method != "" && strings.HasPrefix(out.Target, "/")
}

// write turns an answer into HAProxy's variables. What does not fit, or cannot stand in
// a header, becomes 503: half an answer is none.
func (a *Answer) write(r *spop.Reply) {
	if !a.variables(r) || !r.Fits() {
		r.Reset()
		r.SetString(spop.ScopeTransaction, "verdict", "503")
		r.SetString(spop.ScopeTransaction, "reason", "answer too large")
		a.end(r)
	}
}

func (a *Answer) end(r *spop.Reply) {
	if a.Ended {
		r.SetInt(spop.ScopeTransaction, "ended", 1)
	}
}

func (a *Answer) variables(r *spop.Reply) bool {
	const txn = spop.ScopeTransaction
	if a.Reason != "" {
		r.SetString(txn, "reason", a.Reason)
	}
	a.end(r)
	if !setHeaders(r, "cset", a.Limits) {
		return false
	}
	if a.Consumer != "" && len(a.Consumer) <= longestConsumer && spop.ValidValue(a.Consumer) {
		r.SetString(txn, "consumer", a.Consumer)
	}
	if !a.Allowed() {
		return a.refusal(r)
	}
	var names []byte
	for _, n := range a.Del {
		var err error
		if names, err = spop.AppendName(names, n); err != nil {
			return false
		}
	}
	if len(a.Del) > 0 {
		r.SetBinary(txn, "del", spop.EndNames(names))
	}
	if !setHeaders(r, "set", a.Set) || !setHeaders(r, "radd", a.Client) || !setHeaders(r, "rok", a.Success) {
		return false
	}
	if ttl := int64(a.TTL / time.Second); ttl > 0 {
		r.SetInt(txn, "ttl", ttl)
	}
	if a.Identities != "" {
		r.SetString(txn, "who", a.Identities)
	}
	r.SetString(txn, "verdict", "allow")
	return true
}

// refusal writes what the client gets instead of the pod's answer. Of each header
// the first replaces what HAProxy's own answer has, and others are added.
func (a *Answer) refusal(r *spop.Reply) bool {
	const txn = spop.ScopeTransaction
	verdict := decimal(unavailable)
	switch {
	case a.Status == needsBody:
		verdict = "body"
	case a.Status == isDone:
		verdict = "done"
	case hasRule(a.Status):
		verdict = decimal(a.Status)
	}
	var set, add []Header
	for _, h := range a.Client {
		if strings.EqualFold(h.Name, "Set-Cookie") || has(set, h.Name) {
			add = append(add, h)
		} else {
			set = append(set, h)
		}
	}
	if !setHeaders(r, "rset", set) || !setHeaders(r, "radd", add) {
		return false
	}
	if a.group == groupLimits {
		r.SetString(txn, "count", verdict)
	}
	if a.Body != "" {
		r.SetString(txn, "body", a.Body)
	}
	r.SetString(txn, "verdict", verdict)
	return true
}

func has(list []Header, name string) bool {
	for _, h := range list {
		if strings.EqualFold(h.Name, name) {
			return true
		}
	}
	return false
}

func decimal(status int) string {
	return string([]byte{byte('0' + status/100), byte('0' + status/10%10), byte('0' + status%10)})
}

func setHeaders(r *spop.Reply, name string, list []Header) bool {
	if len(list) == 0 {
		return true
	}
	var b []byte
	for _, h := range list {
		var err error
		if b, err = spop.AppendHeader(b, h.Name, h.Value); err != nil {
			return false
		}
	}
	r.SetBinary(spop.ScopeTransaction, name, spop.EndHeaders(b))
	return true
}

// Handle answers HAProxy.
func (e *Engine) Handle(ctx context.Context, r *spop.Request, out *spop.Reply) {
	switch string(r.Message) {
	case countMessage:
		e.count(ctx, r, out)
		return
	case logoutMessage:
		e.endReported(ctx, r, out)
		return
	}
	q, ok := readQuestion(r)
	a := refuse(unavailable, groupNone, "unreadable question")
	if ok {
		a = e.Decide(ctx, &q)
	}
	a.write(out)
}

// Busy answers HAProxy when a connection has too many questions.
func (e *Engine) Busy(q *spop.Request, out *spop.Reply) {
	e.metrics.shed.Inc()
	if string(q.Message) == countMessage {
		refuseCount(out, unavailable, time.Second)
		return
	}
	a := refuse(unavailable, groupNone, "too much work")
	a.write(out)
}
