package gateway

import (
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/policy"
)

// measure reads how the route's requests are counted.
func (b *builder) measure() {
	if b.datagrams() {
		return
	}
	m, problems := policy.Measured(b.route.Annotations, b.stream())
	for _, p := range problems {
		b.find(p.Severity, "metadata.annotations["+p.Key+"]", p.Reason, p.Message, p.Effect)
	}
	if m.Asks() {
		b.result.Measure = &m
	}
}

// former is what all doors of the Gateway API have in common: what was served before stays only
// where HAProxy refuses something newer.
type former struct{}

// Continues implements door.Door: a mistake is said, and nothing older is served in its place.
func (former) Continues(_, _ door.Version) bool { return false }

// Covers implements door.Door: a route keeps clients out also by what it leaves out, and a
// former version may have had that.
func (former) Covers(_, _ door.Version, _ door.Source, _ door.Settings) bool { return false }

// unpoliced is what doors have in common of objects that no policy is for. Those for Gateways
// are read by the routes that are attached to them.
type unpoliced struct{ former }

// Place implements door.Door.
func (unpoliced) Place(door.Version, door.Settings) *policy.Place { return &policy.Place{} }

// Guarded implements door.Door.
func (unpoliced) Guarded(door.Version, door.Source, door.Settings) bool { return false }
