package check

import (
	"fmt"
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
)

// nearlyFull is the share of a pool, in percent, from which on it needs attention.
const nearlyFull = 90

// recentKill is how long the end of a container by the kernel is reported.
const recentKill = 24 * time.Hour

func capacity() []Rule {
	return []Rule{
		{ID: "FL701", Title: "A pool of addresses is nearly full", State: Warn, Remedy: "add addresses to the pool, or another pool", Needs: []Source{SourcePools}, Judge: fullPools},
		{ID: "FL702", Title: "A program has run out of memory", State: Warn, Remedy: "raise its limit: docs/operator/resources.md", Needs: []Source{SourcePods, SourceOperatorPods, SourceSpeakerPods}, Judge: outOfMemory},
		{ID: "FL703", Title: "A node is short of memory, disk or processes", State: Warn, Remedy: "kubectl describe node NAME", Needs: []Source{SourceNodes}, Judge: shortNodes},
		{ID: "FL704", Title: "There is only one router", State: Warn, Remedy: "raise spec.replicas of the IngressController", Needs: []Source{SourceControllers, SourceDeployments, SourceNodes}, Judge: oneRouter},
	}
}

func fullPools(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Pools {
		p := &s.Pools[i]
		for _, family := range []struct {
			name       string
			used, free int64
		}{{"IPv4", p.Status.AssignedIPv4, p.Status.AvailableIPv4}, {"IPv6", p.Status.AssignedIPv6, p.Status.AvailableIPv6}} {
			total := family.used + family.free
			// A pool of a few addresses is meant to be used up.
			if total == 0 || family.used == 0 || family.used*100 < total*nearlyFull || family.free > 0 && total < 10 || total == 1 {
				continue
			}
			all = append(all, Finding{
				Object: object("ipaddresspool", p), Summary: fmt.Sprintf("pool %s: %d of %d %s addresses are in use", p.Name, family.used, total, family.name),
			})
		}
	}
	return all
}

func outOfMemory(s *Snapshot) []Finding {
	var all []Finding
	for _, p := range slices.Concat(s.OperatorPods, s.Pods, s.SpeakerPods) {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			for _, t := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
				if t == nil || t.Reason != "OOMKilled" || s.Now.Sub(t.FinishedAt.Time) > recentKill {
					continue
				}
				all = append(all, Finding{
					Object: object("pod", &p), Summary: fmt.Sprintf("container %s was ended at %s because it reached its memory limit", c.Name, t.FinishedAt.UTC().Format(time.RFC3339)),
				})
			}
		}
	}
	return all
}

func shortNodes(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for _, c := range n.Status.Conditions {
			pressure := c.Type == corev1.NodeMemoryPressure || c.Type == corev1.NodeDiskPressure || c.Type == corev1.NodePIDPressure
			if pressure && c.Status == corev1.ConditionTrue {
				all = append(all, Finding{
					Object: "node/" + n.Name, Summary: fmt.Sprintf("the node has %s: %s; pods may be evicted", c.Type, c.Message), Remedy: "kubectl describe node " + n.Name,
				})
			}
		}
	}
	return all
}

func oneRouter(s *Snapshot) []Finding {
	if len(s.Nodes) < 2 {
		return nil
	}
	return s.eachDeployment(func(ic *operatorv1.IngressController, d *appsv1.Deployment) string {
		if wanted(d) != 1 {
			return ""
		}
		return "spec.replicas is 1: while " + api.RouterName(ic.Name) + " moves to another node, nothing is served"
	})
}
