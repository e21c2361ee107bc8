package filesource

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/statefile"
)

// agesFile keeps, from one process to the next, when objects were first seen: the oldest
// object owns a host.
const (
	agesFile = "ages.json"
	maxAges  = 64 << 20
	// remembered is how long an object may be gone and keep its age: while a file is
	// moved, or a line of it is a comment.
	remembered = time.Minute
)

// age is when an object was first seen, and since when it is gone.
type age struct {
	First time.Time  `json:"first"`
	Gone  *time.Time `json:"gone,omitempty"`
}

type ages struct {
	state *statefile.Store
	known map[string]*age
	// last is the newest age, so that of two objects the one that is read first is older.
	last time.Time
}

func loadAges(state *statefile.Store) *ages {
	a := &ages{state: state, known: map[string]*age{}}
	if state == nil {
		return a
	}
	read := map[string]*age{}
	if state.Read(agesFile, maxAges, func(b []byte) error { return json.Unmarshal(b, &read) }) {
		for name, k := range read {
			if k != nil {
				a.known[name] = k
				if k.First.After(a.last) {
					a.last = k.First
				}
			}
		}
	}
	return a
}

// complete gives an object without creationTimestamp one. Objects get theirs in the order
// of the calls.
func (a *ages) complete(ref api.ObjectRef, o metav1.Object, now time.Time) {
	k := a.known[ref.String()]
	if k == nil {
		if !now.After(a.last) {
			now = a.last.Add(time.Microsecond)
		}
		a.last = now
		k = &age{First: now}
		a.known[ref.String()] = k
	}
	k.Gone = nil
	if t := o.GetCreationTimestamp(); t.IsZero() {
		o.SetCreationTimestamp(metav1.NewTime(k.First))
	}
}

// forget notes which objects are gone, and writes the ages down if any is new or gone.
func (a *ages) forget(there map[string]bool, before int, now time.Time) {
	changed := len(a.known) != before
	for name, k := range a.known {
		switch {
		case there[name]:
		case k.Gone == nil:
			k.Gone, changed = &now, true
		case now.Sub(*k.Gone) > remembered:
			delete(a.known, name)
			changed = true
		}
	}
	if !changed || a.state == nil {
		return
	}
	b, err := json.Marshal(a.known)
	if err == nil {
		err = a.state.Write(agesFile, b)
	}
	if err != nil {
		a.state.Log.Error("cannot keep the ages of objects for the next start", "err", err)
	}
}
