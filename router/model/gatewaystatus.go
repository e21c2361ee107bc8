package model

import "slices"

// StatusCondition is a condition of the Gateway API, without the times of its changes.
type StatusCondition struct {
	Type            string
	True            bool
	Reason, Message string
}

// ParentStatus is what one router says about one parentRef of a route.
type ParentStatus struct {
	// Ref is the parentRef as the route has it, in JSON.
	Ref string
	// Parent is the Gateway or ListenerSet that it names.
	Parent     Object
	Conditions []StatusCondition
	// Listeners are the names of those that the route is attached to.
	Listeners []string
	// Scopes are these listeners' own, which are not written.
	Scopes []ScopeID
}

// Equal reports whether two routers would write the same.
func (p *ParentStatus) Equal(o *ParentStatus) bool {
	return p.Ref == o.Ref && p.Parent == o.Parent && slices.Equal(p.Conditions, o.Conditions) && slices.Equal(p.Listeners, o.Listeners)
}

// ListenerStatus is what one router says about one listener of a Gateway or ListenerSet. How many routes
// are attached is counted from what it says about these.
type ListenerStatus struct {
	Name string
	// Scope is the listener's.
	Scope ScopeID
	// Kinds are those of routes that may attach.
	Kinds      []string
	Conditions []StatusCondition
}

// Equal reports whether two routers would write the same.
func (l *ListenerStatus) Equal(o *ListenerStatus) bool {
	return l.Name == o.Name && slices.Equal(l.Kinds, o.Kinds) && slices.Equal(l.Conditions, o.Conditions)
}
