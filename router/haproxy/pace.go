package haproxy

import "time"

const (
	// stretch is the cost of lines that may follow each other: those of one
	// route with its certificate, but not those of two routes.
	stretch = 70
	// rest is how long HAProxy's thread then has for its traffic. A request
	// meets the thread twice, when it comes and when the pod has answered, and
	// both fit in.
	rest = time.Millisecond
)

// pace keeps lines that take HAProxy's thread long from following each other
// without a rest: many changes at once would otherwise hold up running traffic
// for as long as they take together.
type pace struct {
	// spent is the cost of the lines since the last rest.
	spent int
	// answered is when the last of them was.
	answered time.Time
}

// before returns how long to wait before a line of that cost. A single route
// never waits.
func (p *pace) before(cost int, now time.Time) time.Duration {
	wait := max(rest-now.Sub(p.answered), 0)
	if wait == 0 {
		p.spent = 0
	}
	p.spent += cost
	if p.spent <= stretch {
		return 0
	}
	p.spent = cost
	return wait
}

// after notes that a line was answered.
func (p *pace) after(now time.Time) { p.answered = now }
