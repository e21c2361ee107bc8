package model

// Agent is what the policy agent decides about requests of a route: an effective
// policy, as the agent reads it.
type Agent struct {
	// ID is what HAProxy asks for. It changes with what the policy demands, and not
	// with the pods of an auth server.
	ID string
	// Credentials are what HAProxy may keep a verdict by, as package snapshot has it;
	// empty if each request is asked about.
	Credentials string
	// Strips is set if Authorization is not for the pod.
	Strips bool
	// Content identifies what the policy demands, whatever route it is of.
	Content string
	// Namespace is whose share of the agent the policy uses.
	Namespace string
	// Policy is the policy in the agent's format: JSON, with secrets.
	Policy string
	// Methods say what is asked, for people, such as "basic: users of Secret demo/users".
	Methods string
}
