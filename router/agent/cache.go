package agent

import (
	"container/list"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"
)

// key is what an answer is kept by: a hash under a key of this process, so that the
// memory holds no credentials.
type key [sha256.Size]byte

// keyOf hashes parts, each with its length, so that no part can end in the next one.
func (e *Engine) keyOf(parts ...string) key {
	m := hmac.New(sha256.New, e.secret)
	var length [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		m.Write(length[:])
		m.Write([]byte(p))
	}
	var k key
	m.Sum(k[:0])
	return k
}

// cache keeps results by key until their time is over or others push them out, and
// computes each only once at a time.
type cache[T any] struct {
	// most and mostBytes bound the entries; size is what one of them takes.
	most      int
	mostBytes int
	size      func(T) int
	now       func() time.Time
	metrics   *cacheMetrics

	mu      sync.Mutex
	entries map[key]*list.Element // of entry[T], the most recent first
	order   *list.List
	bytes   int
	flights map[key]*flight[T]
}

type entry[T any] struct {
	key   key
	value T
	until time.Time
	size  int
}

// flight is a computation that others wait for.
type flight[T any] struct {
	done  chan struct{}
	value T
}

func newCache[T any](most, mostBytes int, size func(T) int, now func() time.Time, m *cacheMetrics) *cache[T] {
	return &cache[T]{
		most: most, mostBytes: mostBytes, size: size, now: now, metrics: m,
		entries: map[key]*list.Element{}, order: list.New(), flights: map[key]*flight[T]{},
	}
}

// get returns a kept value.
func (c *cache[T]) get(k key) (value T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(k)
}

func (c *cache[T]) find(k key) (value T, ok bool) {
	el, ok := c.entries[k]
	if !ok {
		c.metrics.misses.Inc()
		return value, false
	}
	e := el.Value.(*entry[T])
	if !c.now().Before(e.until) {
		c.drop(el)
		c.metrics.misses.Inc()
		return value, false
	}
	c.order.MoveToFront(el)
	c.metrics.hits.Inc()
	return e.value, true
}

func (c *cache[T]) drop(el *list.Element) {
	e := el.Value.(*entry[T])
	c.order.Remove(el)
	delete(c.entries, e.key)
	c.bytes -= e.size
	c.metrics.entries.Set(float64(len(c.entries)))
}

// put keeps a value for a time.
func (c *cache[T]) put(k key, value T, ttl time.Duration) {
	if ttl <= 0 {
		return
	}
	const overhead = 200 // of the map, the list and the key
	size := c.size(value) + overhead
	if size > c.mostBytes/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.entries[k]; ok {
		c.drop(old)
	}
	for len(c.entries) >= c.most || c.bytes+size > c.mostBytes {
		c.drop(c.order.Back())
		c.metrics.evictions.Inc()
	}
	c.entries[k] = c.order.PushFront(&entry[T]{k, value, c.now().Add(ttl), size})
	c.bytes += size
	c.metrics.entries.Set(float64(len(c.entries)))
}

// once returns a kept value, or what compute returns, which runs once for all that ask
// at the same time. It has a context of its own, because those who wait do not
// depend on the one who asked first. A panic in compute leaves the zero value.
func (c *cache[T]) once(ctx context.Context, k key, limit time.Duration, compute func(context.Context) (T, time.Duration)) (value T, kept bool, err error) {
	c.mu.Lock()
	if v, ok := c.find(k); ok {
		c.mu.Unlock()
		return v, true, nil
	}
	f, running := c.flights[k]
	if !running {
		f = &flight[T]{done: make(chan struct{})}
		c.flights[k] = f
		go c.compute(context.WithoutCancel(ctx), k, f, limit, compute)
	}
	c.mu.Unlock()
	select {
	case <-f.done:
		return f.value, false, nil
	case <-ctx.Done():
		return value, false, ctx.Err()
	}
}

func (c *cache[T]) compute(ctx context.Context, k key, f *flight[T], limit time.Duration, compute func(context.Context) (T, time.Duration)) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer func() {
		_ = recover() // the zero value refuses
		c.mu.Lock()
		delete(c.flights, k)
		c.mu.Unlock()
		close(f.done)
	}()
	value, ttl := compute(ctx)
	f.value = value
	c.put(k, value, ttl)
}

// bytes is what an answer takes in the cache.
func (a Answer) bytes() int {
	n := len(a.Body) + len(a.Consumer) + len(a.Reason)
	for _, list := range [][]Header{a.Set, a.Client, a.Success} {
		for _, h := range list {
			n += len(h.Name) + len(h.Value) + 32
		}
	}
	return n + 200
}

func (v verified) bytes() int { return 4*v.size + 400 }
