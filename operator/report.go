package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/service"
	"github.com/fairlead/fairlead/operator/status"
)

// announceDNS writes an event when a name turns out not to be ours.
func (r *Reconciler) announceDNS(in status.Input, written operatorv1.IngressControllerStatus) {
	now := status.Find(written.Conditions, status.ConditionDNSManaged)
	old := status.Find(in.IC.Status.Conditions, status.ConditionDNSManaged)
	if in.Settings.NotOurName == "" || now == nil || old != nil && old.Message == now.Message {
		return
	}
	r.notices.Say(in.IC, corev1.EventTypeWarning, api.ReasonDomainNotMatching, now.Message)
}

// pendingRecheck is how soon the cause of a missing address is looked up
// again: causes come as events, which are not watched.
const pendingRecheck = 5 * time.Second

// report writes status, events and metrics, each only if it changed, and
// returns when to look again (0: when something happens). The IngressController
// is then as it was written.
func (r *Reconciler) report(ctx context.Context, in *status.Input) (time.Duration, error) {
	in.Addresses = service.Published(in.Settings.Strategy.Type, in.LoadBalancer, in.Nodes, in.Pods)
	pending := in.LoadBalancer != nil && len(in.Addresses) == 0
	if pending {
		var err error
		if in.Events, err = r.eventsOf(ctx, in.LoadBalancer); err != nil {
			return 0, err
		}
	}
	r.aimCanary(in)
	written, again := status.Of(*in)
	if pending && (again == 0 || again > pendingRecheck) {
		again = pendingRecheck
	}
	r.metrics.set(in.IC.Name, written.Conditions)

	updated := in.IC.DeepCopy()
	updated.Status = written
	known, ok := r.reported.get(in.IC.Name)
	now := strings.Join(in.Addresses, ",")
	patch, changed, err := statusPatch(*in, updated, !ok || known != now)
	if err != nil || !changed {
		return again, err
	}
	if err := r.client.Status().Patch(ctx, updated, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return again, fmt.Errorf("write status of IngressController %s: %w", in.IC.Name, err)
	}
	r.reported.set(in.IC.Name, now)
	r.announceAdmission(*in, written)
	r.announceDNS(*in, written)
	r.announceHints(*in, written)
	r.announceCanary(*in, written)
	in.IC, in.Groups.Published = updated, service.EffectiveGroups(in.LoadBalancer, in.Settings.Dialect)
	return again, nil
}

// statusPatch returns the merge patch from the old to the new status, with what
// OpenShift's Go type does not have, and whether it is needed. It holds the
// resource version: what is decided from an old spec, such as the domain, must
// not be written over a new one.
func statusPatch(in status.Input, updated *operatorv1.IngressController, addressesChanged bool) ([]byte, bool, error) {
	data, err := client.MergeFrom(in.IC).Data(updated)
	if err != nil {
		return nil, false, fmt.Errorf("compare status: %w", err)
	}
	patch := map[string]any{}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, false, fmt.Errorf("read the status patch: %w", err)
	}
	groupsChanged, err := status.PublishGroups(patch, in)
	if err != nil || string(data) == "{}" && !addressesChanged && !groupsChanged {
		return nil, false, err
	}
	written, ok := patch["status"].(map[string]any)
	if !ok {
		written = map[string]any{}
	}
	written["addresses"] = append([]string{}, in.Addresses...)
	patch["status"] = written
	patch["metadata"] = map[string]any{"resourceVersion": in.IC.ResourceVersion}
	data, err = json.Marshal(patch)
	return data, true, err
}

// announceAdmission writes an event when the IngressController becomes
// accepted or refused, or is refused for other reasons than before.
func (r *Reconciler) announceAdmission(in status.Input, written operatorv1.IngressControllerStatus) {
	old := status.Find(in.IC.Status.Conditions, status.ConditionAdmitted)
	now := status.Find(written.Conditions, status.ConditionAdmitted)
	if old != nil && old.Status == now.Status && old.Message == now.Message {
		return
	}
	if now.Status == operatorv1.ConditionTrue {
		r.notices.Say(in.IC, corev1.EventTypeNormal, api.ReasonAdmitted, "ingresscontroller passed validation")
		return
	}
	r.notices.Say(in.IC, corev1.EventTypeWarning, api.ReasonRejected, now.Message)
	r.logger(in.IC.Name).Info("refused", "reason", now.Message)
}

// announceHints writes an event for each thing that works and is to be changed,
// when it begins and when its message changes.
func (r *Reconciler) announceHints(in status.Input, written operatorv1.IngressControllerStatus) {
	for _, kind := range []string{status.ConditionCertificate, status.ConditionEvaluation} {
		old, now := status.Find(in.IC.Status.Conditions, kind), status.Find(written.Conditions, kind)
		if now == nil || now.Status != operatorv1.ConditionTrue || now.Message == "" || old != nil && old.Message == now.Message {
			continue
		}
		r.notices.Say(in.IC, corev1.EventTypeWarning, api.Reason(now.Reason), now.Message)
	}
}

// eventsOf returns the events about a Service.
func (r *Reconciler) eventsOf(ctx context.Context, service *corev1.Service) ([]corev1.Event, error) {
	list := &corev1.EventList{}
	err := r.live.List(ctx, list, client.InNamespace(service.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("involvedObject.uid", string(service.UID))})
	if err != nil {
		return nil, fmt.Errorf("list events of Service %s: %w", service.Name, err)
	}
	return list.Items, nil
}
