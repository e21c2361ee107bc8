package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/wait"
)

// statuses waits until each route has its status and each listener the number of its routes,
// and notes how long that took from here on.
func (g *gathering) statuses(ctx context.Context) error {
	began := time.Now()
	err := wait.Poll{Limit: wait.NoLimit, Every: time.Second}.Until(ctx, "the statuses", func() error {
		for i := range g.namespaces {
			if err := g.accepted(ctx, g.namespace(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	wrong, err := g.miscounted(ctx)
	if err != nil {
		return err
	}
	g.report.Figure(g.name+": all statuses written", time.Since(began).Seconds(), "s", "after each route was asked for")
	g.report.Require(g.name+": wrong attachedRoutes", float64(len(wrong)), "", report.AtMost(0), fmt.Sprintf("of all listeners; %.3q", wrong))
	return nil
}

// accepted looks for a route of a namespace that is not accepted yet.
func (g *gathering) accepted(ctx context.Context, namespace string) error {
	var routes gatewayv1.HTTPRouteList
	if err := g.rig.Client.List(ctx, &routes, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	for i := range routes.Items {
		r := &routes.Items[i]
		if len(r.Status.Parents) != 1 || !meta.IsStatusConditionTrue(r.Status.Parents[0].Conditions, string(gatewayv1.RouteConditionAccepted)) {
			return fmt.Errorf("route %s/%s is not accepted", namespace, r.Name)
		}
	}
	return nil
}

// miscounted returns the listeners that say another number of routes than they have, after as
// long as a Gateway's status may take to follow.
func (g *gathering) miscounted(ctx context.Context) (wrong []string, err error) {
	err = wait.Poll{Limit: 5 * time.Second, Every: 500 * time.Millisecond}.Until(ctx, "attachedRoutes", func() error {
		if wrong, err = g.counts(ctx); err != nil {
			return wait.GiveUp(err)
		}
		return wait.True(len(wrong) == 0)
	})
	if len(wrong) > 0 {
		err = nil // that is a figure
	}
	return wrong, err
}

func (g *gathering) counts(ctx context.Context) (wrong []string, err error) {
	if !g.sets {
		n, err := g.attached(ctx)
		if want := g.total() + g.added; n != want {
			wrong = append(wrong, fmt.Sprintf("%d instead of %d", n, want))
		}
		return wrong, err
	}
	var sets gatewayv1.ListenerSetList
	if err := g.rig.Client.List(ctx, &sets); err != nil {
		return nil, fmt.Errorf("list ListenerSets: %w", err)
	}
	for i := range sets.Items {
		set, n := &sets.Items[i], 0
		for _, l := range set.Status.Listeners {
			n += int(l.AttachedRoutes)
		}
		want := g.routes
		if first := g.app(0); set.Namespace == first.namespace && set.Name == first.name {
			want += g.added - 1 // the one that stays is the Gateway's
		}
		if n != want {
			wrong = append(wrong, fmt.Sprintf("%s/%s: %d instead of %d", set.Namespace, set.Name, n, want))
		}
	}
	if n := g.namespaces * g.apps; len(sets.Items) != n {
		wrong = append(wrong, fmt.Sprintf("%d ListenerSets instead of %d", len(sets.Items), n))
	}
	return wrong, nil
}
