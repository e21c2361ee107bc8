package speaker

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/lbprovider/liveness"
)

// members are the speakers "a b! c+ d?": an exclamation mark means lost, a plus
// steady, and a question mark that the API server was silent when last asked.
func members(text string) map[string]liveness.Member {
	all := map[string]liveness.Member{}
	for word := range strings.FieldsSeq(text) {
		name := strings.TrimRight(word, "!+?")
		all[name] = liveness.Member{Phase: liveness.Active, APIReach: liveness.APIReach{
			APILost: strings.Contains(word, "!"), APISteady: strings.Contains(word, "+"), APISilent: strings.Contains(word, "?"),
		}}
	}
	return all
}

// TestLost: a speaker without the API server is left out; if all are without
// it, nothing moves, neither at the beginning nor at the end.
func TestLost(t *testing.T) {
	t.Parallel()
	type at struct {
		second  float64
		members string
		lost    string
	}
	for _, tt := range []struct {
		name  string
		steps []at
	}{
		{"one of three", []at{{0, "a b c", ""}, {40, "a! b c", ""}, {44, "a! b c", ""}, {45, "a! b c", "a"}, {60, "a! b c", "a"}, {61, "a b c", ""}}},
		{"all, one after the other", []at{
			{0, "a b c", ""},
			{40, "a! b c", ""},
			{42, "a! b! c", ""},
			{42.5, "a! b! c!", ""},
			{43, "a! b! c!", ""},
			{60, "a! b! c!", ""},
			{61, "a b! c!", ""},
			{63, "a b c!", ""},
			{75, "a b c!", ""}, // it noticed later
			{76, "a b c", ""},
		}},
		{"all, of which one stands still for a while", []at{{0, "a+ b+ c+", ""}, {40, "a! b+ c+", ""}, {42, "a! b! c+", ""}, {44.5, "a! b! c+", ""}, {44.6, "a! b! c!", ""}, {60, "a! b! c!", ""}}},
		{"all, and then one alone", []at{
			{0, "a b c", ""}, {40, "a! b! c!", ""}, {60, "a b c!", ""}, {89, "a b c!", ""}, {90, "a b c!", "c"},
		}},
		{"a speaker that has just started does not judge", []at{{0, "a! b c", ""}, {29, "a! b c", ""}, {30, "a! b c", "a"}}},
		{"one that was met while all was well", []at{{0, "a b c", ""}, {1, "a! b c", ""}, {6, "a! b c", "a"}}},
		// c's view: it was cut off, and lost is what it still is for the others.
		{"cut off and back", []at{{0, "a+ b+ c+", ""}, {40, "c!?", ""}, {50, "a+ b+ c!", "c"}, {54, "a+ b+ c!", "c"}, {60, "a+ b+ c", ""}}},
		// a's view of the same.
		{"another was cut off", []at{{0, "a+ b+ c+", ""}, {40, "a+ b+", ""}, {50, "a+ b+ c!", ""}, {55, "a+ b+ c!", "c"}, {60, "a+ b+ c", ""}}},
		{"none is steady after a time without for all", []at{{0, "a+ b+", ""}, {40, "a! b!", ""}, {60, "a b!", ""}, {63, "a b!", ""}}},
		{"gone and back", []at{{0, "a b", ""}, {40, "a! b", ""}, {45, "a! b", "a"}, {46, "b", ""}, {50, "a! b", ""}, {55, "a! b", "a"}}},
	} {
		s, start := newReachability(), time.Now()
		for _, step := range tt.steps {
			nodes, again := s.apiLost(members(step.members), start.Add(time.Duration(step.second*float64(time.Second))))
			maps.DeleteFunc(nodes, func(_ string, lost bool) bool { return !lost })
			if got := strings.Join(slices.Sorted(maps.Keys(nodes)), " "); got != step.lost {
				t.Errorf("%s, second %v: lost %q, want %q", tt.name, step.second, got, step.lost)
			}
			if strings.Contains(step.members, "!") && again <= 0 && step.lost == "" && step.second < 43 {
				t.Errorf("%s, second %v: it is not looked at again", tt.name, step.second)
			}
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, before, after string
		seconds             int
		want                bool
	}{
		{"alone of three, without the API server", "a b c", "a!", 6, true},
		{"not yet", "a b c", "a!", 2, false},
		{"as soon as the API server is silent", "a b c", "a?", 3, true},
		{"alone of three, with the API server", "a b c", "a", 60, false},
		{"half is enough", "a b", "a!", 60, false},
		{"two of four", "a b c d", "a! b!", 60, false},
		{"one of a thousand seconds ago", "a b c", "a!", 1000, false},
	} {
		s, start := newReachability(), time.Now()
		s.apiLost(members(tt.before), start)
		s.isolated("a", members(tt.before), start)
		s.isolated("a", members(tt.after), start)
		now := start.Add(time.Duration(tt.seconds) * time.Second)
		s.apiLost(members(tt.after), now)
		if got, _ := s.isolated("a", members(tt.after), now); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestAlone(t *testing.T) {
	t.Parallel()
	nodes := func(names string) (list []corev1.Node, working map[string]bool) {
		working = map[string]bool{}
		for name := range strings.FieldsSeq(names) {
			name, down := strings.CutSuffix(name, "-")
			n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if !down {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			}
			list, working[name] = append(list, n), true
		}
		return list, working
	}
	for _, tt := range []struct {
		members, nodes string
		want           bool
	}{
		{"a b c", "a b c", false},
		{"a", "a b c", true},
		{"a", "a b", false}, // it may be the other that is dead
		{"a", "a b c-", false},
		{"a!", "a b c", false}, // then what Kubernetes says is old
		{"a b", "a b c", false},
	} {
		list, working := nodes(tt.nodes)
		if got := newReachability().alone("a", members(tt.members), list, working); got != tt.want {
			t.Errorf("members %s, nodes %s: %v, want %v", tt.members, tt.nodes, got, tt.want)
		}
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tt := range []struct {
		name   string
		status corev1.ConditionStatus // empty: no condition
		ago    time.Duration
		want   bool
		again  time.Duration
	}{
		{"ready", corev1.ConditionTrue, time.Hour, true, 0},
		{"the API server has just come back", corev1.ConditionUnknown, 10 * time.Second, true, 20 * time.Second},
		{"the kubelet says so", corev1.ConditionFalse, 29 * time.Second, true, time.Second},
		{"for a while", corev1.ConditionUnknown, 30 * time.Second, false, 0},
		{"no condition", "", 0, false, 0},
	} {
		var n corev1.Node
		if tt.status != "" {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: tt.status, LastTransitionTime: metav1.NewTime(now.Add(-tt.ago))}}
		}
		if got, again := readyOrRecently(&n, now); got != tt.want || again != tt.again {
			t.Errorf("%s: %t, again after %v; want %t, %v", tt.name, got, again, tt.want, tt.again)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	var reported []string
	c := apiCheck{log: slog.New(slog.DiscardHandler)}
	last := liveness.APIReach{}
	note := func(err error, now time.Time) {
		if r := c.note(err, now); r != last {
			reported = append(reported, fmt.Sprintf("%v/%v/%v", r.APILost, r.APISteady, r.APISilent))
			last = r
		}
	}
	start := time.Now()
	for second, ok := range []bool{true, false, false, true, false, false, false, false, true, false, true} {
		err := errors.New("no answer")
		if ok {
			err = nil
		}
		note(err, start.Add(time.Duration(second)*time.Second))
	}
	for second := 11; second < 45; second++ {
		note(nil, start.Add(time.Duration(second)*time.Second))
	}
	if got := strings.Join(reported, " "); got != "false/false/true false/false/false false/false/true true/false/true true/false/false true/false/true true/false/false false/false/false false/true/false" {
		t.Errorf("reported %q", got)
	}
}
