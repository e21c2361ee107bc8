package gateway

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// KindListenerSet is that of ListenerSets.
const KindListenerSet = door.KindListenerSet

// ListenerSets is the front door of ListenerSets. Sources give only those that name a Gateway
// of the router.
type ListenerSets struct{ unpoliced }

var _ door.Door = ListenerSets{}

// Kind implements door.Door.
func (ListenerSets) Kind() model.Kind { return KindListenerSet }

// Ref implements door.Door.
func (ListenerSets) Ref(o model.Object) api.ObjectRef { return ref(o) }

// SetGateway returns the Gateway that a ListenerSet names, and false if it names another kind
// of object.
func SetGateway(s *gatewayv1.ListenerSet) (model.Object, bool) {
	parent, ok := gateway.SetParent(s)
	return model.Object{Kind: KindGateway, Namespace: parent.Namespace, Name: parent.Name}, ok
}

// SetsOf stands for all ListenerSets that name a Gateway.
func SetsOf(g model.Object) model.Object {
	return model.Object{Kind: door.KindSetsOf, Namespace: g.Namespace, Name: g.Name}
}

// entriesOf returns the listeners of a ListenerSet, each judged by itself: which of them lose
// a conflict decides whether requests come in, not which routes are attached.
func entriesOf(s *gatewayv1.ListenerSet, g *gatewayv1.Gateway) []listener {
	specs := gateway.SetEntries(s)
	verdicts := make([]gateway.ListenerVerdict, 0, len(specs))
	for i := range specs {
		verdicts = append(verdicts, gateway.JudgeAlone(g, &specs[i]))
	}
	return judged(setObject(s), specs, verdicts)
}

// judgedEntries returns the listeners of a ListenerSet as they were judged with all others.
func judgedEntries(v *gateway.SetVerdict) []listener {
	return judged(setObject(v.Set), v.Entries, v.Listeners)
}

func setObject(s *gatewayv1.ListenerSet) model.Object {
	return model.Object{Kind: KindListenerSet, Namespace: s.Namespace, Name: s.Name}
}

// labelsFrom returns a function that gives the labels of namespaces.
func labelsFrom(src door.Source) gateway.Labels {
	return func(namespace string) (map[string]string, bool) {
		n := src.Namespace(namespace)
		if n == nil {
			return nil, false
		}
		return n.Labels, true
	}
}

// Ingest implements door.Door. A ListenerSet makes no claims. Its listeners are served at the
// slots of its Gateway.
func (ListenerSets) Ingest(v door.Version, src door.Source, set door.Settings, past door.Past) *door.Result {
	s, ok := v.(*gatewayv1.ListenerSet)
	if !ok {
		return &door.Result{}
	}
	res := &door.Result{Object: setObject(s), UID: string(s.UID), OfGateway: &door.OfGateway{Generation: s.Generation}}
	parent, _ := SetGateway(s)
	res.Depends = []model.Object{parent, SetsOf(parent), {Kind: door.KindNamespace, Name: s.Namespace}}
	g, ok := src.Object(parent).(*gatewayv1.Gateway)
	all, has := src.(door.Gateways)
	if !ok || !has {
		return res
	}
	sayMisplaced(res, s.Annotations)
	verdict := all.Joint(g).Set(s.Namespace, s.Name)
	if verdict == nil || verdict.Set.UID != s.UID || verdict.Set.Generation != s.Generation {
		res.Pending = true // there is another version by now, which is ingested in its turn
		return res
	}
	if !verdict.Attached() {
		res.Conditions = setConditions(verdict.Reason, verdict.Message)
		res.Findings = []api.Finding{{
			Object: ref(res.Object), Field: "spec.parentRef", Reason: api.ReasonListenerNotServed, Severity: api.SeverityError,
			Message: string(verdict.Reason) + ": " + verdict.Message, Effect: "none of the listeners is served",
		}}
		return res
	}
	serve(res, judgedEntries(verdict), verdict.Overlaps, &keyRing{owner: res.Object, src: src, settings: set, past: past, result: res}, g)
	conclude(res, g)
	return res
}

// setConditions returns those of a ListenerSet that is not accepted.
func setConditions(reason gatewayv1.ListenerSetConditionReason, message string) []model.StatusCondition {
	return []model.StatusCondition{
		{Type: string(gatewayv1.ListenerSetConditionAccepted), Reason: string(reason), Message: message},
		{Type: string(gatewayv1.ListenerSetConditionProgrammed), Reason: string(reason), Message: message},
	}
}

// conclude says what stands in the status of a ListenerSet, from what stands there about its
// listeners. One that can show no certificate is not valid.
func conclude(res *door.Result, g *gatewayv1.Gateway) {
	valid, programmed, first := 0, 0, ""
	if len(res.ListenerStatus) == 0 {
		first = "spec.listeners: has no listener"
	}
	for _, l := range res.ListenerStatus {
		accepted, served := conditionOf(&l, string(gatewayv1.ListenerConditionAccepted)), conditionOf(&l, string(gatewayv1.ListenerConditionProgrammed))
		switch {
		case accepted.True && (served.True || served.Reason == string(gatewayv1.ListenerReasonPending)):
			valid++
			if served.True {
				programmed++
			}
		case first == "" && accepted.True:
			first = fmt.Sprintf("listener %s is not served: %s", l.Name, served.Message)
		case first == "":
			first = fmt.Sprintf("listener %s is not served: %s", l.Name, accepted.Message)
		}
	}
	if why := Refused(g); why != "" {
		res.Conditions = setConditions(gatewayv1.ListenerSetReasonParentNotAccepted, fmt.Sprintf("Gateway %s/%s is not accepted (%s); what was served before stays in use", g.Namespace, g.Name, why))
		return
	}
	if valid == 0 {
		res.Conditions = setConditions(gatewayv1.ListenerSetReasonListenersNotValid, first)
		return
	}
	res.AttachedTo = gatewayObject(g)
	accepted := model.StatusCondition{Type: string(gatewayv1.ListenerSetConditionAccepted), True: true, Reason: string(gatewayv1.ListenerSetReasonAccepted)}
	if valid < len(res.ListenerStatus) {
		accepted.Reason, accepted.Message = string(gatewayv1.ListenerSetReasonListenersNotValid), first
	}
	served := model.StatusCondition{Type: string(gatewayv1.ListenerSetConditionProgrammed), True: true, Reason: string(gatewayv1.ListenerSetReasonProgrammed)}
	if programmed == 0 {
		served.True, served.Reason = false, string(gatewayv1.ListenerSetReasonPending)
		served.Message = "no port of the listeners has been given a slot yet"
	}
	res.Conditions = []model.StatusCondition{accepted, served}
}

// Refused returns the reason for which a Gateway is not accepted as it is now, by its status,
// which the operator writes; empty if it is.
func Refused(g *gatewayv1.Gateway) string {
	c := meta.FindStatusCondition(g.Status.Conditions, string(gatewayv1.GatewayConditionAccepted))
	if c == nil || c.Status != metav1.ConditionFalse || c.ObservedGeneration != g.Generation {
		return ""
	}
	return c.Reason
}

func conditionOf(l *model.ListenerStatus, kind string) (found model.StatusCondition) {
	for _, c := range l.Conditions {
		if c.Type == kind {
			found = c
		}
	}
	return found
}

// Content implements door.Door.
func (ListenerSets) Content(v door.Version) any {
	s, ok := v.(*gatewayv1.ListenerSet)
	if !ok {
		return nil
	}
	return struct {
		UID  string
		Spec *gatewayv1.ListenerSetSpec
	}{string(s.UID), &s.Spec}
}

// Decode implements door.Door.
func (ListenerSets) Decode(text []byte) (door.Version, error) {
	s := &gatewayv1.ListenerSet{}
	if err := decode(text, s); err != nil {
		return nil, err
	}
	return s, nil
}
