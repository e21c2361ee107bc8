package haproxy_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/test/wait"
)

// entriesOf are steps that take several lines of each kind: alone, and with a payload.
func entriesOf(name string) []plan.Step {
	steps := []plan.Step{plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTP, Key: name + ".test/"}, Value: "x"}}
	for i := range 5 {
		steps = append(steps, plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTPS, Key: fmt.Sprintf("%s%d.test/", name, i)}, Value: "x"})
	}
	return append(steps, plan.EntrySet{Entry: plan.Entry{Map: plan.MapHTTP, Key: name + ".test/"}, Value: "y"})
}

// TestConnectionStays: changes share one connection, also after a refusal, and have their own where HAProxy is busy. Each
// version answers both.
func TestConnectionStays(t *testing.T) {
	t.Parallel()
	for _, bin := range []string{"haproxy", "haproxy-3.2", "haproxy-3.0"} {
		t.Run(bin, func(t *testing.T) {
			t.Parallel()
			rt, _ := running(t, bin)
			rt.Busy(false)
			mustApply(t, rt, entriesOf("first")...)
			rt.Busy(false)
			held, lines := rt.Held(), rt.Commands
			for i := range 20 {
				rt.Busy(i%2 == 0) // every second time, lines have connections of their own
				mustApply(t, rt, entriesOf(fmt.Sprint("host", i))...)
				err := rt.Apply([]plan.Step{plan.ServerWeight{Backend: roundBackend, Name: "none", Weight: 1}}, func(plan.Step) { t.Error("it is there") })
				if !haproxy.Refused(err) {
					t.Fatal(err)
				}
			}
			if lines = rt.Commands - lines; lines < 60 || held == nil || rt.Held() != held {
				t.Errorf("another connection after %d lines", lines)
			}
			if st := readBack(t, rt); st.Entries[plan.Entry{Map: plan.MapHTTP, Key: "host19.test/"}] != "y" {
				t.Error("the last one is not there")
			}
		})
	}
}

// TestConnectionEnds: changes reach the process that serves: after one has ended, and after a reload that
// another program asked for.
func TestConnectionEnds(t *testing.T) {
	t.Parallel()
	for _, bin := range []string{"haproxy", "haproxy-3.2", "haproxy-3.0"} {
		t.Run(bin, func(t *testing.T) {
			t.Parallel()
			rt, caps := running(t, bin)
			other, err := haproxy.NewRuntime(rt.Layout(), caps)
			if err != nil {
				t.Fatal(err)
			}
			key := plan.Entry{Map: plan.MapHTTP, Key: "here.test/"}
			changed := func(how string) {
				t.Helper()
				var refusal *haproxy.RefusedError
				wait.Poll{}.For(t, "a change "+how, func() error {
					err := rt.Apply([]plan.Step{plan.EntryAdd{Entry: key, Value: "x"}}, func(plan.Step) {})
					if errors.As(err, &refusal) && !refusal.Unanswered && !strings.Contains(refusal.Message, "exist") {
						t.Fatal(err)
					}
					return err
				})
				if st := readBack(t, other); st.Entries[key] != "x" {
					t.Errorf("%s the change went elsewhere", how)
				}
			}
			changed("before")
			info, err := rt.Info()
			if err != nil {
				t.Fatal(err)
			}
			for how, replace := range map[string]func() error{
				"after a reload by another program": other.Reload,
				"after the end of the process":      func() error { return endProcess(info.PID) },
			} {
				if info, err = rt.Info(); err != nil {
					t.Fatal(err)
				}
				wait.Poll{}.For(t, how, replace) // the master may not be there again yet
				wait.Poll{}.For(t, "another process", func() error {
					now, err := rt.Info()
					if err == nil && now.PID == info.PID {
						err = errors.New("the same one")
					}
					return err
				})
				changed(how)
			}
		})
	}
}

// BenchmarkConnections: a change over the connection that stays, and over one of its own, as the library's call makes it.
func BenchmarkConnections(b *testing.B) {
	rt := filled(b)
	step := plan.ServerWeight{Backend: roundBackend, Name: "s1", Weight: 2}
	library := rt.Library()
	b.Run("held", func(b *testing.B) {
		for b.Loop() {
			rt.Busy(false)
			mustApply(b, rt, step)
		}
	})
	b.Run("each", func(b *testing.B) {
		for b.Loop() {
			if out, err := library.ExecuteRaw("set server " + roundBackend + "/s1 weight 2;show version"); err != nil || !strings.Contains(out, "[6]: 3") {
				b.Fatal(out, err)
			}
		}
	})
}

func endProcess(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
