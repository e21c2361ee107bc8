package tail

import (
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/observe"
)

// Delay is how long a record waits for earlier ones of other routers.
const Delay = 300 * time.Millisecond

// Shown is a record with the router that it is of.
type Shown struct {
	Router string `json:"router"`
	observe.Record
}

// Order puts records of several routers in the order of their times.
type Order struct{ waiting []held }

type held struct {
	shown Shown
	until time.Time
}

// Add takes a record in that came at a time.
func (o *Order) Add(s Shown, now time.Time) {
	at, _ := slices.BinarySearchFunc(o.waiting, s.Time, func(h held, t time.Time) int {
		if h.shown.Time.After(t) {
			return 1
		}
		return -1 // after all of the same time
	})
	o.waiting = slices.Insert(o.waiting, at, held{s, now.Add(Delay)})
}

// Due returns the records that have waited long enough, with all that are before one of them.
func (o *Order) Due(now time.Time) []Shown {
	last := -1
	for i := range o.waiting {
		if !o.waiting[i].until.After(now) {
			last = i
		}
	}
	return o.take(last + 1)
}

// Rest returns all that wait.
func (o *Order) Rest() []Shown { return o.take(len(o.waiting)) }

func (o *Order) take(n int) []Shown {
	var due []Shown
	for _, h := range o.waiting[:n] {
		due = append(due, h.shown)
	}
	o.waiting = slices.Delete(o.waiting, 0, n)
	return due
}
