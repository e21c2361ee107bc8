package model

// Kind is what sort of object an Object is, such as "Route". Each front door names
// its own kind; package door names those that front doors depend on.
type Kind string

// Object names an object of the cluster. It is comparable.
type Object struct {
	Kind      Kind
	Namespace string
	Name      string
}

// String returns "namespace/name", which log lines and messages show beside the kind.
func (o Object) String() string { return o.Namespace + "/" + o.Name }

// Objects is a set of objects.
type Objects = map[Object]struct{}
