package firewall

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/fairlead/fairlead/router/spop"
)

const (
	// longestWait is how long a question may wait for its turn.
	longestWait = time.Second
	// Lines of the log in a second, and at once.
	logRate, logBurst = 50, 200
	mostLogged        = 20 // rules in one line
	mostText          = 256
)

// Firewall answers HAProxy.
type Firewall struct {
	rules   *Rules
	queue   *queue
	metrics *Metrics
	log     *slog.Logger
	lines   *rate.Limiter
}

// New makes a firewall that judges as many requests at a time as slots.
func New(rules *Rules, slots int, metrics *Metrics, log *slog.Logger) *Firewall {
	return &Firewall{rules, newQueue(max(slots, 1)), metrics, log, rate.NewLimiter(logRate, logBurst)}
}

// The answers to HAProxy. Any other one, or none, is no permission.
const (
	allow = "allow"
	block = "block"
)

// Handle answers the message "judge".
func (f *Firewall) Handle(ctx context.Context, q *spop.Request, r *spop.Reply) {
	verdict, rules := f.answer(ctx, q)
	if verdict == "" {
		return
	}
	if rules != "" {
		r.SetString(spop.ScopeTransaction, "rules", rules)
	}
	r.SetString(spop.ScopeTransaction, "verdict", verdict)
}

func (f *Firewall) answer(ctx context.Context, q *spop.Request) (verdict, rules string) {
	request, route, ok := readRequest(q)
	all, err := Parse(string(q.Arg("c").Text()))
	if !ok || err != nil {
		f.metrics.unanswered(unreadable)
		return "", ""
	}
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	began := time.Now()
	if f.queue.take(ctx, route.namespace) != nil {
		f.metrics.unanswered(overload)
		return "", ""
	}
	defer f.queue.give()
	f.metrics.waited(time.Since(began))
	began = time.Now()
	verdict = allow
	var found []int
	detected := false
	for _, by := range all {
		v, err := f.rules.Judge(request, by)
		if err != nil {
			f.metrics.unanswered(failed)
			f.log.Error("a request could not be judged", "err", err)
			return "", ""
		}
		found = append(found, v.Rules...)
		detected = detected || v.Attack
		if v.Attack && by.Block {
			verdict = block
			break
		}
	}
	f.metrics.judged(verdict, detected, time.Since(began))
	if !detected {
		return verdict, ""
	}
	slices.Sort(found)
	found = slices.Compact(found)
	rules = numbers(found[:min(len(found), mostLogged)])
	f.report(request, route, verdict, rules)
	return verdict, rules
}

// report writes a line about an attack, if there is room.
func (f *Firewall) report(q *Request, route routeName, verdict, rules string) {
	if !f.lines.Allow() {
		f.metrics.unlogged.Inc()
		return
	}
	path, _, _ := strings.Cut(q.Target, "?") // values may be secrets
	id := ""
	for _, h := range q.Headers {
		if strings.EqualFold(h.Name, "X-Request-ID") {
			id = h.Value
		}
	}
	f.log.Warn("a request matches rules of the firewall", "verdict", verdict, "namespace", route.namespace, "route", route.name,
		"client", q.Client, "method", cut(q.Method), "path", cut(path), "id", cut(id), "rules", rules)
}

// Busy answers a question for which there is no room at all.
func (f *Firewall) Busy(*spop.Request, *spop.Reply) { f.metrics.unanswered(overload) }

// Panicked is called for a question whose answer ended in a panic: it has no verdict.
func (f *Firewall) Panicked(any) {
	f.metrics.unanswered(failed)
	f.log.Error("a verdict ended in a panic; the request has none")
}

func cut(text string) string { return text[:min(len(text), mostText)] }
