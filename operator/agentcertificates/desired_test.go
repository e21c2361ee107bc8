package agentcertificates

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/share/peers"
)

// TestRotation: there is always a certificate that lives for twelve hours at least, and
// the one before it, and nothing else.
func TestRotation(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	live, err := Desired("default", now)
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Collect(maps.Keys(live.Data))[0]
	for hour := range 72 {
		now = now.Add(time.Hour)
		desired, err := Desired("default", now)
		if err != nil {
			t.Fatal(err)
		}
		live.Data["foreign"] = []byte("x")
		live, _ = Changed(live, desired)
		names := slices.Sorted(maps.Keys(live.Data))
		if len(names) == 0 || len(names) > kept || slices.Contains(names, "foreign") {
			t.Fatalf("hour %d: %v", hour, names)
		}
		newest, err := time.Parse(form, names[len(names)-1])
		if err != nil || now.Sub(newest) >= peers.Life/2 {
			t.Errorf("hour %d: the newest is of %s", hour, newest)
		}
		if last := names[len(names)-1]; last != before && !slices.Contains(names, before) {
			t.Errorf("hour %d: the one before is gone", hour)
		} else {
			before = last
		}
		if _, err := peers.Read([][]byte{live.Data[names[0]]}, now); err != nil {
			t.Errorf("hour %d: %v", hour, err)
		}
	}
	if _, changed := Changed(live, live.DeepCopy()); changed {
		t.Error("it changes without a reason")
	}
}
