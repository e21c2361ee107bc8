package controller

import (
	"context"
	"fmt"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/gateway/desired"
)

func slotsKey(ic string) client.ObjectKey {
	return client.ObjectKey{Namespace: api.OperandNamespace, Name: gateway.SlotsName(ic)}
}

// tables returns the ConfigMaps with slots that the cache has, by IngressController.
func (r *reconciler) tables(ctx context.Context) (map[string]*corev1.ConfigMap, error) {
	list := &corev1.ConfigMapList{}
	if err := r.client.List(ctx, list, client.InNamespace(api.OperandNamespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list slots: %w", err)
	}
	found := map[string]*corev1.ConfigMap{}
	for i := range list.Items {
		if ic, ok := gateway.SlotsOwner(list.Items[i].Name); ok {
			found[ic] = &list.Items[i]
		}
	}
	return found, nil
}

// holder returns the IngressController whose routers serve a Gateway by its slots, nil
// if none does.
func (r *reconciler) holder(ctx context.Context, g *gatewayv1.Gateway) (*operatorv1.IngressController, error) {
	tables, err := r.tables(ctx)
	if err != nil {
		return nil, err
	}
	for ic, config := range tables {
		if len(tableOf(config).Slots(g)) > 0 {
			return r.ingressController(ctx, ic)
		}
	}
	return nil, nil
}

// ensureSlots gives the Gateway the slots that it needs. One that is refused as a whole
// keeps those that it has.
func (r *reconciler) ensureSlots(ctx context.Context, in *desired.Input) error {
	ic := in.Settings.Name
	if ic == "" {
		return nil
	}
	if in.Serves() {
		if err := r.releaseSlots(ctx, client.ObjectKeyFromObject(in.Gateway), ic); err != nil {
			return err
		}
	}
	assign := func(before gateway.Table) (gateway.Table, bool) {
		if !in.Serves() {
			in.TakeSlots(before)
			return before, false
		}
		wanted, tenants := desired.WantedSlots(in.Joint)
		table, changed, lacking := desired.Assign(before, in.Gateway, wanted, tenants, in.Now)
		changed = desired.Drain(table, in.Gateway, in.Pods, in.Now) || changed
		in.TakeSlots(table)
		in.Lacking = slices.DeleteFunc(slices.Clone(lacking), func(port gateway.Port) bool { return tenants[port] != "" })
		in.SetsLack = len(in.Lacking) < len(lacking)
		return table, changed
	}
	return r.changeTable(ctx, ic, assign)
}

// releaseSlots frees the slots of a Gateway in all tables but one.
func (r *reconciler) releaseSlots(ctx context.Context, key client.ObjectKey, but string) error {
	tables, err := r.tables(ctx)
	if err != nil {
		return err
	}
	for ic := range tables {
		if ic == but {
			continue
		}
		err := r.changeTable(ctx, ic, func(before gateway.Table) (gateway.Table, bool) {
			return desired.Release(before, func(s gateway.Slot) bool { return s.Namespace != key.Namespace || s.Name != key.Name }, r.options.Now())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// changeTable writes what a decision makes of a table. The decision is made of what the
// cache has and, if that is a change, again of what the API server has, so that no slot
// is given twice.
func (r *reconciler) changeTable(ctx context.Context, ic string, decide func(gateway.Table) (gateway.Table, bool)) error {
	config, err := apply.Get(ctx, r.client, slotsKey(ic), &corev1.ConfigMap{})
	if err != nil {
		return err
	}
	if config != nil {
		if _, changed := decide(tableOf(config)); !changed {
			return nil
		}
	} else if _, changed := decide(nil); !changed {
		return nil
	}
	if config, err = apply.Get(ctx, r.live, slotsKey(ic), &corev1.ConfigMap{}); err != nil {
		return err
	}
	if config == nil {
		table, _ := decide(nil)
		config = &corev1.ConfigMap{ObjectMeta: child.Meta(ic, gateway.SlotsName(ic)), Data: table.Data()}
		if err := r.client.Create(ctx, config); err != nil {
			return fmt.Errorf("write the slots of IngressController %s: %w", ic, err)
		}
		return nil
	}
	table, problems := gateway.ReadTable(config.Data)
	for _, p := range problems {
		r.options.Log.Error("an entry of the table of slots is dropped", "ingresscontroller", ic, "err", p)
	}
	table, changed := decide(table)
	if !changed && len(problems) == 0 {
		return nil
	}
	config.Data = table.Data()
	want := child.Meta(ic, config.Name)
	child.MergeMeta(&config.ObjectMeta, &want)
	if err := r.client.Update(ctx, config); err != nil {
		return fmt.Errorf("write the slots of IngressController %s: %w", ic, err)
	}
	return nil
}
