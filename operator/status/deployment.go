package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/operator/pod"
)

func deploymentConditions(in Input) []condition {
	d := in.Deployment
	if d == nil {
		message := "The deployment does not exist"
		return []condition{
			isFalse(conditionDeploymentAvailable, "DeploymentNotFound", message),
			isFalse(conditionMinAvailable, "DeploymentNotFound", message),
			isFalse(conditionAllAvailable, "DeploymentNotFound", message),
			isTrue(conditionRollingOut, "DeploymentNotFound", message),
		}
	}
	trouble := cmp.Or(podTrouble(in.Pods), replicaTrouble(d))
	desired := desiredReplicas(d)
	available := d.Status.AvailableReplicas
	unavailable := maxUnavailable(d, desired)
	enough := available >= max(desired-unavailable, min(desired, 1)) // none is never enough
	all := available >= desired

	least := ""
	if !enough {
		least = fmt.Sprintf("%d/%d of replicas are available, max unavailable is %d%s", available, desired, unavailable, trouble)
	}
	every := ""
	if !all {
		every = fmt.Sprintf("%d/%d of replicas are available%s", available, desired, trouble)
	}
	return []condition{
		deploymentAvailable(d, trouble),
		choose(conditionMinAvailable, enough, "DeploymentMinimumReplicasMet", "DeploymentMinimumReplicasNotMet", least),
		choose(conditionAllAvailable, all, "DeploymentReplicasAvailable", "DeploymentReplicasNotAvailable", every),
		rollingOut(d, desired),
	}
}

func deploymentAvailable(d *appsv1.Deployment, trouble string) condition {
	i := slices.IndexFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == appsv1.DeploymentAvailable })
	switch {
	case i < 0:
		return unknown(conditionDeploymentAvailable, "DeploymentAvailabilityUnknown", "The deployment has no Available status condition set")
	case d.Status.Conditions[i].Status == corev1.ConditionTrue && d.Status.AvailableReplicas == 0 && desiredReplicas(d) > 0:
		// Kubernetes calls a Deployment available where as many pods as there are may be away, such as one on the network of a node.
		return isFalse(conditionDeploymentAvailable, "DeploymentUnavailable", "No pod of the deployment is available"+trouble)
	case d.Status.Conditions[i].Status == corev1.ConditionTrue:
		return isTrue(conditionDeploymentAvailable, "DeploymentAvailable", "The deployment has Available status condition set to True")
	}
	return isFalse(conditionDeploymentAvailable, "DeploymentUnavailable", d.Status.Conditions[i].Message+trouble)
}

func rollingOut(d *appsv1.Deployment, desired int32) condition {
	st := d.Status
	observed := st.ObservedGeneration >= d.Generation
	switch {
	case observed && st.UpdatedReplicas >= desired && st.Replicas <= st.UpdatedReplicas && st.AvailableReplicas >= st.UpdatedReplicas:
		return isFalse(conditionRollingOut, "DeploymentNotRollingOut", "Deployment is not actively rolling out")
	case observed && newReplicaSetAvailable(d) && st.UpdatedReplicas == desired && st.Replicas != desired:
		return isTrue(conditionRollingOut, "ReplicasStabilizing", "replicas of the deployment are being scaled")
	case observed && newReplicaSetAvailable(d) && st.UpdatedReplicas == desired:
		return isTrue(conditionRollingOut, "PodsStarting", fmt.Sprintf("%d of %d pods are ready", st.AvailableReplicas, desired))
	}
	return isTrue(conditionRollingOut, "DeploymentRollingOut",
		fmt.Sprintf("%d of %d pods are updated, %d available, %d old ones left", st.UpdatedReplicas, desired, st.AvailableReplicas, st.Replicas-st.UpdatedReplicas))
}

func newReplicaSetAvailable(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Reason == "NewReplicaSetAvailable"
	})
}

func desiredReplicas(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// maxUnavailable rounds as the Deployment controller does.
func maxUnavailable(d *appsv1.Deployment, desired int32) int32 {
	unavailable, surge := intstr.FromString("25%"), intstr.FromString("25%")
	if r := d.Spec.Strategy.RollingUpdate; r != nil {
		if r.MaxUnavailable != nil {
			unavailable = *r.MaxUnavailable
		}
		if r.MaxSurge != nil {
			surge = *r.MaxSurge
		}
	}
	down, err := intstr.GetScaledValueFromIntOrPercent(&unavailable, int(desired), false)
	if err != nil {
		return 0
	}
	up, err := intstr.GetScaledValueFromIntOrPercent(&surge, int(desired), true)
	if err == nil && down == 0 && up == 0 {
		return 1
	}
	return int32(down)
}

// podTrouble says in a few words why pods are not ready, in a stable order.
func podTrouble(pods []corev1.Pod) string {
	var causes []string
	for _, p := range pods {
		if p.DeletionTimestamp != nil || pod.Ready(p) {
			continue
		}
		if cause := podCause(p); cause != "" {
			causes = append(causes, cause)
		}
	}
	slices.Sort(causes)
	causes = slices.Compact(causes)
	if len(causes) == 0 {
		return ""
	}
	return ": " + strings.Join(causes, "; ")
}

// replicaTrouble says why there are no pods at all, such as a quota, or Pod
// Security, which forbids the network of nodes unless the namespace allows it.
func replicaTrouble(d *appsv1.Deployment) string {
	for _, c := range d.Status.Conditions {
		if c.Type != appsv1.DeploymentReplicaFailure || c.Status != corev1.ConditionTrue {
			continue
		}
		if d.Spec.Template.Spec.HostNetwork && strings.Contains(c.Message, "PodSecurity") {
			return ": " + c.Message + "; HostNetwork needs the namespace " + d.Namespace + " to allow it: label it pod-security.kubernetes.io/enforce=privileged"
		}
		return ": " + c.Message
	}
	return ""
}

func podCause(p corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "a pod cannot be scheduled: " + c.Message
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" {
			return strings.TrimSuffix(fmt.Sprintf("container %s waits: %s: %s", c.Name, w.Reason, w.Message), ": ")
		}
		if t := c.LastTerminationState.Terminated; t != nil && !c.Ready && t.ExitCode != 0 {
			return fmt.Sprintf("container %s exited with %d: %s", c.Name, t.ExitCode, lastLine(t.Message))
		}
	}
	return ""
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
