package share

import (
	"iter"
	"time"
)

// queue holds what is due at times that do not fall.
type queue[T any] struct {
	list []due[T]
}

type due[T any] struct {
	value T
	at    time.Duration
}

func (q *queue[T]) push(v T, at time.Duration) { q.list = append(q.list, due[T]{v, at}) }

// due takes out what is due.
func (q *queue[T]) due(now time.Duration) iter.Seq[T] {
	return func(yield func(T) bool) {
		for len(q.list) > 0 && q.list[0].at <= now {
			v := q.list[0].value
			if q.list = q.list[1:]; len(q.list) == 0 {
				q.list = nil
			}
			if !yield(v) {
				return
			}
		}
	}
}
