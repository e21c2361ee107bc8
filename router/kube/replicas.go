package kube

import (
	"crypto/md5" //nolint:gosec // a short name; no secret
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// A policy, or a listener of a Gateway or ListenerSet, is programmed once all ready replicas
// have it. Each replica but the elected one
// writes what it has to say into its annotation of one Lease, which the elected one
// watches:
//
//	replica ─ annotation ─▶ Lease router-NAME-replicas ─ watch ─▶ elected ─▶ status of the object
//
// It says a word only where the object does not say so yet: about a version that it has
// live and whose condition Programmed is not True, or that it lacks though it is. So the
// annotations are short, and one that was lost is written again.

// kindLease is that of Leases.
const kindLease model.Kind = "Lease"

// replicaPrefix is that of the annotations, each with the name of a pod.
const replicaPrefix = "replica.fairlead.dev/"

// word is what a replica says about one version of a policy or listener.
type word byte

const (
	wordLive word = '+'
	// wordRefused and wordUndecided: HAProxy, or the agent, does not have it.
	wordRefused   word = 'r'
	wordUndecided word = 'a'
)

// objectVersion names a version of a policy or listener: a hash of UID and generation.
type objectVersion [8]byte

func versionOf(uid string, generation int64) objectVersion {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", uid, generation))
	return objectVersion(sum[:])
}

// words are what a replica says.
type words map[objectVersion]word

// Sizes of annotations: that of all together is far below the 256 KiB that an object may
// have.
const (
	wordBytes     = 12
	mostWords     = 300
	mostWordBytes = 160 << 10
)

// text writes the words in an order of their own, at most so many: all replicas leave out
// the same.
func (w words) text(most int) string {
	var b strings.Builder
	for i, v := range slices.SortedFunc(maps.Keys(w), func(a, b objectVersion) int { return slices.Compare(a[:], b[:]) }) {
		if i >= most {
			break
		}
		b.WriteByte(byte(w[v]))
		b.WriteString(base64.RawURLEncoding.EncodeToString(v[:]))
	}
	return b.String()
}

// readWords reads what text wrote; what is not a word is left out.
func readWords(text string) words {
	w := words{}
	for ; len(text) >= wordBytes && len(w) < mostWords; text = text[wordBytes:] {
		var v objectVersion
		if n, err := base64.RawURLEncoding.Decode(v[:], []byte(text[1:wordBytes])); err == nil && n == len(v) {
			w[v] = word(text[0])
		}
	}
	return w
}

// spoken are the words of all replicas, by pod. It is never changed.
type spoken struct{ by map[string]words }

func readSpoken(l *coordinationv1.Lease) *spoken {
	s := &spoken{by: map[string]words{}}
	for key, text := range l.Annotations {
		if name, ours := strings.CutPrefix(key, replicaPrefix); ours {
			s.by[name] = readWords(text)
		}
	}
	return s
}

// complaints are the words that say that something is lacking; none of nil.
func (s *spoken) complaints() map[objectVersion]word {
	all := map[objectVersion]word{}
	if s == nil {
		return all
	}
	for _, w := range s.by {
		for v, word := range w {
			if word != wordLive {
				all[v] = word
			}
		}
	}
	return all
}

// agreement is what the other replicas make of a version that the elected one has live.
// The zero value is that they have it.
type agreement struct {
	// lacking counts those that have not said that they have it, first is one of them, and
	// of counts all replicas.
	lacking, of int
	first       string
	// refused is what first says of it, or 0.
	refused word
}

// agree asks the others. Before says that the object says already that all have it: then
// only one that says otherwise counts.
func agree(v objectVersion, others []string, said *spoken, before bool) (a agreement) {
	for _, name := range others {
		var w word
		if said != nil {
			w = said.by[name][v]
		}
		if w == wordLive || w == 0 && before {
			continue
		}
		if a.lacking++; a.first == "" || a.refused == 0 && w != 0 {
			a.first, a.refused = name, w
		}
	}
	if a.lacking > 0 {
		a.of = len(others) + 1
	}
	return a
}

// text says that some lack it.
func (a agreement) text() string {
	return fmt.Sprintf("%d of %d routers do not have it yet, such as %s", a.lacking, a.of, a.first)
}

// into replaces what conditions say of all replicas by what these say.
func (a agreement) into(conditions []metav1.Condition) []metav1.Condition {
	reason, message := api.ReasonPolicyPending, a.text()
	switch a.refused {
	case wordRefused:
		reason, message = api.ReasonRefusedByHAProxy, fmt.Sprintf("HAProxy of router %s refused objects as they are", a.first)
	case wordLive: // not of one that lacks it
	case wordUndecided:
		reason, message = api.ReasonAgentUnavailable, fmt.Sprintf("the policy agent of router %s does not decide by it yet; paths answer 503 there until it does", a.first)
	}
	out := slices.Clone(conditions)
	for i := range out {
		if c := &out[i]; (c.Type == api.ConditionProgrammed || c.Type == api.ConditionProtecting) && c.Status == metav1.ConditionTrue {
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(reason), message
		}
	}
	return out
}

// wordOf returns what a replica says of a report, and false if there is nothing to say
// yet.
func wordOf(r *policy.Report) (word, bool) {
	for _, c := range r.Conditions {
		switch {
		case c.Type != api.ConditionProgrammed:
		case c.Status == metav1.ConditionTrue:
			return wordLive, true
		case c.Reason == string(api.ReasonRefusedByHAProxy):
			return wordRefused, true
		case c.Reason == string(api.ReasonAgentUnavailable):
			return wordUndecided, true
		}
	}
	return 0, false
}

// programmed reports whether the object says that all replicas have its version of now.
func (w *Watcher) programmed(o *policy.Object) bool {
	ref := w.ancestor()
	return slices.ContainsFunc(o.Status.Ancestors, func(a v1alpha1.PolicyAncestor) bool {
		return a.ControllerName == api.PolicyControllerName && a.AncestorRef == ref && slices.ContainsFunc(a.Conditions, func(c metav1.Condition) bool {
			return c.Type == api.ConditionProgrammed && c.Status == metav1.ConditionTrue && c.ObservedGeneration == o.Generation
		})
	})
}

// members are the ready pods of this router's IngressController.
type members struct {
	service model.Object
	watcher *Watcher

	mu sync.Mutex
	// local are the addresses of this machine, or pod, read at.
	local map[netip.Addr]bool
	read  time.Time
	// addresses reads them.
	addresses func() ([]net.Addr, error)
}

// localFor is how long the addresses of this pod are believed.
const localFor = 10 * time.Second

// now returns the name of this replica, empty as long as it is not ready, and those of the
// others.
func (m *members) now() (me string, others []string) {
	local := m.localAddresses()
	for _, e := range (&backend.Service{}).Endpoints(m.watcher.Slices(m.service)) {
		name := e.Address.Addr().String()
		if parts := strings.Split(e.ID, ":"); parts[0] == "pod" && len(parts) > 1 {
			name = parts[1]
		}
		if len(name) > 63 || strings.Contains(name, ":") {
			sum := md5.Sum([]byte(name)) //nolint:gosec // a short name; no secret
			name = hex.EncodeToString(sum[:])
		}
		switch {
		case local[e.Address.Addr().Unmap()]:
			me = name
		case !slices.Contains(others, name):
			others = append(others, name)
		}
	}
	return me, slices.DeleteFunc(others, func(name string) bool { return name == me })
}

func (m *members) localAddresses() map[netip.Addr]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.local != nil && time.Since(m.read) < localFor {
		return m.local
	}
	list, err := m.addresses()
	if err != nil && m.local != nil {
		return m.local
	}
	m.local, m.read = map[netip.Addr]bool{}, time.Now()
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(n.IP); ok {
				m.local[addr.Unmap()] = true
			}
		}
	}
	return m.local
}

// newMembers returns the pods behind the Service within the cluster.
func newMembers(w *Watcher, namespace string) *members {
	return &members{
		service: model.Object{Kind: door.KindService, Namespace: namespace, Name: api.InternalServiceName(w.name)},
		watcher: w, addresses: net.InterfaceAddrs,
	}
}
