package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// KindGateway is that of Gateways.
const KindGateway = door.KindGateway

// Gateways is the front door of Gateways. Sources give only those of classes that mean
// the router.
type Gateways struct{ unpoliced }

var _ door.Door = Gateways{}

// Kind implements door.Door.
func (Gateways) Kind() model.Kind { return KindGateway }

// Ref implements door.Door.
func (Gateways) Ref(o model.Object) api.ObjectRef { return ref(o) }

func ref(o model.Object) api.ObjectRef {
	return api.ObjectRef{Group: gatewayv1.GroupName, Kind: string(o.Kind), Namespace: o.Namespace, Name: o.Name}
}

// Ingest implements door.Door. A Gateway makes no claims. A listener that cannot be
// served leaves the others alone.
func (Gateways) Ingest(v door.Version, src door.Source, set door.Settings, past door.Past) *door.Result {
	g, ok := v.(*gatewayv1.Gateway)
	if !ok {
		return &door.Result{}
	}
	res := &door.Result{Object: gatewayObject(g), UID: string(g.UID), OfGateway: &door.OfGateway{Generation: g.Generation}}
	k := &keyRing{owner: res.Object, src: src, settings: set, past: past, result: res}
	sayMisplaced(res, g.Annotations)
	serve(res, permittedBy(set, listenersOf(g)), overlapsSets(res, g, src), k, g)
	c := resolvedBy(res.ListenerStatus)
	if shown := k.forPods(g); shown != nil && shown.reason != gatewayv1.GatewayReasonResolvedRefs {
		c = shown.condition()
		res.Findings = append(res.Findings, api.Finding{
			Object: ref(res.Object), Field: fieldPodCertificate, Reason: api.ReasonInvalidClientCertificateRef, Severity: api.SeverityError,
			Message: c.Message, Effect: "requests for pods that are verified are answered with 500",
		})
	}
	res.Conditions = []model.StatusCondition{c}
	return res
}

// resolvedBy returns the condition ResolvedRefs of a Gateway, as far as its listeners decide it.
func resolvedBy(all []model.ListenerStatus) model.StatusCondition {
	c := model.StatusCondition{Type: string(gatewayv1.GatewayConditionResolvedRefs), True: true, Reason: string(gatewayv1.GatewayReasonResolvedRefs)}
	wrong := 0
	for i := range all {
		if of := conditionOf(&all[i], string(gatewayv1.ListenerConditionResolvedRefs)); !of.True {
			if wrong++; wrong == 1 {
				c.Message = fmt.Sprintf("listener %s: %s", all[i].Name, of.Message)
			}
		}
	}
	if wrong > 1 {
		c.Message += fmt.Sprintf("; and %d more listeners", wrong-1)
	}
	if wrong > 0 {
		c.True, c.Reason = false, string(gatewayv1.GatewayReasonListenersNotResolved)
	}
	return c
}

// Unprogrammed returns the reason for which the operator said last that a Gateway is not programmed,
// whatever generation that was about; empty if it is, or if that is pending: what it waits for stands
// in the ListenerSets themselves.
func Unprogrammed(g *gatewayv1.Gateway) string {
	c := meta.FindStatusCondition(g.Status.Conditions, string(gatewayv1.GatewayConditionProgrammed))
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason == string(gatewayv1.GatewayReasonPending) {
		return ""
	}
	return c.Reason
}

// serve has HAProxy listen for the listeners of an object at the slots of a Gateway, and says
// what becomes of each; others says which of them a listener of another object meets.
func serve(res *door.Result, all []listener, others []bool, k *keyRing, g *gatewayv1.Gateway) {
	res.Depends = append(res.Depends, model.Object{Kind: door.KindSlots})
	var slots map[gateway.Port]int32
	if s, ok := k.src.(door.Gateways); ok {
		slots = s.Slots(g)
	}
	moved := movedSlots(k.src, g)
	k.past.Material.Hold(mostCertificates)
	shown := make([][]model.ListenerCertificate, len(all))
	for i := range all {
		l := &all[i]
		var certificates []model.ListenerCertificate
		var clients *model.ListenerClients
		dependOnGrants(res, l)
		slot, r := k.place(l, g, slots)
		if l.secure() {
			clients = k.clients(g, l, &r)
			certificates = k.read(l, r.ready, &r)
			shown[i] = certificates
		}
		if r.ready && l.served() && !r.lacking {
			now := model.Listener{
				Scope: l.scope, Slot: slot, Port: int(l.spec.Port), Hostname: l.hostname,
				Owner: res.Object, Gateway: gatewayObject(g), Certificates: certificates, Clients: clients, ALPN: gateway.ALPN(l.spec),
				Datagrams:    l.datagrams(),
				EndsStreams:  l.secure() && l.spec.Protocol == gatewayv1.TLSProtocolType,
				EndsRequests: l.spec.Protocol == gatewayv1.HTTPSProtocolType,
			}
			res.Listeners = append(append(res.Listeners, now), l.former(&now, moved)...)
		}
		status, findings := l.status(r)
		res.ListenerStatus = append(res.ListenerStatus, status)
		for _, f := range findings {
			f.Object, f.Field = ref(res.Object), fmt.Sprintf("spec.listeners[%d]", i)
			res.Findings = append(res.Findings, f)
		}
	}
	overlaps(res, all, shown, others)
}

// place returns the slot of a listener, zero for none and at the router's own ports, and whether
// it is served there.
func (k *keyRing) place(l *listener, g *gatewayv1.Gateway, slots map[gateway.Port]int32) (slot int, r resolution) {
	r = resolution{reason: gatewayv1.ListenerReasonResolvedRefs, agentless: l.datagrams() && !k.settings.Agent}
	if l.verdict.Shared {
		r.ready = true
		return 0, r
	}
	r.unbound = k.settings.PortsUnbound && !l.datagrams()
	podPort := slots[gateway.Port{Number: int32(l.spec.Port), UDP: l.datagrams()}]
	if block, known := gateway.BlockOf(podPort); !r.unbound && !r.agentless && (!known || l.verdict.ServedAt(block)) { // else it had another protocol
		slot = int(podPort)
	}
	r.ready = slot != 0
	r.exhausted = podPort == 0 && l.verdict.Accepted() && slotsFull(k.src, l.verdict.Block, l.tenant(g))
	return slot, r
}

// overlapsSets says of each listener of a Gateway whether a host can fit one of its ListenerSets,
// or nil if that is so of none.
func overlapsSets(res *door.Result, g *gatewayv1.Gateway, src door.Source) []bool {
	joint, has := src.(door.Gateways)
	if !has || g.Spec.AllowedListeners == nil {
		return nil
	}
	res.Depends = append(res.Depends, SetsOf(res.Object))
	if j := joint.Joint(g); j != nil {
		return j.OwnOverlaps
	}
	return nil
}

func movedSlots(src door.Source, g *gatewayv1.Gateway) map[gateway.Port]int32 {
	if s, ok := src.(door.MovedSlots); ok && !gateway.SharesAddress(g) {
		return s.MovedSlots(g)
	}
	return nil
}

// tenant is the namespace of whose share the slot of a listener is: that of the Gateway for its own
// ports.
func (l *listener) tenant(g *gatewayv1.Gateway) string {
	for i := range g.Spec.Listeners {
		if g.Spec.Listeners[i].Port == l.spec.Port {
			return g.Namespace
		}
	}
	return l.owner.Namespace
}

func slotsFull(src door.Source, block gateway.Block, namespace string) bool {
	s, ok := src.(door.FullSlots)
	return ok && s.SlotsFull(block, namespace)
}

// former returns the listener at the slot that its port has moved from, if that still serves it:
// what it could not serve came with the move.
func (l *listener) former(now *model.Listener, moved map[gateway.Port]int32) []model.Listener {
	podPort := moved[gateway.Port{Number: int32(l.spec.Port)}]
	block, known := gateway.BlockOf(podPort)
	if podPort == 0 || l.spec.Protocol != gatewayv1.HTTPSProtocolType || known && !l.verdict.ServedAt(block) {
		return nil
	}
	before := *now
	before.Slot, before.Left = int(podPort), true
	return []model.Listener{before}
}

// dependOnGrants notes the namespaces whose ReferenceGrants decide about a listener.
func dependOnGrants(res *door.Result, l *listener) {
	for _, namespace := range l.foreignNamespaces() {
		if key := grantsOf(namespace); !slices.Contains(res.Depends, key) {
			res.Depends = append(res.Depends, key)
		}
	}
}

// Content implements door.Door.
func (Gateways) Content(v door.Version) any {
	g, ok := v.(*gatewayv1.Gateway)
	if !ok {
		return nil
	}
	return struct {
		UID     string
		Address string `json:",omitempty"`
		Spec    *gatewayv1.GatewaySpec
	}{string(g.UID), g.Annotations[gateway.AnnotationAddress], &g.Spec}
}

// Decode implements door.Door.
func (Gateways) Decode(text []byte) (door.Version, error) {
	g := &gatewayv1.Gateway{}
	if err := decode(text, g); err != nil {
		return nil, err
	}
	return g, nil
}

func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into) //nolint:wrapcheck // the caller says what it reads
}
