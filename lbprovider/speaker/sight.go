package speaker

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/lbprovider/liveness"
)

const (
	// lostTime is how long a speaker must have been without the API server
	// before others take its addresses. By then it is known whether all are.
	lostTime = 3 * time.Second
	// cutTime is how long a speaker goes on announcing once it has noticed that it
	// is cut off, which takes up to two seconds more.
	cutTime = 3 * time.Second
	// unreadyTime is how long a node whose speaker is at work keeps its addresses
	// although Kubernetes calls it not ready. When the API server comes back,
	// Kubernetes calls nodes so until it has heard from their kubelets, one after
	// the other; addresses would move to those that come first, and back.
	unreadyTime = 30 * time.Second
	// seenWindow is how long a speaker that is gone counts as one that should be there.
	seenWindow = 10 * time.Minute
)

// sight is what a speaker remembers of the others over time.
type sight struct {
	// seen is when each was last reachable.
	seen map[string]time.Time
	// lostSince and wellSince are since when each says that it does not, or
	// does, reach the API server. One that was met when all did has always
	// done so, as far as anybody knows: speakers that met it at other times must
	// not differ in that.
	lostSince, wellSince map[string]time.Time
	// cutSince is since when this speaker reaches too little.
	cutSince time.Time
}

func newSight() *sight {
	return &sight{seen: map[string]time.Time{}, lostSince: map[string]time.Time{}, wellSince: map[string]time.Time{}}
}

func (s *sight) met(node string) bool { _, ok := s.seen[node]; return ok }

// lost returns the nodes whose speaker decides from old facts: it has not
// reached the API server for a while although another has. While nobody reaches
// it, all go on as they are.
func (s *sight) lost(members map[string]liveness.Member, now time.Time) (nodes map[string]bool, again time.Duration) {
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
			delete(s.wellSince, name)
			mark(s.lostSince, name, now)
			continue
		}
		since := met
		if _, back := s.lostSince[name]; back {
			delete(s.lostSince, name)
			since = now
		}
		left := liveness.SteadyTime - now.Sub(mark(s.wellSince, name, since))
		// Its own word comes first: one that was cut off meets it only now.
		well = well || m.APISteady || left <= 0
		again = soonest(again, left)
	}
	for _, times := range []map[string]time.Time{s.lostSince, s.wellSince} {
		for name := range times {
			if _, there := members[name]; !there {
				delete(times, name)
			}
		}
	}
	if len(s.lostSince) == 0 {
		return nodes, 0
	}
	for name, since := range s.lostSince {
		left := lostTime - now.Sub(since)
		nodes[name] = well && left <= 0
		again = soonest(again, left)
	}
	return nodes, again
}

// ready says whether Kubernetes calls the node ready, or has not done so for a
// moment only, and after which time the latter is over. It goes by the condition's
// own time, so that all speakers come to the same result.
func ready(n *corev1.Node, now time.Time) (ready bool, again time.Duration) {
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
// or nobody reaches anybody. With one other there is no telling.
func (s *sight) alone(self string, members map[string]liveness.Member, nodes []corev1.Node, working map[string]bool) bool {
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

// cut says that this speaker has for a while not reached half of the speakers
// that it knew, and gets no answer of the API server: the others have taken over.
func (s *sight) cut(self string, members map[string]liveness.Member, now time.Time) (cut bool, again time.Duration) {
	known := 0
	for name, at := range s.seen {
		if now.Sub(at) <= seenWindow {
			known++
		} else if _, there := members[name]; !there {
			delete(s.seen, name)
		}
	}
	if 2*len(members) >= known {
		s.cutSince = time.Time{}
		return false, 0
	}
	if s.cutSince.IsZero() {
		s.cutSince = now
	}
	left := cutTime - now.Sub(s.cutSince)
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
