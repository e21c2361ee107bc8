package gateway

import (
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// overlaps adds the condition OverlappingTLSConfig to the status of the listeners of an object
// that clients can take for one another: a browser that has a connection to one of them may
// use it for requests to the other, which get 421. The certificates are those of each listener;
// others says which of them a listener of another object meets, nil for none.
func overlaps(res *door.Result, all []listener, certificates [][]model.ListenerCertificate, others []bool) {
	for i := range all {
		reason, with := overlapWithin(all, certificates, i)
		if reason == "" && others != nil && others[i] {
			// The message names no listeners of other objects: a tenant may not know them.
			reason, with = gatewayv1.ListenerReasonOverlappingHostnames, "hosts can fit the hostname of a listener of another object, too"
		}
		if reason != "" {
			res.ListenerStatus[i].Conditions = append(res.ListenerStatus[i].Conditions, model.StatusCondition{
				Type: string(gatewayv1.ListenerConditionOverlappingTLSConfig), True: true, Reason: string(reason),
				Message: with + "; a request over a connection of another listener gets 421, and the client connects again",
			})
		}
	}
}

// overlapWithin returns why clients can take a listener for another one of its object, or
// nothing.
func overlapWithin(all []listener, certificates [][]model.ListenerCertificate, i int) (reason gatewayv1.ListenerConditionReason, with string) {
	l := &all[i]
	for n := range all {
		o := &all[n]
		switch {
		case n == i || !l.sharesPort(o):
		case sameCertificates(certificates[i], certificates[n]):
			// The API wants this reason where both are true.
			return gatewayv1.ListenerReasonOverlappingCertificates, fmt.Sprintf("a certificate has names of a certificate of listener %q", o.spec.Name)
		case reason == "" && l.meets(o):
			reason, with = gatewayv1.ListenerReasonOverlappingHostnames, fmt.Sprintf("hosts can fit the hostname of listener %q, too", o.spec.Name)
		}
	}
	return reason, with
}

// sharesPort reports whether a client may use a connection to one listener for the other one.
func (l *listener) sharesPort(o *listener) bool {
	return l.coalesces() && o.coalesces() && l.spec.Port == o.spec.Port
}

// meets reports whether a host can fit both.
func (l *listener) meets(o *listener) bool { return l.sharesPort(o) && fits(l.hostname, o.hostname) }

// coalesces reports whether clients may use a connection for several hosts.
func (l *listener) coalesces() bool {
	return l.spec.Protocol == gatewayv1.HTTPSProtocolType && l.served()
}

// sameCertificates reports whether both have a certificate, or certificates that a host can be
// among the names of.
func sameCertificates(a, b []model.ListenerCertificate) bool {
	for i := range a {
		for n := range b {
			if a[i].Secret == b[n].Secret {
				return true
			}
			for _, one := range a[i].Names {
				for _, other := range b[n].Names {
					if one == other || certifies(one, other) || certifies(other, one) {
						return true
					}
				}
			}
		}
	}
	return false
}

// certifies reports whether a name of a certificate is a wildcard for a host: for one label.
func certifies(name, host string) bool {
	_, parent, deep := strings.Cut(host, ".")
	return deep && strings.HasPrefix(name, wildcard) && name[len(wildcard):] == parent
}
