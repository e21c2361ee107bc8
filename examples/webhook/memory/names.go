package memory

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Names is a DNS hook to a zone that exists only in memory.
type Names struct {
	zone string // ends with a dot

	mu     sync.Mutex
	byName map[string]hook.Record
}

var _ hook.DNSHook = (*Names)(nil)

// NewNames returns a hook with one zone, whose name ends with a dot.
func NewNames(zone string) *Names {
	return &Names{zone: zone, byName: map[string]hook.Record{}}
}

// ResolveZone knows one zone, by its name and by the names in it.
func (n *Names) ResolveZone(_ context.Context, s hook.ZoneSelector) (hook.Zone, error) {
	if s.ID != "" && s.ID != n.zone && s.ID+"." != n.zone {
		return hook.Zone{}, hook.Errorf(hook.ClassInvalidConfig, "there is no zone %q", s.ID)
	}
	if s.ID == "" && !strings.HasSuffix("."+strings.TrimSuffix(s.Suffix, ".")+".", "."+n.zone) {
		return hook.Zone{}, hook.Errorf(hook.ClassInvalidConfig, "%s is not in the zone %s", s.Suffix, n.zone)
	}
	return hook.Zone{ID: n.zone, Name: n.zone}, nil
}

// EnsureRecord keeps a record, unless the name is another owner's.
func (n *Names) EnsureRecord(_ context.Context, r *hook.Record, _ hook.Zone) (*hook.RecordResult, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	old, there := n.byName[r.Name]
	if there && old.Owner != r.Owner && !r.Adopt {
		return nil, hook.Errorf(hook.ClassConflict, "%s is a record of %s", r.Name, old.Owner)
	}
	same := there && old.Owner == r.Owner && old.Type == r.Type && old.TTL == r.TTL && slices.Equal(old.Targets, r.Targets)
	n.byName[r.Name] = *r
	return &hook.RecordResult{Changed: !same}, nil
}

// DeleteRecord removes a record of the same owner.
func (n *Names) DeleteRecord(_ context.Context, r *hook.Record, _ hook.Zone) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byName[r.Name].Owner == r.Owner {
		delete(n.byName, r.Name)
	}
	return nil
}
