package gateway

import (
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/policy"
)

// unpoliced is what all doors of the Gateway API have in common: no policy is for their
// objects, and what was served before stays only where HAProxy refuses something newer.
type unpoliced struct{}

// Continues implements door.Door: a mistake is said, and nothing older is served in its place.
func (unpoliced) Continues(_, _ door.Version) bool { return false }

// Place implements door.Door.
func (unpoliced) Place(door.Version, door.Settings) *policy.Place { return &policy.Place{} }

// Covers implements door.Door: a route keeps clients out only by what it leaves out, and a
// former version may have had that.
func (unpoliced) Covers(_, _ door.Version, _ door.Source, _ door.Settings) bool { return false }

// Guarded implements door.Door.
func (unpoliced) Guarded(door.Version, door.Source, door.Settings) bool { return false }
