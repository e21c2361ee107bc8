// Package ingress decides which Routes an Ingress stands for. It is pure: the
// reading and writing is in operator/ingress/controller.
//
// Every rule and path with a host and a Service backend becomes one Route. A
// path that cannot be served, or not as wished, is a finding, and never keeps
// back the other paths.
package ingress

import "github.com/fairlead/fairlead/router/model"

// Kind is that of Ingresses.
const Kind model.Kind = "Ingress"
