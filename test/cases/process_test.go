package cases

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/haproxy"
)

// workerPID asks HAProxy for its process.
func workerPID(b *bed) (int, error) {
	rt, err := haproxy.NewRuntime(b.layout, b.caps)
	if err != nil {
		return 0, err
	}
	info, err := rt.Info()
	return info.PID, err
}

// cost is the least time of a processor that HAProxy takes for a request. What else the
// machine does is not in it.
func (b *bed) cost(host, path string) time.Duration {
	b.t.Helper()
	pid, err := workerPID(b)
	if err != nil {
		b.t.Fatal(err)
	}
	var times []time.Duration
	for range 15 {
		q := request{method: "GET", host: host, target: path}
		began := b.processorTime(pid)
		got := q.do(b.http, b.https)
		times = append(times, b.processorTime(pid)-began)
		if got.err != nil || got.pod == nil {
			b.t.Fatalf("%s: status %d, %v", host, got.status, got.err)
		}
	}
	return slices.Min(times)
}

// processorTime is how long the threads of a process have run (proc(5), schedstat).
func (b *bed) processorTime(pid int) (sum time.Duration) {
	b.t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		b.t.Fatalf("no threads of process %d: %v", pid, err)
	}
	for _, file := range threads {
		var ran time.Duration
		if _, err := fmt.Sscan(b.text(file), &ran); err != nil {
			b.t.Fatal(err)
		}
		sum += ran
	}
	return sum
}
