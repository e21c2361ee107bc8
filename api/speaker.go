package api

// What users and the operator set for the speakers.
const (
	// AnnotationProbe on a Service with externalTrafficPolicy Local is a port
	// and a path, such as ":1936/healthz/ready". Only nodes announce the
	// Service's address on which a pod of it answers GET requests there with
	// 200. The operator sets it on the Services of routers.
	AnnotationProbe = "lb.fairlead.dev/probe"
	// AnnotationDrain on a Node moves the addresses that it announces to other
	// nodes, without a gap, and keeps them there. Its value is a note for
	// people; "false" is as if it were not there. It may also be a label.
	AnnotationDrain = "lb.fairlead.dev/drain"
)
