package kube

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/model"
)

func TestPace(t *testing.T) {
	p, start := pace{every: 10 * time.Second, burst: 3}, time.Unix(1_000_000, 0)
	var used time.Time
	if wait := p.wait(used, start); wait > 0 {
		t.Fatalf("the first write waits %v", wait)
	}
	var written []int
	for second := range 60 { // it changes every second
		now := start.Add(time.Duration(second) * time.Second)
		if p.wait(used, now) <= 0 {
			used = p.next(used, now)
			written = append(written, second)
		}
	}
	if want := []int{0, 1, 2, 10, 20, 30, 40, 50}; fmt.Sprint(written) != fmt.Sprint(want) {
		t.Errorf("written at %v, want %v", written, want)
	}
	if wait := p.wait(used, start.Add(10*time.Minute)); wait > 0 {
		t.Errorf("after a pause the next write waits %v", wait)
	}
}

// testPace changes what is said about a Route without end: few writes, and the last
// one says what is so.
func (e *env) testPace(t *testing.T) {
	e.namespace(t, "pace", nil)
	r, other := e.route(t, "pace", "restless", nil), e.route(t, "pace", "calm", nil)
	_, s, _ := e.writer(t, Options{RouterName: "pace"}, "routers")
	s.pace = pace{every: 3 * time.Second, burst: 4}
	eventually(t, "the replica to be elected", func() bool { return s.Stats().Leading })
	say := func(message string) {
		status := statusOf(r, false)
		status.Message = message
		s.Publish([]model.RouteStatus{status})
	}
	began := time.Now()
	for n := range 40 {
		say(fmt.Sprint("taken by ", n))
		<-time.After(20 * time.Millisecond)
	}
	most := s.pace.burst + int(time.Since(began)/s.pace.every)
	if writes := int(s.Stats().Writes); writes < s.pace.burst || writes > most {
		t.Errorf("%d writes of one status within %v, want %d to %d", writes, time.Since(began), s.pace.burst, most)
	}
	// Others of the namespace do not wait for it.
	s.Publish([]model.RouteStatus{statusOf(other, true)})
	e.wantAdmitted(t, other, "pace", corev1.ConditionTrue)
	eventually(t, "the last word", func() bool {
		got := e.entry(t, r, "pace")
		return got != nil && got.Conditions[0].Message == "taken by 39"
	})
}
