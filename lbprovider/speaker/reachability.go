package speaker

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/lbprovider/liveness"
)

const (
	// apiLostTime is how long a speaker must have been without the API server
	// before others take its addresses. By then it is known whether all are: each
	// notices within three seconds, the first one after one, and a machine may stand
	// still for some more. Nothing is lost meanwhile: the node serves as before.
	apiLostTime = 5 * time.Second
	// isolatedTime is how long a speaker goes on announcing once it has noticed that it
	// is cut off, which takes up to two seconds more.
	isolatedTime = 3 * time.Second
	// unreadyTime is how long a node whose speaker is at work keeps its addresses
	// although Kubernetes calls it not ready. When the API server comes back,
	// Kubernetes calls nodes so until their kubelets have reported, one after
	// the other; addresses would move to those that come first, and back.
	unreadyTime = 30 * time.Second
	// seenWindow is how long a speaker that is gone counts as one that should be there.
	seenWindow = 10 * time.Minute
)

// reachability is what a speaker remembers of the others over time.
type reachability struct {
	// seen is when each was last reachable.
	seen map[string]time.Time
	// apiLostSince and apiWellSince are since when each says that it does not, or
	// does, reach the API server. One that was met when all did has always
	// done so, as far as any speaker knows: speakers that met it at other times must
	// not differ in that.
	apiLostSince, apiWellSince map[string]time.Time
	// isolatedSince is since when this speaker reaches too little.
	isolatedSince time.Time
}

func newReachability() *reachability {
	return &reachability{seen: map[string]time.Time{}, apiLostSince: map[string]time.Time{}, apiWellSince: map[string]time.Time{}}
}

func (s *reachability) met(node string) bool { _, ok := s.seen[node]; return ok }

// apiLost returns the nodes whose speaker decides from old data: it has not
// reached the API server for a while although another has. While no speaker
// reaches it, all go on as they are.
func (s *reachability) apiLost(members map[string]liveness.Member, now time.Time) (nodes map[string]bool, again time.Duration) {
	nodes = map[string]bool{}
	well := false
	met := time.Time{}
	for _, m := range members {
		if m.APILost {
			met = now
		}
	}
	for name, m := range members {
		s.seen[name] = now
		if m.APILost {
			delete(s.apiWellSince, name)
			mark(s.apiLostSince, name, now)
			continue
		}
		since := met
		if _, back := s.apiLostSince[name]; back {
			delete(s.apiLostSince, name)
			since = now
		}
		left := liveness.SteadyTime - now.Sub(mark(s.apiWellSince, name, since))
		// What it says of itself comes first: one that was cut off meets it only now.
		well = well || m.APISteady || left <= 0
		again = soonest(again, left)
	}
	for _, times := range []map[string]time.Time{s.apiLostSince, s.apiWellSince} {
		for name := range times {
			if _, there := members[name]; !there {
				delete(times, name)
			}
		}
	}
	if len(s.apiLostSince) == 0 {
		return nodes, 0
	}
	for name, since := range s.apiLostSince {
		left := apiLostTime - now.Sub(since)
		nodes[name] = well && left <= 0
		again = soonest(again, left)
	}
	return nodes, again
}

// readyOrRecently says whether Kubernetes calls the node ready, or has not done so for a
// moment only, and after which time the latter is over. It goes by the condition's
// own time, so that all speakers come to the same result.
func readyOrRecently(n *corev1.Node, now time.Time) (ready bool, again time.Duration) {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			left := unreadyTime - now.Sub(c.LastTransitionTime.Time)
			return left > 0, max(left, 0)
		}
	}
	return nodeReady(n), 0
}

// alone says that this speaker reaches no other, although it did, while
// Kubernetes sees at least two others at work: it is the one that is cut off,
// or no speaker reaches any other. With one other this cannot be decided.
func (s *reachability) alone(self string, members map[string]liveness.Member, nodes []corev1.Node, working map[string]bool) bool {
	if len(members) > 1 || members[self].APILost {
		return false
	}
	others := 0
	for i := range nodes {
		if n := &nodes[i]; n.Name != self && nodeReady(n) && working[n.Name] {
			others++
		}
	}
	return others >= 2
}

// isolated says that this speaker has for a while not reached half of the speakers
// that it knew, and gets no answer of the API server: the others have taken over.
func (s *reachability) isolated(self string, members map[string]liveness.Member, now time.Time) (isolated bool, again time.Duration) {
	known := 0
	for name, at := range s.seen {
		if now.Sub(at) <= seenWindow {
			known++
		} else if _, there := members[name]; !there {
			delete(s.seen, name)
		}
	}
	if 2*len(members) >= known {
		s.isolatedSince = time.Time{}
		return false, 0
	}
	if s.isolatedSince.IsZero() {
		s.isolatedSince = now
	}
	left := isolatedTime - now.Sub(s.isolatedSince)
	return left <= 0 && (members[self].APILost || members[self].APISilent), max(left, 0)
}

// mark returns when the name was first marked, which is at if it never was.
func mark(times map[string]time.Time, name string, at time.Time) time.Time {
	if marked, ok := times[name]; ok {
		return marked
	}
	times[name] = at
	return at
}

// soonest returns the smaller of two times to wait, of which 0 and less means none.
func soonest(a, b time.Duration) time.Duration {
	if a <= 0 {
		return max(b, 0)
	}
	if b <= 0 {
		return a
	}
	return min(a, b)
}
