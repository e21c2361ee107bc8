package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// KindBackendTLSPolicy is that of BackendTLSPolicies.
const KindBackendTLSPolicy model.Kind = "BackendTLSPolicy"

// BackendTLSPolicies is the front door of BackendTLSPolicies. They make no claims: routes read
// those for the Services that they name. What stands in their status is said here.
type BackendTLSPolicies struct{ unpoliced }

var _ door.Door = BackendTLSPolicies{}

// Kind implements door.Door.
func (BackendTLSPolicies) Kind() model.Kind { return KindBackendTLSPolicy }

// Ref implements door.Door.
func (BackendTLSPolicies) Ref(o model.Object) api.ObjectRef { return ref(o) }

// Ingest implements door.Door.
func (BackendTLSPolicies) Ingest(v door.Version, src door.Source, set door.Settings, past door.Past) *door.Result {
	p, ok := v.(*gatewayv1.BackendTLSPolicy)
	if !ok {
		return &door.Result{}
	}
	res := &door.Result{Object: tlsPolicyObject(p), UID: string(p.UID), OfGateway: &door.OfGateway{Generation: p.Generation}}
	j := tlsJudge{src: src, past: past, owner: res.Object, system: set.SystemCA}
	verdict := j.judge(p)
	if verdict.reason == gatewayv1.PolicyReasonAccepted {
		verdict.reason, verdict.message = j.targets(p)
	}
	j.depend(TLSPoliciesOf(p.Namespace))
	res.Depends, res.Pending = j.depends, j.pending
	accepted := verdict.reason == gatewayv1.PolicyReasonAccepted
	res.Conditions = []model.StatusCondition{
		{Type: string(gatewayv1.PolicyConditionAccepted), True: accepted, Reason: string(verdict.reason), Message: verdict.message},
		{Type: string(gatewayv1.BackendTLSPolicyConditionResolvedRefs), True: verdict.refs == gatewayv1.BackendTLSPolicyReasonResolvedRefs, Reason: string(verdict.refs), Message: verdict.refsMessage},
	}
	if !accepted {
		res.Findings = []api.Finding{{
			Object: ref(res.Object), Field: "spec", Reason: api.ReasonBackendTLSPolicyNotAccepted, Severity: api.SeverityError,
			Message: string(verdict.reason) + ": " + verdict.message, Effect: verdict.effect(),
		}}
	}
	return res
}

func tlsPolicyObject(p *gatewayv1.BackendTLSPolicy) model.Object {
	return model.Object{Kind: KindBackendTLSPolicy, Namespace: p.Namespace, Name: p.Name}
}

// TLSPoliciesOf stands for all BackendTLSPolicies of a namespace.
func TLSPoliciesOf(namespace string) model.Object {
	return model.Object{Kind: door.KindTLSPolicies, Namespace: namespace}
}

// Content implements door.Door.
func (BackendTLSPolicies) Content(v door.Version) any {
	p, ok := v.(*gatewayv1.BackendTLSPolicy)
	if !ok {
		return nil
	}
	return struct {
		UID  string
		Spec *gatewayv1.BackendTLSPolicySpec
	}{string(p.UID), &p.Spec}
}

// Decode implements door.Door.
func (BackendTLSPolicies) Decode(text []byte) (door.Version, error) {
	p := &gatewayv1.BackendTLSPolicy{}
	if err := decode(text, p); err != nil {
		return nil, err
	}
	return p, nil
}

// tlsPolicies returns the BackendTLSPolicies of a namespace, those that come first before
// others: the older, then by name.
func tlsPolicies(src door.Source, namespace string) []*gatewayv1.BackendTLSPolicy {
	s, ok := src.(door.Gateways)
	if !ok {
		return nil
	}
	return slices.SortedFunc(slices.Values(s.TLSPolicies(namespace)), func(a, b *gatewayv1.BackendTLSPolicy) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
}

// isService reports whether a targetRef is of a Service.
func isService(t *gatewayv1.LocalPolicyTargetReferenceWithSectionName) bool {
	return t.Group == "" && string(t.Kind) == string(door.KindService)
}

// portOf returns the name of the port that a targetRef is for, empty for all ports.
func portOf(t *gatewayv1.LocalPolicyTargetReferenceWithSectionName) string {
	if t.SectionName == nil {
		return ""
	}
	return string(*t.SectionName)
}

// tlsPolicyFor returns the first of some policies that is for a Service with that section, or
// nil.
func tlsPolicyFor(all []*gatewayv1.BackendTLSPolicy, service, of string) *gatewayv1.BackendTLSPolicy {
	for _, p := range all {
		for i := range p.Spec.TargetRefs {
			if t := &p.Spec.TargetRefs[i]; isService(t) && string(t.Name) == service && portOf(t) == of {
				return p
			}
		}
	}
	return nil
}

// targets judges what a policy that is valid by itself is for. A policy that is older, or
// comes first by its name, has a target for itself.
func (j *tlsJudge) targets(p *gatewayv1.BackendTLSPolicy) (gatewayv1.PolicyConditionReason, string) {
	all := tlsPolicies(j.src, p.Namespace)
	missing := ""
	for i := range p.Spec.TargetRefs {
		t, field := &p.Spec.TargetRefs[i], fmt.Sprintf("spec.targetRefs[%d]", i)
		if !isService(t) {
			missing = cmp.Or(missing, field+": must be a Service: group \"\" and kind Service")
			continue
		}
		if first := tlsPolicyFor(all, string(t.Name), portOf(t)); first != nil && first.Name != p.Name {
			return gatewayv1.PolicyReasonConflicted, field + ": BackendTLSPolicy " + first.Name + " is for the same target, and comes first"
		}
		key := model.Object{Kind: door.KindService, Namespace: p.Namespace, Name: string(t.Name)}
		j.depend(key)
		service := j.src.Service(key)
		switch {
		case service == nil:
			missing = cmp.Or(missing, field+": Service "+key.Name+" does not exist")
		case portOf(t) != "" && !service.HasPort(portOf(t)):
			missing = cmp.Or(missing, field+": Service "+key.Name+" has no port with the name "+portOf(t))
		}
	}
	if missing != "" {
		return gatewayv1.PolicyReasonTargetNotFound, missing
	}
	return gatewayv1.PolicyReasonAccepted, ""
}

// upstreamTLS is how the router speaks TLS to the pods of a Service.
type upstreamTLS struct {
	ca *model.CA
	// host is sent as SNI, and the name that certificates must have.
	host string
}

// upstreamTLS returns what a BackendTLSPolicy says of a port of a Service, nil if none is for
// it. It returns why nothing may get to the pods, if that is so.
func (b *builder) upstreamTLS(service model.Object, port string) (*upstreamTLS, string) {
	b.depend(TLSPoliciesOf(service.Namespace))
	all := tlsPolicies(b.src, service.Namespace)
	for _, p := range all {
		if o := tlsPolicyObject(p); !slices.Contains(b.result.TLSPolicies, o) && slices.ContainsFunc(p.Spec.TargetRefs, func(t gatewayv1.LocalPolicyTargetReferenceWithSectionName) bool {
			return isService(&t) && string(t.Name) == service.Name
		}) {
			b.result.TLSPolicies = append(b.result.TLSPolicies, o)
		}
	}
	p := tlsPolicyFor(all, service.Name, port)
	if p == nil {
		p = tlsPolicyFor(all, service.Name, "")
	}
	if p == nil {
		return nil, ""
	}
	j := tlsJudge{src: b.src, past: b.past, owner: b.result.Object, system: b.settings.SystemCA}
	verdict := j.judge(p)
	for _, o := range j.depends {
		b.depend(o)
	}
	b.result.Pending = b.result.Pending || j.pending
	if verdict.ca == nil {
		return nil, "BackendTLSPolicy " + p.Name + " says that the router has to verify the pods, and cannot be applied: " + verdict.message
	}
	return &upstreamTLS{ca: verdict.ca, host: string(p.Spec.Validation.Hostname)}, ""
}
