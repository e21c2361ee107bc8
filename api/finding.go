// Package api holds the names that users see: findings and their reasons,
// annotation keys, label keys, object names and the metallb.io types.
//
// It imports no client and does no IO, so every other package may use it.
package api

import "fmt"

// Severity says how much a finding costs its object.
type Severity string

const (
	// SeverityError means that the object, or the named part of it, is not
	// applied. Its last good version may still serve; see Finding.Effect.
	SeverityError Severity = "Error"
	// SeverityWarning means that the object works, but not in every way it asks for.
	SeverityWarning Severity = "Warning"
	// SeverityInfo means that nothing is wrong, yet the user may want to know.
	SeverityInfo Severity = "Info"
)

// ObjectRef names the object that a finding is about. It is comparable, so it
// can be a map key.
type ObjectRef struct {
	// Group is the API group, empty for the core group.
	Group string
	// Kind is the API kind, such as "Route".
	Kind string
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	Name      string
}

// String returns the form that users type: "route/ns/name" in lower case kind.
func (r ObjectRef) String() string {
	if r.Namespace == "" {
		return fmt.Sprintf("%s/%s", r.Kind, r.Name)
	}
	return fmt.Sprintf("%s/%s/%s", r.Kind, r.Namespace, r.Name)
}

// Finding is one statement about one object, made while deciding what to
// serve. The same finding becomes a status condition, an event, a metric, a
// line of the command line tools and a lint result. It is data: functions that
// decide return findings; they never log or write them.
type Finding struct {
	Object ObjectRef
	// Field is the path of the field that causes the finding, such as
	// "spec.tls.certificate", or empty if it is the object as a whole.
	Field string
	// Reason is one of the Reason constants of this package.
	Reason Reason
	// Message says what is wrong, in a sentence without the object's name.
	// It never holds private key material or names from other namespaces.
	Message  string
	Severity Severity
	// Effect says what happens now, such as "the route is not served".
	Effect string
}

// String returns the finding on one line, as logs and terminals show it.
func (f Finding) String() string {
	s := fmt.Sprintf("%s %s: %s", f.Severity, f.Object, f.Reason)
	if f.Field != "" {
		s += " " + f.Field
	}
	s += ": " + f.Message
	if f.Effect != "" {
		s += " (" + f.Effect + ")"
	}
	return s
}

// Text returns the message with field and effect, as conditions and events show it.
func (f Finding) Text() string {
	s := f.Message
	if f.Field != "" {
		s = f.Field + ": " + s
	}
	if f.Effect != "" {
		s += "; " + f.Effect
	}
	return s
}
