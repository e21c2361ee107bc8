package api

// What users and the operator tell the speakers.
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

// ReasonInvalidProbe says that the annotation lb.fairlead.dev/probe of a Service
// cannot be read. Write ":PORT/PATH".
const ReasonInvalidProbe Reason = "invalidProbe"

// ReasonAddressConflict says that another host on the network claims the address
// of a Service. Its hardware address is in the message.
const ReasonAddressConflict Reason = "addressConflict"

// Reasons of events on a BGPPeer.
const (
	// ReasonSessionUp: a node and the router have a BGP session.
	ReasonSessionUp Reason = "sessionUp"
	// ReasonSessionDown: a node has lost its BGP session with the router, and
	// the router the node's routes. The message says why.
	ReasonSessionDown Reason = "sessionDown"
	// ReasonSessionProcessFailed: the process that holds a node's session with the
	// router ended by itself, most likely because of what the router sent. Other
	// sessions and addresses are not concerned. It is started again after a pause.
	ReasonSessionProcessFailed Reason = "sessionProcessFailed"
	// ReasonTooManyRoutes: a router would be told more prefixes than Fairlead
	// tells any. Use an aggregationLength.
	ReasonTooManyRoutes Reason = "tooManyRoutes"
)
