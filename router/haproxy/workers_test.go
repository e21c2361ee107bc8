package haproxy

import (
	"slices"
	"strings"
	"testing"
)

// oldWorkersAnswers are answers to "show proc" of HAProxy 3.0 and 3.4, and such
// that no HAProxy gives.
var oldWorkersAnswers = []struct {
	name, answer string
	want         []OldWorker
	wrong        bool
}{
	{"3.4", "#<PID>          <type>          <reloads>       <uptime>        <version>      \n1               master          3 [failed: 0]   0d00h00m05s     3.4.7-1        \n# workers\n17          worker          0               0d00h00m01s     3.4.7-1        \n# old workers\n11               worker          1               0d00h00m01s     3.4.7-1        \n9               worker          2               0d00h00m01s     3.4.7-1        \n\n", []OldWorker{{9, 2}, {11, 1}}, false},
	{"3.0", "#<PID> <type> <reloads> <uptime> <version>\n1 master 1 [failed: 0] 0d00h00m05s 3.0.11\n# workers\n17 worker 0 0d00h00m01s 3.0.11\n# programs\n\n", nil, false},
	{"cut off", "# old workers\n11 worker 1 0d 3.4.7\n", nil, true},
	{"nothing", "", nil, true},
	{"init", "# old workers\n1 worker 1 0d 3.4.7\n\n", nil, true},
	{"no number", "# old workers\n-1 worker 1 0d 3.4.7\n\n", nil, true},
	{"too large", "# old workers\n99999999999 worker 1 0d 3.4.7\n\n", nil, true},
	{"too many", "# old workers\n" + strings.Repeat("7 worker 1 0d 3.4.7\n", maxWorkers+1) + "\n", nil, true},
	{"endless", strings.Repeat("x", 2<<20), nil, true},
}

func TestOldWorkersAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range oldWorkersAnswers {
		got, err := parseWorkers(strings.NewReader(tt.answer))
		if !slices.Equal(got, tt.want) || (err != nil) != tt.wrong {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
}

// FuzzOldWorkers: whatever the master answers, only processes that may be workers
// come of it, and few.
func FuzzOldWorkers(f *testing.F) {
	for _, tt := range oldWorkersAnswers {
		f.Add(tt.answer)
	}
	f.Add("# old workers\n7\x00 worker 1\n8\tworker\t1\r\n9\fworker 1\n\n")
	f.Fuzz(func(t *testing.T, answer string) {
		old, err := parseWorkers(strings.NewReader(answer))
		if len(old) > maxWorkers || err != nil && len(old) > 0 {
			t.Fatalf("%d workers, %v", len(old), err)
		}
		for i, w := range old {
			if w.PID < 2 || w.Reloads < 0 || i > 0 && w.Reloads > old[i-1].Reloads {
				t.Errorf("worker %+v", w)
			}
		}
	})
}

// TestShort: old workers end before the memory of the container does.
func TestShort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		used, limit int64
		limited     bool
		want        bool
	}{{90, 100, true, true}, {80, 100, true, false}, {90, 100, false, false}} {
		s := &Supervisor{Memory: func() (int64, int64, bool) { return tt.used, tt.limit, tt.limited }}
		if got := s.short(); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	if (&Supervisor{}).short() {
		t.Error("without a limit memory is short")
	}
	if pid, err := parentOf(1 << 30); err == nil {
		t.Errorf("a process that does not exist has the parent %d", pid)
	}
}
