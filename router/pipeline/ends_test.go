package pipeline

import (
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// TestEnded: an object is read again once, when its time has come, and not after it is gone.
func TestEnded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := &Pipeline{}
	a, b, c := model.Object{Name: "a"}, model.Object{Name: "b"}, model.Object{Name: "c"}
	p.ends.note(a, now)
	p.ends.note(b, now.Add(time.Hour))
	p.ends.note(c, now)
	p.ends.note(c, time.Time{})
	if got := p.Ended(now.Add(-time.Second)); len(got) != 0 {
		t.Errorf("before: %v", got)
	}
	if _, ok := p.Ended(now)[a]; !ok {
		t.Error("not read again")
	}
	if got := p.Ended(now); len(got) != 0 {
		t.Errorf("twice: %v", got)
	}
}
