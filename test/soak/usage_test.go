package soak

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fairlead/fairlead/test/bench/rig"
)

// What may differ between the second and the last tenth, since number and kind
// of routes are only about the same.
//
// Memory: an eighth, and 16 MB more. The router's heap swings with Go's
// collector, which lets it double before it works; HAProxy's pools and malloc
// keep the most that was ever in use, and backends that lasting connections
// use stay until those end. A leak of 5 kB in each change shows at full size.
//
// Files: an eighth, and 24 and one for three changes, at most 200, more: HAProxy
// keeps idle connections for seconds, also those to pods that it does not use
// any more, and a short run ends before as many are closed as are opened. A
// leak of one file in 40 changes shows at full size, of one in two in a short
// run.
//
// someFiles is what HAProxy may have open for itself at any time, such as the
// router's own connections to its socket.
const (
	someMemory = 16 << 20
	share      = 8
	someFiles  = 16
)

// usage are samples of what the processes use, by tenths of the changes.
type usage struct {
	router, haproxy [10][]rig.Usage
	last            [2]rig.Usage
	pids            map[int]struct{}
}

func (u *usage) sample(o *rig.Router, tenth int) {
	r, h := o.Usage()
	u.router[tenth] = append(u.router[tenth], r)
	u.haproxy[tenth] = append(u.haproxy[tenth], h)
	u.last = [2]rig.Usage{r, h}
	if u.pids == nil {
		u.pids = map[int]struct{}{}
	}
	u.pids[h.PID] = struct{}{}
}

// processes is how many HAProxy processes served.
func (u *usage) processes() int { return len(u.pids) }

func (u *usage) String() string {
	r, h := u.last[0], u.last[1]
	return fmt.Sprintf("router %d MB, %d files; HAProxy %d MB, %d files", r.Memory>>20, r.Files, h.Memory>>20, h.Files)
}

// compare fails the test if a median of the last tenth is above that of the
// second.
func (u *usage) compare(t *testing.T) {
	t.Helper()
	for name, tenths := range map[string][10][]rig.Usage{"router": u.router, "HAProxy": u.haproxy} {
		memory := func(u rig.Usage) int64 { return u.Memory }
		files := func(u rig.Usage) int64 { return int64(u.Files) }
		for _, c := range []struct {
			what  string
			of    func(rig.Usage) int64
			unit  int64
			extra int64
		}{{"MB of memory", memory, 1 << 20, someMemory}, {"open files", files, 1, 24 + min(int64(size.changes)/3, 200)}} {
			before, ok1 := median(tenths[1], c.of)
			after, ok2 := median(tenths[9], c.of)
			if !ok1 || !ok2 {
				t.Errorf("%s: no samples of %s", name, c.what)
				continue
			}
			t.Logf("%s: %d %s in the second tenth, %d in the last", name, before/c.unit, c.what, after/c.unit)
			if after > before+before/share+c.extra {
				t.Errorf("%s has grown from %d to %d %s", name, before/c.unit, after/c.unit, c.what)
			}
		}
	}
}

func median(samples []rig.Usage, of func(rig.Usage) int64) (int64, bool) {
	var all []int64
	for _, s := range samples {
		all = append(all, of(s))
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return all[len(all)/2], true
}
