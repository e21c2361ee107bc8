package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
)

const (
	// deletionGrace is how long routers may take to end: their connections have an hour.
	deletionGrace = 75 * time.Minute
	// restarts in so short a time need attention.
	restarts     = 3
	restartsTime = time.Hour
)

func routers() []Rule {
	describe := "kubectl -n " + api.OperatorNamespace + " describe ingresscontroller NAME"
	pods := "kubectl -n " + api.OperandNamespace + " describe pods"
	return []Rule{
		{
			ID: "FL201", Title: "There is no IngressController", State: Fail, Remedy: "kubectl apply an IngressController; docs/operator/ingresscontroller.md has one",
			Needs: []Source{SourceControllers}, Judge: noController,
		},
		{ID: "FL202", Title: "An IngressController is refused", State: Fail, Remedy: describe, Needs: []Source{SourceControllers}, Judge: refusedControllers},
		{
			ID: "FL203", Title: "A Deployment of routers is missing", State: Fail, Remedy: describe,
			Needs: []Source{SourceControllers, SourceDeployments}, Judge: noDeployment,
		},
		{ID: "FL204", Title: "No router is ready", State: Fail, Remedy: pods, Needs: []Source{SourceControllers, SourceDeployments}, Judge: noRouter},
		{ID: "FL205", Title: "A router is not ready", State: Warn, Remedy: pods, Needs: []Source{SourceControllers, SourceDeployments}, Judge: fewRouters},
		{
			ID: "FL206", Title: "A router pod does not start", State: Warn, Remedy: pods,
			Needs: []Source{SourcePods}, Judge: func(s *Snapshot) []Finding { return stuck(s.Pods) },
		},
		{ID: "FL207", Title: "Settings are not applied", State: Warn, Remedy: describe, Needs: []Source{SourceControllers}, Judge: settingsNotApplied},
		{ID: "FL208", Title: "A rollout of routers does not end", State: Warn, Remedy: pods, Needs: []Source{SourceDeployments}, Judge: stuckRollout},
		{ID: "FL209", Title: "An IngressController is not available", State: Fail, Remedy: describe, Needs: []Source{SourceControllers}, Judge: notAvailable},
		{ID: "FL210", Title: "An IngressController is degraded", State: Warn, Remedy: describe, Needs: []Source{SourceControllers}, Judge: degraded},
		{ID: "FL211", Title: "Objects of routers could not be written", State: Warn, Remedy: describe, Needs: []Source{SourceControllers}, Judge: notReconciled},
		{ID: "FL212", Title: "The operator has not seen a change", State: Warn, Remedy: "kubectl -n " + api.OperatorNamespace + " logs -l name=" + operatorDeployment, Needs: []Source{SourceControllers}, Judge: notObserved},
		{ID: "FL213", Title: "A deletion of routers does not end", State: Warn, Remedy: describe, Needs: []Source{SourceControllers}, Judge: stuckDeletion},
		{ID: "FL214", Title: "A router restarts often", State: Warn, Remedy: "kubectl -n " + api.OperandNamespace + " logs POD -c CONTAINER --previous", Needs: []Source{SourcePods}, Judge: restarting},
		{ID: "FL215", Title: "All routers are on one node", State: Warn, Remedy: "let a second node take routers: spec.nodePlacement, taints, free memory", Needs: []Source{SourceControllers, SourcePods, SourceNodes}, Judge: oneNode},
		{ID: "FL216", Title: "No router writes the status of Routes", State: Warn, Remedy: "kubectl -n " + api.OperandNamespace + " logs -l " + api.LabelDeploymentIngressController + "=NAME -c router", Needs: []Source{SourceControllers, SourceDeployments, SourceLeases}, Judge: noStatusWriter},
	}
}

func noController(s *Snapshot) []Finding {
	if len(s.Controllers) > 0 {
		return nil
	}
	return []Finding{{Summary: "there is no IngressController, so no router runs and no Route is served"}}
}

// conditions returns a finding for each IngressController of which a condition has a bad
// status.
func (s *Snapshot) conditions(kind string, bad operatorv1.ConditionStatus) []Finding {
	var all []Finding
	for i := range s.Controllers {
		ic := &s.Controllers[i]
		c := condition(ic, kind)
		if c == nil || c.Status != bad || ic.DeletionTimestamp != nil {
			continue
		}
		all = append(all, Finding{
			Object: object("ingresscontroller", ic), Summary: fmt.Sprintf("router %s: %s: %s", ic.Name, c.Reason, strings.TrimSuffix(c.Message, ".")),
			Remedy: remedyOf(c, "kubectl -n "+api.OperatorNamespace+" describe ingresscontroller "+ic.Name),
		})
	}
	return all
}

func refusedControllers(s *Snapshot) []Finding {
	return s.conditions("Admitted", operatorv1.ConditionFalse)
}

func notAvailable(s *Snapshot) []Finding {
	return s.conditions("Available", operatorv1.ConditionFalse)
}

func degraded(s *Snapshot) []Finding { return s.conditions("Degraded", operatorv1.ConditionTrue) }

func notReconciled(s *Snapshot) []Finding {
	return s.conditions("ObjectsReconciled", operatorv1.ConditionFalse)
}

func settingsNotApplied(s *Snapshot) []Finding {
	return s.conditions(api.ConditionSettingsApplied, operatorv1.ConditionFalse)
}

func noDeployment(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Controllers {
		ic := &s.Controllers[i]
		if s.deployment(ic.Name) == nil && s.older(ic, time.Minute) && ic.DeletionTimestamp == nil {
			all = append(all, Finding{
				Object: object("ingresscontroller", ic), Summary: "router " + ic.Name + " has no Deployment, so no router runs",
				Remedy: "kubectl -n " + api.OperatorNamespace + " describe ingresscontroller " + ic.Name,
			})
		}
	}
	return all
}

// eachDeployment calls judge for each IngressController that has routers.
func (s *Snapshot) eachDeployment(judge func(*operatorv1.IngressController, *appsv1.Deployment) string) []Finding {
	var all []Finding
	for i := range s.Controllers {
		ic := &s.Controllers[i]
		d := s.deployment(ic.Name)
		if d == nil || ic.DeletionTimestamp != nil {
			continue
		}
		if text := judge(ic, d); text != "" {
			all = append(all, Finding{Object: object("deployment", d), Summary: "router " + ic.Name + ": " + text})
		}
	}
	return all
}

func noRouter(s *Snapshot) []Finding {
	return s.eachDeployment(func(ic *operatorv1.IngressController, d *appsv1.Deployment) string {
		switch {
		case wanted(d) == 0:
			return "spec.replicas is 0, so no router runs"
		case d.Status.ReadyReplicas > 0:
			return ""
		}
		return fmt.Sprintf("0 of %d routers are ready%s", wanted(d), s.why(ic.Name))
	})
}

func fewRouters(s *Snapshot) []Finding {
	return s.eachDeployment(func(ic *operatorv1.IngressController, d *appsv1.Deployment) string {
		if d.Status.ReadyReplicas == 0 || d.Status.ReadyReplicas >= wanted(d) {
			return ""
		}
		return fmt.Sprintf("%d of %d routers are ready%s", d.Status.ReadyReplicas, wanted(d), s.why(ic.Name))
	})
}

// why says what keeps routers from being ready, from the pods, and else from events.
func (s *Snapshot) why(ic string) string {
	for _, p := range s.podsOf(ic) {
		if ready(&p) {
			continue
		}
		if text := trouble(&p); text != "" {
			return ": " + text
		}
		if text := s.event(p.Name); text != "" {
			return ": " + text
		}
	}
	if d := s.deployment(ic); d != nil {
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
				return ": " + c.Message
			}
		}
	}
	return ""
}

// event returns the newest warning about a pod.
func (s *Snapshot) event(pod string) string {
	var newest *corev1.Event
	for i := range s.Events {
		e := &s.Events[i]
		if e.Type == corev1.EventTypeWarning && e.InvolvedObject.Name == pod && (newest == nil || e.LastTimestamp.After(newest.LastTimestamp.Time)) {
			newest = e
		}
	}
	if newest == nil {
		return ""
	}
	return newest.Reason + ": " + newest.Message
}

func stuckRollout(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Deployments {
		d := &s.Deployments[i]
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
				all = append(all, Finding{Object: object("deployment", d), Summary: "the rollout does not end: " + c.Message})
			}
		}
	}
	return all
}

func notObserved(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Controllers {
		ic := &s.Controllers[i]
		changed := ic.CreationTimestamp.Time
		for _, m := range ic.ManagedFields {
			if m.Subresource == "" && m.Time != nil && m.Time.After(changed) {
				changed = m.Time.Time
			}
		}
		if ic.Status.ObservedGeneration < ic.Generation && s.Now.Sub(changed) > time.Minute {
			all = append(all, Finding{
				Object:  object("ingresscontroller", ic),
				Summary: fmt.Sprintf("router %s was changed at %s, and the operator has not looked at it", ic.Name, changed.UTC().Format(time.RFC3339)),
			})
		}
	}
	return all
}

func stuckDeletion(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Controllers {
		ic := &s.Controllers[i]
		if at := ic.DeletionTimestamp; at != nil && s.Now.Sub(at.Time) > deletionGrace {
			all = append(all, Finding{
				Object: object("ingresscontroller", ic), Summary: fmt.Sprintf("router %s is being deleted since %s", ic.Name, at.UTC().Format(time.RFC3339)),
				Remedy: "kubectl -n " + api.OperatorNamespace + " describe ingresscontroller " + ic.Name,
			})
		}
	}
	return all
}

func restarting(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Pods {
		p := &s.Pods[i]
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			t := c.LastTerminationState.Terminated
			if c.RestartCount < restarts || t == nil || s.Now.Sub(t.FinishedAt.Time) > restartsTime {
				continue
			}
			all = append(all, Finding{
				Object: object("pod", p), Summary: fmt.Sprintf("container %s has restarted %d times, last at %s: %s", c.Name, c.RestartCount, t.FinishedAt.UTC().Format(time.RFC3339), t.Reason),
				Remedy: fmt.Sprintf("kubectl -n %s logs %s -c %s --previous", p.Namespace, p.Name, c.Name),
			})
		}
	}
	return all
}

func oneNode(s *Snapshot) []Finding {
	if len(s.Nodes) < 2 {
		return nil
	}
	var all []Finding
	for i := range s.Controllers {
		name := s.Controllers[i].Name
		nodes, count := map[string]bool{}, 0
		for _, p := range s.podsOf(name) {
			if ready(&p) {
				nodes[p.Spec.NodeName] = true
				count++
			}
		}
		if len(nodes) == 1 && count > 1 {
			all = append(all, Finding{
				Object:  object("ingresscontroller", &s.Controllers[i]),
				Summary: fmt.Sprintf("router %s: all %d ready routers are on node %s, and would fail with it", name, count, most(sorted(nodes), 1)),
			})
		}
	}
	return all
}

func noStatusWriter(s *Snapshot) []Finding {
	return s.eachDeployment(func(ic *operatorv1.IngressController, d *appsv1.Deployment) string {
		if d.Status.ReadyReplicas == 0 || !s.older(d, 5*time.Minute) {
			return ""
		}
		for i := range s.Leases {
			if l := &s.Leases[i]; l.Name == "router-"+ic.Name+"-status" && current(l, s.Now) != "" {
				return ""
			}
		}
		return "no replica holds the Lease router-" + ic.Name + "-status, so the status of Routes may be old"
	})
}
