package agent

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
)

// pid returns the process of a worker: the child of this one with its mark.
func (b *bed) pid(worker string) int {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(text), workerMark+"="+worker+"|"+b.dir+"|") {
			n, _ := strconv.Atoi(strings.Split(f, "/")[2])
			return n
		}
	}
	return 0
}

func (b *bed) signal(worker string, s syscall.Signal) int {
	b.t.Helper()
	var p int
	b.until("worker "+worker+" runs", func() bool { p = b.pid(worker); return p > 0 })
	if err := syscall.Kill(p, s); err != nil {
		b.t.Fatal(err)
	}
	return p
}

// answers reports whether a worker answers a check.
func (b *bed) answers(worker string) bool {
	c, err := net.Dial("unix", filepath.Join(b.dir, process.DecideSocket(worker)))
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	return spop.Check(c) == nil
}

// load is clients that ask all the time, with right and wrong passwords, each with
// another policy, so that nothing is kept.
type pressure struct {
	right, wrong, failed, through atomic.Int64
	statuses                      sync.Map
	stop                          atomic.Bool
	all                           sync.WaitGroup
}

func (b *bed) press(clients int) *pressure {
	p := &pressure{}
	for i := range clients {
		p.all.Go(func() {
			for n := 0; !p.stop.Load(); n++ {
				good := (n+i)%2 == 0
				q := request{policy: "basic", headers: []string{basic("ann", "x")}}
				if !good {
					q.headers = []string{basic("ann", fmt.Sprint("wrong", i, n))}
				}
				r, body, err := b.try(q)
				switch {
				case err != nil:
					p.failed.Add(1)
					p.statuses.Store(err.Error(), true)
				case good:
					if p.right.Add(1); r.StatusCode != 200 {
						p.failed.Add(1)
						p.statuses.Store(fmt.Sprint(r.StatusCode, body), true)
					}
				default:
					if p.wrong.Add(1); r.StatusCode == 200 {
						p.through.Add(1)
					}
				}
			}
		})
	}
	return p
}

func (p *pressure) end(t *testing.T, what string) {
	t.Helper()
	p.stop.Store(true)
	p.all.Wait()
	t.Logf("%s: %d right, %d wrong passwords; %d failed, %d let through", what, p.right.Load(), p.wrong.Load(), p.failed.Load(), p.through.Load())
	if p.through.Load() > 0 {
		t.Errorf("%s: %d wrong passwords were let through", what, p.through.Load())
	}
	if p.right.Load() == 0 || p.wrong.Load() == 0 {
		t.Errorf("%s: nothing was asked", what)
	}
}

// TestKills: while one worker lives, a killed one costs no request. There are many
// clients, because a request fails if each of its questions meets a connection to the
// dead worker: with three questions at once and 24 clients, that was in 12 of 14 runs.
func TestKills(t *testing.T) {
	b := newBed(t, true)
	b.load(1, users("basic"))
	p := b.press(24)
	kills := 8
	if testing.Short() {
		kills = 2
	}
	for i := range kills {
		worker := process.Workers()[i%2]
		killed := b.signal(worker, syscall.SIGKILL)
		b.until("the worker is replaced", func() bool { n := b.pid(worker); return n > 0 && n != killed && b.answers(worker) })
		// HAProxy has seen the new one: its checks come each 200 ms.
		<-time.After(500 * time.Millisecond)
	}
	p.end(t, fmt.Sprint(kills, " kills"))
	if p.failed.Load() > 0 {
		p.statuses.Range(func(k, _ any) bool { t.Log(k); return true })
		t.Errorf("%d requests failed", p.failed.Load())
	}
}

// TestBothDead: without any worker each protected request gets 503, except where
// HAProxy has kept the verdict; and the workers come back by themselves.
func TestBothDead(t *testing.T) {
	b := newBed(t, true)
	b.load(1, users("basic"))
	kept := request{policy: "basic", by: "a", headers: []string{basic("ann", "x")}}
	b.get("before", kept, 200)
	b.down.Store(true)
	for _, w := range process.Workers() {
		b.signal(w, syscall.SIGKILL)
	}
	b.until("both are gone", func() bool { return b.pid("a")+b.pid("b") == 0 })
	for range 20 {
		b.get("kept verdict", kept, 200)
		began := time.Now()
		r, body := b.get("right password, not kept", request{policy: "basic", headers: []string{basic("ann", "x")}}, 503)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("503 after %v", took)
		}
		if r.Header.Get("Retry-After") != "1" || body != "Service Unavailable\n" {
			t.Errorf("%v %q", r.Header, body)
		}
		b.get("wrong password", request{policy: "basic", by: "a", headers: []string{basic("ann", "y")}}, 503)
		b.get("no password", request{policy: "basic", by: "a"}, 503)
		b.get("another method", request{policy: "basic", by: "a", method: "POST", headers: kept.headers}, 503)
		b.get("unprotected", request{}, 200)
	}
	b.down.Store(false)
	b.until("the workers are back", func() bool {
		r, _, err := b.try(request{policy: "basic", headers: []string{basic("ann", "x")}})
		return err == nil && r.StatusCode == 200
	})
	b.get("wrong password", request{policy: "basic", headers: []string{basic("ann", "y")}}, 401)
}

// TestHung: a worker that hangs delays a request and is replaced; nothing is let through.
func TestHung(t *testing.T) {
	b := newBed(t, true)
	b.load(1, users("basic"))
	p := b.press(4)
	stopped := b.signal("a", syscall.SIGSTOP)
	b.until("the worker is replaced", func() bool { n := b.pid("a"); return n > 0 && n != stopped && b.answers("a") })
	p.end(t, "one worker hangs")
	p = b.press(4)
	first, second := b.signal("a", syscall.SIGSTOP), b.signal("b", syscall.SIGSTOP)
	b.until("both are replaced", func() bool {
		return b.pid("a") != first && b.pid("b") != second && b.answers("a") && b.answers("b")
	})
	p.end(t, "both workers hang")
	b.until("answers again", func() bool {
		r, _, err := b.try(request{policy: "basic", headers: []string{basic("ann", "x")}})
		return err == nil && r.StatusCode == 200
	})
}

// TestSnapshots: damage is refused and counted, the old policies stay, and a new worker
// reads them from the file.
func TestSnapshots(t *testing.T) {
	b := newBed(t, true)
	b.load(7, users("basic"))
	good, err := snapshot.Encode(&snapshot.Snapshot{Generation: 8, Policies: []snapshot.Policy{users("new")}})
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte{}, good...)
	bad[len(bad)-1] ^= 1
	for name, sent := range map[string][]byte{"damaged": bad, "too long": {0xff, 0xff, 0xff, 0xff, 0, 0, 0}, "cut": good[:len(good)-5], "later version": laterVersion()} {
		c, err := net.Dial("unix", filepath.Join(b.dir, process.StateSocket))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(append(append([]byte{}, sent...), make([]byte, 64)...)[:max(len(sent), 36)])
		_ = c.(*net.UnixConn).CloseWrite()
		answer, _ := bufio.NewReader(c).ReadString('\n')
		_ = c.Close()
		if !strings.Contains(answer, `"error"`) {
			t.Errorf("%s: the router gets %q", name, answer)
		}
		b.get(name+": old policy", request{policy: "basic", headers: []string{basic("ann", "x")}}, 200)
		b.get(name+": new policy", request{policy: "new", headers: []string{basic("ann", "x")}}, 503)
	}
	families, err := process.Gatherer(b.dir).Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			worker := ""
			for _, l := range m.Label {
				if l.GetName() == "worker" {
					worker = l.GetValue()
				}
			}
			got[f.GetName()+"/"+worker] += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	if got["fairlead_agent_snapshot_refused_total/supervisor"] != 4 || got["fairlead_agent_generation/a"] != 7 || got["fairlead_agent_up/b"] != 1 || got["fairlead_agent_decisions_total/a"]+got["fairlead_agent_decisions_total/b"] == 0 {
		t.Errorf("metrics %v", got)
	}
	killed := b.signal("a", syscall.SIGKILL)
	b.until("the worker is replaced", func() bool { n := b.pid("a"); return n > 0 && n != killed && b.answers("a") })
	b.load(8, users("new"))
	b.get("new policy", request{policy: "new", headers: []string{basic("ann", "x")}}, 200)
	b.get("old policy", request{policy: "basic", headers: []string{basic("ann", "x")}}, 503)
}

func laterVersion() []byte {
	s := &snapshot.Snapshot{Generation: 8}
	b, _ := snapshot.Encode(s)
	s.Version = 2
	return append(b[:len(b)-3], `9]}`...)
}

// TestHostileAgent: whatever an agent answers besides the one verdict, the request is
// refused. (HAProxy takes "allow" with a NUL behind it, and in a frame with the flag ABORT, for
// the verdict; an agent that says so could say it without.)
func TestHostileAgent(t *testing.T) {
	b := newBed(t, false)
	var mu sync.Mutex
	var answer func(h spop.Header) []byte
	for _, w := range process.Workers() {
		l, err := net.Listen("unix", filepath.Join(b.dir, process.DecideSocket(w)))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go hostile(l, func(h spop.Header) []byte {
			mu.Lock()
			defer mu.Unlock()
			return answer(h)
		})
	}
	set := func(scope byte, name string, value ...byte) []byte {
		return append(append([]byte{1, 3, scope, byte(len(name))}, name...), value...)
	}
	text := func(s string) []byte { return append([]byte{8, byte(len(s))}, s...) }
	ack := func(h spop.Header, content []byte) []byte { return frame(103, 1, h.Stream, h.Frame, content) }
	allow := set(2, "verdict", text("allow")...)
	cases := map[string]func(h spop.Header) []byte{
		"nothing set":           func(h spop.Header) []byte { return ack(h, nil) },
		"capitals":              func(h spop.Header) []byte { return ack(h, set(2, "verdict", text("ALLOW")...)) },
		"a blank":               func(h spop.Header) []byte { return ack(h, set(2, "verdict", text("allow ")...)) },
		"a longer word":         func(h spop.Header) []byte { return ack(h, set(2, "verdict", text("allowed")...)) },
		"200":                   func(h spop.Header) []byte { return ack(h, set(2, "verdict", text("200")...)) },
		"a status without rule": func(h spop.Header) []byte { return ack(h, set(2, "verdict", text("418")...)) },
		"true":                  func(h spop.Header) []byte { return ack(h, set(2, "verdict", 0x11)) },
		"null":                  func(h spop.Header) []byte { return ack(h, set(2, "verdict", 0)) },
		"a number":              func(h spop.Header) []byte { return ack(h, set(2, "verdict", 2, 1)) },
		"another scope":         func(h spop.Header) []byte { return ack(h, set(1, "verdict", text("allow")...)) },
		"another variable":      func(h spop.Header) []byte { return ack(h, set(2, "ask_left", 2, 9)) },
		"unset after allow": func(h spop.Header) []byte {
			return ack(h, append(append([]byte{}, allow...), 2, 2, 2, 7, 'v', 'e', 'r', 'd', 'i', 'c', 't'))
		},
		"cut":             func(h spop.Header) []byte { return ack(h, allow[:len(allow)-1]) },
		"cut frame":       func(h spop.Header) []byte { f := ack(h, allow); return f[:len(f)-2] },
		"another stream":  func(h spop.Header) []byte { h.Stream += 7; return ack(h, allow) },
		"another frame":   func(h spop.Header) []byte { h.Frame += 7; return ack(h, allow) },
		"disconnect":      func(spop.Header) []byte { return spop.AppendDisconnect(nil, spop.StatusNormal, "bye") },
		"HELLO again":     func(spop.Header) []byte { return spop.AppendAgentHello(nil, 16380) },
		"too long":        func(spop.Header) []byte { return binary.BigEndian.AppendUint32(nil, 1<<30) },
		"junk":            func(spop.Header) []byte { return []byte("HTTP/1.1 200 OK\r\n\r\n") },
		"an unknown type": func(h spop.Header) []byte { return frame(99, 1, h.Stream, h.Frame, allow) },
		"a long varint": func(h spop.Header) []byte {
			return ack(h, []byte("\x01\x03\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
		},
		"headers of a liar": func(h spop.Header) []byte { return ack(h, set(2, "set", 9, 4, 0xff, 0xff, 0xff, 0x7f)) },
	}
	mu.Lock()
	answer = func(h spop.Header) []byte { return ack(h, allow) }
	mu.Unlock()
	b.until("HAProxy reaches the agent", func() bool {
		r, _, err := b.try(request{policy: "p"})
		return err == nil && r.StatusCode == 200
	})
	times := 3
	if testing.Short() {
		times = 1
	}
	for name, f := range cases {
		mu.Lock()
		answer = f
		mu.Unlock()
		for range times {
			before := b.served.Load()
			r, _, err := b.try(request{policy: "p", by: "a", headers: []string{"Authorization: x"}})
			if err == nil && r.StatusCode < 400 || b.served.Load() > before {
				t.Errorf("%s: the request goes on: %v", name, r.StatusCode)
			}
		}
	}
}

// frame makes any frame.
func frame(kind byte, flags uint32, stream, number uint64, content []byte) []byte {
	f := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 0, kind}, flags)
	f = append(spop.AppendVarint(spop.AppendVarint(f, stream), number), content...)
	binary.BigEndian.PutUint32(f, uint32(len(f)-4))
	return f
}

// hostile greets as an agent does, then answers each question as it likes.
func hostile(l net.Listener, answer func(spop.Header) []byte) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			var buf []byte
			for n := 0; ; n++ {
				var err error
				if buf, err = spop.ReadFrame(c, buf, 1<<20); err != nil {
					return
				}
				h, content, err := spop.ParseHeader(buf)
				if err != nil {
					return
				}
				if n == 0 {
					hello, err := spop.ParseHello(content)
					if err != nil {
						return
					}
					_, _ = c.Write(spop.AppendAgentHello(nil, hello.MaxFrame))
					if hello.Check {
						return
					}
					continue
				}
				if _, err := c.Write(answer(h)); err != nil {
					return
				}
			}
		}()
	}
}
