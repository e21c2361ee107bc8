// Package gateway holds what the operator and the routers agree on about Gateways of
// the Gateway API: the name of the controller, which IngressController a GatewayClass
// means, which listeners are served, and the slots.
//
// HAProxy binds blocks of ports when it starts. A slot is one of these ports, given to
// one port of one Gateway; it serves all listeners of the Gateway on that port. So a new
// Gateway needs no new pod and no reload.
//
// Where the truth about slots is: in the ConfigMap that SlotsName names, in the
// namespace of the routers, one for each IngressController. The operator alone writes
// it, and administrators can. The Service of a Gateway and its EndpointSlices, which
// lead clients to the slots, are in the namespace of the Gateway, where tenants may
// change them: routers never read them. A tenant that puts the slot of another Gateway
// there reaches what its clients could reach through the other Gateway, until the
// operator has restored the Service, and no request gets the routes, the listener or the
// certificate of another Gateway. As one object holds all slots, two Gateways cannot
// have the same.
//
// Pure: functions of values.
package gateway
