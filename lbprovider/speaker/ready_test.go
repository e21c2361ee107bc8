package speaker

import (
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/liveness"
)

// known is what a speaker knows of the others.
type known struct {
	Peers
	snapshot *liveness.Snapshot
}

func (k known) Snapshot() *liveness.Snapshot { return k.snapshot }

// TestWaits: a rollout goes on when a speaker takes part again, and is not held
// up by one that settles for long.
func TestWaits(t *testing.T) {
	t.Parallel()
	now := time.Now()
	long := now.Add(-time.Minute)
	for _, c := range []struct {
		name    string
		decided *time.Time
		phase   liveness.Phase
		ready   bool
	}{
		{"nothing decided", nil, liveness.Active, false},
		{"settling", &now, liveness.Settling, false},
		{"taking part", &now, liveness.Active, true},
		{"about to stop", &now, liveness.Draining, true},
		{"lost often", &long, liveness.Settling, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			snapshot := &liveness.Snapshot{Members: map[string]liveness.Member{"a": {Phase: c.phase}}}
			s := &Speaker{opts: Options{NodeName: "a", Peers: known{snapshot: snapshot}}}
			s.decided.Store(c.decided)
			if text := s.notReady(); (text == "") != c.ready {
				t.Errorf("waits for %q, want ready: %v", text, c.ready)
			}
		})
	}
}
