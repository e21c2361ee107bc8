package haproxy_test

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestEnded: the end of the worker is reported. A number that is not that of the process behind the socket is not
// watched, as that of a HAProxy in another container would be.
func TestEnded(t *testing.T) {
	t.Parallel()
	for _, bin := range []string{"haproxy", "haproxy-3.0"} {
		t.Run(bin, func(t *testing.T) {
			t.Parallel()
			testEnded(t, bin)
		})
	}
}

func testEnded(t *testing.T, bin string) {
	t.Helper()
	rt, _ := running(t, bin)
	info, err := rt.Info()
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []int{os.Getpid(), 1, 1 << 30} {
		if rt.Ended(other) != nil {
			t.Errorf("process %d is watched, and HAProxy is %d", other, info.PID)
		}
	}
	ended := rt.Ended(info.PID)
	if ended == nil {
		t.Fatal("HAProxy is not watched")
	}
	if err := syscall.Kill(info.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the end is not reported")
	}
}
