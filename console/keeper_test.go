package console

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestKeeper: what is read is kept while it is new; then it is read once, and shown until
// the next reading has ended.
func TestKeeper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		took := 100 * time.Millisecond
		k := &keeper[int]{now: time.Now, fresh: freshFor, patience: waitAtMost, read: func(context.Context, *int) (*int, error) {
			time.Sleep(took) //nolint:forbidigo // the clock of a bubble
			return new(int(reads.Add(1))), nil
		}}
		get := func() kept[int] { return k.get(t.Context(), t.Context()) }
		expect := func(what string, value int, age time.Duration) {
			t.Helper()
			if got := get(); *got.value != value || got.age != age || got.err != nil {
				t.Errorf("%s: value %d, age %s, %v", what, *got.value, got.age, got.err)
			}
		}
		expect("the first question waits", 1, took)
		time.Sleep(freshFor - time.Millisecond) //nolint:forbidigo // the clock of a bubble
		expect("it is still new", 1, took+freshFor-time.Millisecond)
		time.Sleep(time.Millisecond) //nolint:forbidigo // the clock of a bubble
		expect("no longer new, and shown", 1, took+freshFor)
		synctest.Wait()
		time.Sleep(took) //nolint:forbidigo // the clock of a bubble
		synctest.Wait()
		expect("newer", 2, took)
		took = 2 * time.Second
		time.Sleep(time.Hour) //nolint:forbidigo // the clock of a bubble
		expect("old: the question waits", 3, took)
		time.Sleep(readingShare*took - time.Millisecond) //nolint:forbidigo // the clock of a bubble
		expect("a slow reading has a long pause", 3, took+readingShare*took-time.Millisecond)
		synctest.Wait()
		if n := reads.Load(); n != 3 {
			t.Errorf("%d readings", n)
		}
	})
}

// TestTrouble: a reading that fails is shown beside what was read before, also if it
// panics, and a first one that fails is a page of its own.
func TestTrouble(t *testing.T) {
	t.Parallel()
	b := newBed(t, snapshotOf(t, shop), true)
	b.source.fails.Store(true)
	b.now.Store(60)
	text := content(t, b.page("routes", 200))
	if !strings.Contains(text, "Live data stopped. read cluster: the API server does not answer <b>. What is shown was read 1m0s ago") || !strings.Contains(text, "web/shop") {
		t.Error(text)
	}
	if _, _, body := b.get("state"); !strings.Contains(body, `"problem":"read cluster: the API server does not answer`) || !strings.Contains(body, `"age":"1m0s ago"`) {
		t.Error(body)
	}
	b.source.fails.Store(false)
	b.source.snapshot.Store(nil) // reading it panics
	b.now.Store(120)
	if text := content(t, b.page("routes", 200)); !strings.Contains(text, "this is a fault of the console") || !strings.Contains(text, "web/shop") {
		t.Error(text)
	}
	b.source.snapshot.Store(snapshotOf(t, strings.ReplaceAll(shop, "name: shop,", "name: store,")))
	b.now.Store(180)
	if text := content(t, b.page("routes", 200)); strings.Contains(text, "Live data stopped") || !strings.Contains(text, "web/store") {
		t.Error(text)
	}
	if _, _, body := b.get("state"); !strings.Contains(body, `"generation":2,"at":1796126580000,"problem":"","age":"now"`) {
		t.Error(body)
	}
	first := newBed(t, nil, false)
	first.source.fails.Store(true)
	if code, _, body := first.get(<-first.links); code != http.StatusServiceUnavailable || !strings.Contains(body, "Nothing is known yet") {
		t.Errorf("code %d: %s", code, body)
	}
}
