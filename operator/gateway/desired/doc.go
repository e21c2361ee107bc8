// Package desired decides what becomes of a GatewayClass and of a Gateway: the slots,
// the Service, the EndpointSlices and the conditions that the operator writes. What the
// routers write, the status of listeners and routes, is not decided here. Pure.
package desired
