package relay

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// sessionOf is one of a client, "address:port".
func sessionOf(namespace, client string) *session {
	return &session{key: key{port: 24000 + uint16(namespace[0]), client: netip.MustParseAddrPort(client), asked: netip.MustParseAddr("192.0.2.1")}, namespace: namespace}
}

// tryAdd adds a session if it has room, and returns the client whose session ended for it,
// or why it has none.
func (t *table) tryAdd(s *session, now time.Time) string {
	old, refused := t.room(s.namespace, s.client.Addr(), now)
	if refused != "" {
		return refused
	}
	ended := ""
	if old != nil {
		ended = old.client.String()
		t.remove(old)
	}
	t.add(s, now)
	return ended
}

func TestTable(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_800_000_000, 0)
	later := start.Add(time.Second)
	limits := Limits{All: 6, Namespace: 4, Source: 2, Idle: 30 * time.Second, Grace: 500 * time.Millisecond}
	for _, test := range []struct {
		name string
		// before are sessions "namespace client", lasting with a "+".
		before []string
		add    string
		at     time.Time
		want   string
	}{
		{"room", []string{"a 192.0.2.1:1"}, "a 192.0.2.1:2", start, ""},
		{"a source is full", []string{"a 192.0.2.1:1", "a 192.0.2.1:2"}, "a 192.0.2.1:3", start, "source"},
		{"a source replaces its own", []string{"a 192.0.2.9:1", "a 192.0.2.1:1", "a 192.0.2.1:2"}, "a 192.0.2.1:3", later, "192.0.2.1:1"},
		{"a source is another one in another namespace", []string{"a 192.0.2.1:1", "a 192.0.2.1:2"}, "b 192.0.2.1:3", start, ""},
		{"sources of IPv6 are networks", []string{"a [2001:db8::1]:1", "a [2001:db8::2]:1"}, "a [2001:db8::3]:1", start, "source"},
		{"another network", []string{"a [2001:db8::1]:1", "a [2001:db8::2]:1"}, "a [2001:db8:0:1::]:1", start, ""},
		{"what lasts is not replaced", []string{"a 192.0.2.1:1+", "a 192.0.2.1:2+"}, "a 192.0.2.1:3", later, "source"},
		{"the oldest of those that do not last", []string{"a 192.0.2.1:1+", "a 192.0.2.1:2"}, "a 192.0.2.1:3", later, "192.0.2.1:2"},
		{"a namespace is full", []string{"a 192.0.2.1:1", "a 192.0.2.2:1", "a 192.0.2.3:1", "a 192.0.2.4:1"}, "a 192.0.2.5:1", start, "namespace"},
		{"a namespace replaces its own", []string{"b 192.0.2.1:1", "a 192.0.2.1:1+", "a 192.0.2.2:1", "a 192.0.2.3:1", "a 192.0.2.4:1"}, "a 192.0.2.5:1", later, "192.0.2.2:1"},
		{"all is full", []string{"a 192.0.2.1:1", "a 192.0.2.2:1", "a 192.0.2.3:1", "b 192.0.2.1:1", "b 192.0.2.2:1", "b 192.0.2.3:1"}, "c 192.0.2.1:1", later, "full"},
		{"of a full one a namespace replaces its own", []string{"a 192.0.2.1:1", "a 192.0.2.2:1", "a 192.0.2.3:1", "b 192.0.2.1:1", "b 192.0.2.2:1", "b 192.0.2.3:1"}, "b 192.0.2.9:1", later, "192.0.2.1:1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			table := newTable(limits)
			parse := func(text string) (*session, bool) {
				var namespace, client string
				if _, err := fmt.Sscan(text, &namespace, &client); err != nil {
					t.Fatal(err)
				}
				if n := len(client) - 1; client[n] == '+' {
					return sessionOf(namespace, client[:n]), true
				}
				return sessionOf(namespace, client), false
			}
			for _, text := range test.before {
				s, lasting := parse(text)
				if got := table.tryAdd(s, start); got != "" {
					t.Fatalf("%s: %s", text, got)
				}
				if lasting {
					table.answers(s, start)
					table.asks(s, start)
				}
			}
			s, _ := parse(test.add)
			if got := table.tryAdd(s, test.at); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestFlood: whatever forged sources send, sessions stay within their bounds, those that last
// stay, and nothing is left in the table when all have ended.
func TestFlood(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	limits := Limits{All: 100, Namespace: 50, Source: 5, Idle: 30 * time.Second, Grace: 500 * time.Millisecond}
	table := newTable(limits)
	live := sessionOf("a", "198.51.100.1:1")
	table.tryAdd(live, now)
	table.answers(live, now)
	table.asks(live, now)
	replaced := 0
	for i := range 20_000 {
		now = now.Add(time.Millisecond)
		namespace := []string{"a", "a", "a", "b", "c"}[i%5]
		if s := sessionOf(namespace, fmt.Sprintf("192.0.%d.%d:%d", i/256%256, i%256, 1+i%3)); table.byKey[s.key] == nil {
			if got := table.tryAdd(s, now); len(got) > len(droppedNamespace) {
				replaced++
			}
		}
		if table.len() > limits.All || table.spaces["a"].sessions > limits.Namespace {
			t.Fatalf("%d sessions, %d of namespace a", table.len(), table.spaces["a"].sessions)
		}
		if i%1000 == 0 {
			table.asks(live, now)
		}
	}
	if table.byKey[live.key] != live {
		t.Error("a live session has ended")
	}
	if replaced == 0 {
		t.Error("nothing was replaced: newcomers have no room")
	}
	now = now.Add(limits.Idle)
	for s := table.silent(now); s != nil; s = table.silent(now) {
		table.remove(s)
	}
	if table.len()+table.all.Len()+len(table.spaces)+len(table.sources) != 0 {
		t.Errorf("left: %d sessions, %d in the list, %d namespaces, %d sources", table.len(), table.all.Len(), len(table.spaces), len(table.sources))
	}
}

// TestSilent: only what neither side has sent anything by for Idle ends.
func TestSilent(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_800_000_000, 0)
	table := newTable(Limits{}.completed())
	asked, answered := sessionOf("a", "192.0.2.1:1"), sessionOf("a", "192.0.2.1:2")
	table.add(asked, start)
	table.add(answered, start)
	table.answers(answered, start.Add(10*time.Second))
	if s := table.silent(start.Add(29 * time.Second)); s != nil {
		t.Errorf("%s ends after 29 seconds", s.client)
	}
	if s := table.silent(start.Add(30 * time.Second)); s != asked {
		t.Errorf("after 30 seconds %+v ends", s)
	}
	table.remove(asked)
	if s := table.silent(start.Add(39 * time.Second)); s != nil {
		t.Errorf("%s ends 29 seconds after the pod's answer", s.client)
	}
}
