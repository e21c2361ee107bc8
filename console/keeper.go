package console

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// keeper keeps what was read last, and reads again when it is asked for something that is
// not new. Without questions it reads nothing.
type keeper[T any] struct {
	read  func(ctx context.Context, before *T) (*T, error)
	now   func() time.Time
	fresh time.Duration
	// patience is how long a request waits for a reading that it needs.
	patience time.Duration

	mu    sync.Mutex
	value *T
	// at is when the reading of value began, took how long the last reading took, if it was not
	// the first, and ended when it ended.
	at, ended time.Time
	took      time.Duration
	err       error
	// reading is closed when the reading that is under way ends; nil if none is.
	reading chan struct{}
}

// kept is what a keeper has.
type kept[T any] struct {
	value *T
	// age is that of the value, and err why the last reading failed.
	age time.Duration
	err error
}

// get returns what there is, and waits for it only if that is nothing, or old. The context
// bounds the wait; ctx of the process bounds readings.
func (k *keeper[T]) get(ctx, process context.Context) kept[T] {
	k.mu.Lock()
	due := k.reading == nil && k.now().Sub(k.ended) >= k.pause()
	if due {
		k.reading = make(chan struct{})
		go k.look(process, k.value)
	}
	ended := k.reading
	old := k.value == nil || k.now().Sub(k.at) > max(oldAfter, 3*k.pause())
	k.mu.Unlock()
	if ended != nil && old {
		await(ctx, ended, k.patience)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return kept[T]{value: k.value, age: k.now().Sub(k.at), err: k.err}
}

// pause is how long after a reading the next one may begin. The caller holds mu.
func (k *keeper[T]) pause() time.Duration {
	if k.ended.IsZero() {
		return 0
	}
	return max(k.fresh, readingShare*k.took)
}

// await waits for a reading, but not for long: a page that says so is better than none.
func await(ctx context.Context, ended <-chan struct{}, most time.Duration) {
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-ended:
	case <-ctx.Done():
	case <-limit.C:
	}
}

// look reads once.
func (k *keeper[T]) look(ctx context.Context, before *T) {
	began := k.now()
	value, err := k.readOnce(ctx, before)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = k.now()
	k.err = err
	if before != nil { // the first reading waits for what later ones have
		k.took = k.ended.Sub(began)
	}
	if err == nil {
		k.value, k.at = value, began
	}
	close(k.reading)
	k.reading = nil
}

// readOnce turns a panic into an error: no object may end the program, which `fairlead
// serve` is, too.
func (k *keeper[T]) readOnce(ctx context.Context, before *T) (value *T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("this is a fault of the console, please report it: %v", p)
		}
	}()
	return k.read(ctx, before)
}
