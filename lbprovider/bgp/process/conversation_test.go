package process_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/test/fuzz"
)

// rawBytes in a script stands before bytes without a header of BGP.
const rawBytes = 0xfe

// scripted returns what a script says: up to eight messages, each written as its
// type, the length of its body in two bytes, and the body.
func scripted(script []byte) []byte {
	var out []byte
	for range 8 {
		if len(script) < 3 {
			break
		}
		kind, rest := script[0], script[3:]
		size := min(int(script[1])<<8|int(script[2]), len(rest))
		if kind == rawBytes {
			out = append(out, rest[:size]...)
		} else {
			out = append(out, message(kind, rest[:size])...)
		}
		script = rest[size:]
	}
	return out
}

// script writes messages, which have their headers, as scripted reads them.
func script(messages ...[]byte) []byte {
	var out []byte
	for _, m := range messages {
		kind, body := byte(rawBytes), m
		if len(m) >= 19 && bytes.Equal(m, message(m[18], m[19:])) {
			kind, body = m[18], m[19:]
		}
		out = append(append(out, kind, byte(len(body)>>8), byte(len(body))), body...)
	}
	return out
}

// variant returns a script with one place of it changed, and the script itself as
// the first: opening a session takes a second, so several are attacked at a time.
func variant(script []byte, i int) []byte {
	out := bytes.Clone(script)
	if i == 0 || len(out) == 0 {
		return out
	}
	at := i * 7919 % len(out)
	switch i % 4 {
	case 0:
		return out[:at]
	case 1:
		out[at] ^= 1 << (i / 4 % 8)
	case 2:
		out[at] = []byte{0, 0xff, 1, 0x7f}[i/4%4]
	case 3:
		return append(out[at:], out[:at]...)
	}
	return out
}

// FuzzConversation has routers say what no router says, before, within and after
// the opening of a session. Whatever that is, another session stands, what is
// shown is one printable line, and the sessions are opened again.
//
// What is attacked are real processes with gobgp in them, so the parts that the
// speaker runs itself (orders, reports, what is logged, a process that ends)
// guide the fuzzing and gobgp does not: engine.FuzzMessage is guided by how it
// parses. That some conversations end a process is no failure here, for the
// process is there for it; TestHostilePeers has all of the known ones.
func FuzzConversation(f *testing.F) {
	if testing.Short() {
		f.Skip("each conversation takes a second")
	}
	for _, a := range advisories()[:1] {
		f.Add(uint8(a.phase), script(a.bytes))
	}
	update := message(typeUpdate, updateBody(nil, usual(), prefix))
	f.Add(uint8(established), script(update, message(typeRefresh, []byte{0, 1, 0, 1}), message(typeKeepalive, nil), update, message(typeNotification, []byte{6, 4})))
	fuzz.KeepPipes()
	n := newNode(f, "session")
	good := newRouter(f)
	n.add(bgp.Session{Peer: good.peer("good"), Routes: []bgp.Route{{Prefix: netip.MustParsePrefix("198.18.9.1/32")}}})
	since := n.up("good").Since
	var all [8]*besieged // an input that takes more than ten seconds is a failure
	for i := range all {
		all[i] = &besieged{node: n, bad: newRouter(f), number: i}
	}
	f.Fuzz(func(t *testing.T, when uint8, script []byte) {
		var working sync.WaitGroup
		for i, b := range all {
			working.Go(func() { b.suffer(t, &attack{phase: phase(when % 3), bytes: scripted(variant(script, i))}) })
		}
		working.Wait()
		if st := n.status("good"); !st.Up() || !st.Since.Equal(since) || st.Failures != 0 {
			t.Errorf("the other session is %+v, and was established at %v", st, since)
		}
	})
}

// besieged is a session that is attacked again and again.
type besieged struct {
	*node
	bad    *router
	number int
	// name is another one after each crash: a process that ended is started
	// again after a pause only.
	name    string
	crashes int
}

// pauseText is the problem of a session while it is not attacked.
const pauseText = "until the next conversation"

func (b *besieged) suffer(t *testing.T, a *attack) {
	t.Helper()
	done := make(chan struct{})
	b.bad.mu.Lock()
	b.bad.attack, b.bad.done = a, done
	b.bad.mu.Unlock()
	if b.name == "" {
		b.name = fmt.Sprintf("bad%d-%d", b.number, b.crashes)
		b.add(bgp.Session{Peer: b.bad.peer(b.name)})
	}
	b.Resume(b.name)
	select {
	case <-done:
	case <-time.After(patience):
		t.Errorf("the attack is not over: %+v, %d connections", b.status(b.name), b.bad.connections())
		b.remove(b.name)
		b.name, b.crashes = "", b.crashes+1 // so that the next conversation does not fail of this one
		return
	}
	b.Suspend(b.name, pauseText)
	st, err := b.becomes(b.name, "suspended", func(st bgp.Status) bool {
		if st.Problem != terminal.Line(st.Problem) || len(st.Problem) > 400 {
			t.Errorf("the problem is not printable: %q", st.Problem)
		}
		return st.Failures > 0 || st.State == bgp.StateIdle && st.Problem == pauseText
	})
	if err != nil {
		t.Error(err)
	}
	if err != nil || st.Failures > 0 {
		b.remove(b.name)
		b.name, b.crashes = "", b.crashes+1
	}
}
