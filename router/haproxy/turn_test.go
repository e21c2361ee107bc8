package haproxy

import (
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestShortTurns: the program that is started has short turns, and the thread that starts it the same ones as before.
func TestShortTurns(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if before.Runtime == 0 {
		t.Skip("this kernel does not know turns of a length that a program asks for (Linux 6.12)")
	}
	cmd := exec.Command("sleep", "60")
	if err := inShortTurns(cmd.Start); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	got, err := unix.SchedGetAttr(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Duration(got.Runtime); took != turn {
		t.Errorf("the program's turns take %v, want %v", took, turn)
	}
	after, err := unix.SchedGetAttr(0, 0)
	if err != nil || *after != *before {
		t.Errorf("the thread that started it has %+v, %v; before it had %+v", after, err, before)
	}
}
