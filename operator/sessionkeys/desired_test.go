package sessionkeys

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/session"
)

// TestRotation: each day a key comes and the oldest of three goes; between, nothing changes.
func TestRotation(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 7, 0, 0, 0, time.UTC)
	live := Desired("a", now)
	if _, changed := Changed(live, Desired("a", now.Add(23*time.Hour))); changed {
		t.Error("it changes before its time")
	}
	second, changed := Changed(live, Desired("a", now.Add(24*time.Hour)))
	if !changed || len(second.Data) != 2 || !slices.Equal(second.Data[session.Name(now)], live.Data[session.Name(now)]) {
		t.Errorf("after a day: %v", slices.Sorted(maps.Keys(second.Data)))
	}
	third, changed := Changed(second, Desired("a", now.Add(48*time.Hour)))
	if want := []string{session.Name(now.Add(24 * time.Hour)), session.Name(now.Add(48 * time.Hour))}; !changed || !slices.Equal(slices.Sorted(maps.Keys(third.Data)), want) {
		t.Errorf("after two days: %v", slices.Sorted(maps.Keys(third.Data)))
	}
}

// TestRepair: what is no key goes, and a Secret without keys gets one.
func TestRepair(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 7, 0, 0, 0, time.UTC)
	live := Desired("a", now)
	live.Data = map[string][]byte{"x": []byte("y"), session.Name(now.Add(-time.Hour)): make([]byte, 31), session.Name(now.Add(time.Hour)): make([]byte, 32)}
	fixed, changed := Changed(live, Desired("a", now))
	if !changed || len(fixed.Data) != 1 || len(fixed.Data[session.Name(now)]) != session.KeySize {
		t.Errorf("%v", slices.Sorted(maps.Keys(fixed.Data)))
	}
	live.Data = nil
	if fixed, changed = Changed(live, Desired("a", now)); !changed || len(fixed.Data) != 1 {
		t.Errorf("%v", fixed.Data)
	}
}
