package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// pass lets time pass for the engine.
func (b *bench) pass(d time.Duration) {
	<-time.After(d) // by the clock of the bubble
	synctest.Wait()
}

// TestSyncOrder: HAProxy gets what a route needs before the key that leads requests
// to it, and the status comes after all of it.
func TestSyncOrder(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.haproxy.taken = nil // the default certificate
		b.put("web", "web.test", "web")
		var order []string
		for _, s := range b.haproxy.taken {
			order = append(order, strings.TrimPrefix(fmt.Sprintf("%T", s), "plan."))
		}
		if got := strings.Join(order, " "); got != "BackendAdd ServerAdd BackendPublish EntryAdd" {
			t.Errorf("steps are %s", got)
		}
		if st := b.statuses[object("web")]; !st.Admitted || b.takenBefore[object("web")] != len(b.haproxy.taken) {
			t.Errorf("status %+v after %d of %d steps", st, b.takenBefore[object("web")], len(b.haproxy.taken))
		}
	})
}

// TestQuarantine: a route whose step HAProxy refuses is isolated; what changed with it
// goes live, and what was served before stays.
func TestQuarantine(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.put("bad", "bad.test", "one")
		b.haproxy.refuse = func(s plan.Step) string {
			if add, ok := s.(plan.ServerAdd); ok && strings.Contains(add.Backend, ":bad:") {
				return "no memory"
			}
			return ""
		}
		b.put("bad", "bad.test", "two")
		b.put("good", "good.test", "one")
		if !b.serves("good.test") || !strings.Contains(b.server("bad.test"), "one") {
			t.Errorf("good.test is served: %t; bad.test leads to %q", b.serves("good.test"), b.server("bad.test"))
		}
		if st := b.statuses[object("bad")]; st.Admitted || st.Reason != api.ReasonRefusedByHAProxy || !strings.Contains(st.Message, "no memory") {
			t.Errorf("status of the refused route: %+v", st)
		}
		if st := b.statuses[object("good")]; !st.Admitted {
			t.Errorf("status of the other route: %+v", st)
		}
		b.haproxy.refuse = nil
		b.pass(refusalRetry + time.Second)
		if got := b.server("bad.test"); !strings.Contains(got, "two") {
			t.Errorf("it is not tried again: bad.test leads to %q", got)
		}
	})
}

// TestLastGoodOverRestart: the next process of the router knows the last good version
// of a route that HAProxy refuses.
func TestLastGoodOverRestart(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.put("bad", "bad.test", "one")
		b.haproxy.refuse = func(s plan.Step) string {
			if add, ok := s.(plan.ServerAdd); ok && strings.Contains(add.Name, "two") {
				return "no memory"
			}
			return ""
		}
		b.put("bad", "bad.test", "two")
		b.pass(lastGoodPause)
		b.stop()
		b.statuses = map[model.Object]model.RouteStatus{}
		b.start()
		if got := b.server("bad.test"); !strings.Contains(got, "one") {
			t.Errorf("after a restart bad.test leads to %q", got)
		}
		if st := b.statuses[object("bad")]; st.Reason != api.ReasonRefusedByHAProxy {
			t.Errorf("status after a restart: %+v", st)
		}
	})
}

// TestDriftIsReverted: what another program changed is put right at the next look, and
// no sooner.
func TestDriftIsReverted(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.put("web", "web.test", "web")
		b.pass(time.Second)
		delete(b.haproxy.state.Entries, plan.Entry{Map: plan.MapHTTP, Key: "web.test/"})
		b.pass(DefaultDriftCheck / 2)
		if b.serves("web.test") {
			t.Error("the engine looks more often than it says")
		}
		b.pass(DefaultDriftCheck)
		if !b.serves("web.test") {
			t.Error("the key is still missing")
		}
	})
}

// TestRepairThatDoesNotLast: where HAProxy says that it took a repair and did not, the
// next one takes its steps one by one: the step that is wrong harms no other again.
func TestRepairThatDoesNotLast(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.put("bad", "a.test", "web")
		b.put("good", "b.test", "web")
		b.pass(time.Second)
		for _, host := range []string{"a.test", "b.test"} {
			delete(b.haproxy.state.Entries, plan.Entry{Map: plan.MapHTTP, Key: host + "/"})
		}
		b.haproxy.lost = func(s plan.Step) bool {
			add, ok := s.(plan.EntryAdd)
			return ok && add.Key == "a.test/"
		}
		b.pass(DefaultDriftCheck + time.Second)
		if b.serves("b.test") {
			t.Fatal("the repair did not drop what stood behind the bad step")
		}
		b.pass(DefaultDriftCheck)
		if !b.serves("b.test") {
			t.Error("the second repair repeats the batch as it was")
		}
		b.haproxy.lost = nil
		b.pass(DefaultDriftCheck)
		if !b.serves("a.test") {
			t.Error("the bad step is not tried again")
		}
	})
}

// TestProcessReplaced: a HAProxy that started from old files is brought up to date.
func TestProcessReplaced(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.put("web", "web.test", "web")
		b.haproxy.written = plan.NewState()
		b.haproxy.start()
		if b.serves("web.test") {
			t.Fatal("the new process knows the route")
		}
		b.pass(2 * processCheck)
		if !b.serves("web.test") {
			t.Error("the new process was not brought up to date")
		}
	})
}

// TestProcessWatched: the end of a worker is seen at once, so that an idle router need
// not look often. It is watched once, whatever else goes wrong.
func TestProcessWatched(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.haproxy.ended = make(chan struct{})
		b.haproxy.start()
		b.pass(2 * processCheck)
		b.put("web", "web.test", "web")
		looks := b.haproxy.looks
		b.pass(10 * watchedCheck)
		if more := b.haproxy.looks - looks; more < 10 || more > 11 {
			t.Errorf("%d looks at a process that is watched, in 10 times %s", more, watchedCheck)
		}
		pid := b.haproxy.pid
		for range 3 { // it does not answer for a time
			b.haproxy.pid = 0
			b.pass(2 * watchedCheck)
			b.haproxy.pid = pid
			b.pass(2 * watchedCheck)
		}
		if b.haproxy.watches != 2 {
			t.Errorf("two processes are watched %d times", b.haproxy.watches)
		}
		b.haproxy.written = plan.NewState()
		ended := b.haproxy.ended
		b.haproxy.ended = nil
		b.haproxy.start()
		close(ended)
		synctest.Wait()
		if !b.serves("web.test") {
			t.Error("the process that follows is not brought up to date at once")
		}
	})
}

// TestSettingsReload: other settings are one reload. Refused ones are reported, the
// process goes on, and they are not tried again until they change.
func TestSettingsReload(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.put("web", "web.test", "web")
		apply := func(maxConn int) {
			b.settings.Render.MaxConn = maxConn
			b.changed <- struct{}{}
			synctest.Wait()
			b.pass(time.Minute)
		}
		apply(200)
		if b.haproxy.reloads != 1 || !b.serves("web.test") || b.refused != nil {
			t.Fatalf("%d reloads, web.test served %t, refused: %v", b.haproxy.reloads, b.serves("web.test"), b.refused)
		}
		before := b.haproxy.description
		b.haproxy.refuseReload = "[ALERT] too many connections"
		apply(300)
		if b.refused == nil || !strings.Contains(b.refused.Message, "too many connections") {
			t.Errorf("the refusal is not reported: %v", b.refused)
		}
		if b.haproxy.description != before || !b.serves("web.test") {
			t.Error("the process did not go on")
		}
		b.haproxy.refuseReload = ""
		if apply(300); b.haproxy.reloads != 1 {
			t.Errorf("refused settings are tried again: %d reloads", b.haproxy.reloads)
		}
		if apply(400); b.haproxy.reloads != 2 || b.refused != nil {
			t.Errorf("after a change: %d reloads, refused: %v", b.haproxy.reloads, b.refused)
		}
	})
}

// TestColdStart: a HAProxy that does not start with the ports for Gateways, because another
// process has one of them, starts without them in the end.
func TestColdStart(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.put("web", "web.test", "web")
		b.settings.Render.HTTPSlots = render.Slots{First: 20000, Count: 4}
		b.changed <- struct{}{}
		synctest.Wait()
		b.pass(time.Minute)
		with := b.haproxy.description
		b.haproxy.starts = func(base render.Base) bool { return !strings.Contains(base.Text, "20003") }
		b.haproxy.pid = 0
		b.pass(2 * time.Minute)
		if b.haproxy.pid == 0 || b.haproxy.description == with || !b.serves("web.test") {
			t.Errorf("pid %d, web.test served %t", b.haproxy.pid, b.serves("web.test"))
		}
		if b.refused == nil {
			t.Error("nothing says that the ports are missing")
		}
	})
}

// TestReloadEnds: a reload that HAProxy refuses for the sake of no route ends.
func TestReloadEnds(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.put("web", "web.test", "web")
		b.haproxy.refuseReload = "nonsense"
		b.settings.Render.MaxConn = 500
		b.changed <- struct{}{}
		synctest.Wait() // hangs if it does not end
		if !b.serves("web.test") {
			t.Error("the route went with the reload")
		}
	})
}

// TestRemovals: the key of a route that is gone goes at once; its backend goes after a
// pause, and while connections last it is tried again.
func TestRemovals(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.put("web", "web.test", "web")
		busy := true
		b.haproxy.refuse = func(s plan.Step) string {
			if _, ok := s.(plan.BackendDel); ok && busy {
				return "it is in use"
			}
			return ""
		}
		b.remove("web")
		if b.serves("web.test") || len(b.haproxy.state.Backends) != 1 {
			t.Errorf("served %t, %d backends right after the removal", b.serves("web.test"), len(b.haproxy.state.Backends))
		}
		if _, known := b.statuses[object("web")]; known {
			t.Error("the status is not forgotten")
		}
		if last := b.haproxy.taken[len(b.haproxy.taken)-1]; fmt.Sprintf("%T", last) != "plan.EntryDel" {
			t.Errorf("%T follows the key without a pause", last)
		}
		b.pass(2 * removalPause)
		if len(b.haproxy.state.Backends) != 1 {
			t.Error("a backend in use is gone")
		}
		busy = false
		b.pass(2 * maxRemovalPause)
		if left := b.haproxy.state.Backends; len(left) != 0 {
			t.Errorf("%d backends are left", len(left))
		}
		if !slices.ContainsFunc(b.haproxy.taken, func(s plan.Step) bool { _, ok := s.(plan.ServerDel); return ok }) {
			t.Error("its server was not taken away before")
		}
	})
}

// TestComesBack: a route that goes and comes back with other clients within the pause of
// removals admits only those: nothing of its former policy is left beside the new one.
func TestComesBack(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.annotations = map[string]string{"fairlead.dev/allow": "198.18.0.0/16"}
		b.put("web", "web.test", "web")
		former := allowed(b)
		for range 2 {
			b.remove("web")
			b.annotations = map[string]string{"fairlead.dev/allow": "198.51.100.0/24"}
			b.put("web", "web.test", "web")
			for e := range allowed(b) {
				if former[e] {
					t.Errorf("a former client is admitted still: %v", e)
				}
			}
			b.remove("web")
			b.annotations = map[string]string{"fairlead.dev/allow": "198.18.0.0/16"}
			b.put("web", "web.test", "web")
		}
		b.annotations = map[string]string{"fairlead.dev/allow": "198.51.100.0/24"}
		b.put("web", "web.test", "web")
		if len(former) == 0 || len(allowed(b)) == 0 {
			t.Errorf("entries before %v, now %v", former, allowed(b))
		}
		b.pass(2 * removalPause)
		if len(allowed(b)) == 0 {
			t.Error("the new entries went with the old ones")
		}
	})
}

func allowed(b *bench) map[plan.Entry]bool {
	entries := map[plan.Entry]bool{}
	for e := range b.haproxy.state.Entries {
		if e.Map == plan.MapAllow {
			entries[e] = true
		}
	}
	return entries
}
