// Package othermetallb finds another MetalLB in the cluster. Two providers that give
// addresses of the same pools would give one address twice, and two that
// announce would answer for each other's; so Fairlead waits until the other one
// is gone.
package othermetallb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Interval is how often to look whether the other provider is gone, or came.
const Interval = 15 * time.Second

// Remedy completes messages about what was found.
const Remedy = "two providers would give and announce the same addresses; scale it down, as docs/lb/migration.md says, and Fairlead goes on by itself"

// Workload is a Deployment or DaemonSet of another MetalLB.
type Workload struct {
	Kind, Namespace, Name string
}

// String returns the form that users type.
func (w Workload) String() string {
	return strings.ToLower(w.Kind) + " " + w.Name + " in namespace " + w.Namespace
}

// Find returns the workloads of another MetalLB that run or are about to,
// sorted. It reads without a cache.
func Find(ctx context.Context, reader client.Reader) ([]Workload, error) {
	var found []Workload
	// The labels of its manifests, and those of its Helm chart.
	for _, l := range []client.MatchingLabels{{"app": "metallb"}, {"app.kubernetes.io/name": "metallb"}} {
		var deployments appsv1.DeploymentList
		var daemonSets appsv1.DaemonSetList
		for _, list := range []client.ObjectList{&deployments, &daemonSets} {
			if err := reader.List(ctx, list, l); err != nil {
				return nil, fmt.Errorf("look for another MetalLB: list %T: %w", list, err)
			}
		}
		for i := range deployments.Items {
			d := &deployments.Items[i]
			if d.Spec.Replicas == nil || *d.Spec.Replicas > 0 || d.Status.Replicas > 0 {
				found = add(found, "Deployment", d)
			}
		}
		for i := range daemonSets.Items {
			d := &daemonSets.Items[i]
			if d.Status.DesiredNumberScheduled > 0 || d.Status.CurrentNumberScheduled > 0 || d.Status.ObservedGeneration == 0 {
				found = add(found, "DaemonSet", d)
			}
		}
	}
	slices.SortFunc(found, func(a, b Workload) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(found), nil
}

func add(found []Workload, kind string, o metav1.Object) []Workload {
	if o.GetLabels()["app.kubernetes.io/part-of"] == "fairlead" {
		return found
	}
	return append(found, Workload{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()})
}

// Join lists workloads for messages.
func Join(found []Workload) string {
	parts := make([]string, len(found))
	for i, w := range found {
		parts[i] = w.String()
	}
	return strings.Join(parts, ", ")
}

// Waiter holds a program back while another provider runs. Its methods may be
// called from any goroutine.
type Waiter struct{ reason atomic.Pointer[string] }

// Reason returns what it waits for, in words for users; empty if for nothing.
func (g *Waiter) Reason() string {
	if why := g.reason.Load(); why != nil {
		return *why
	}
	return ""
}

// Wait returns when no other MetalLB runs. Each time that what it waits for
// changes, it calls tell. A program without the right to look waits as well: to answer for
// addresses that another provider announces would break what works. It returns
// an error only when ctx ends.
func (g *Waiter) Wait(ctx context.Context, reader client.Reader, tell func(why string)) error {
	for {
		found, err := Find(ctx, reader)
		if err == nil && len(found) == 0 {
			g.reason.Store(nil)
			return nil
		}
		if why := explain(found, err); why != g.Reason() && ctx.Err() == nil {
			g.reason.Store(&why)
			tell(why)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of another MetalLB: %w", ctx.Err())
		case <-time.After(Interval):
		}
	}
}

func explain(found []Workload, err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return "nothing is announced, because it cannot be seen whether another MetalLB runs: " + err.Error() +
			"; let the ServiceAccount list deployments and daemonsets of all namespaces, as config/lbprovider/speaker-rbac.yaml does"
	case err != nil:
		return "nothing is announced until it is seen whether another MetalLB runs: " + err.Error()
	}
	return "another MetalLB runs in the cluster (" + Join(found) + "), so nothing is announced: " + Remedy
}
