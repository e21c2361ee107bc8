package operator

import (
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

// Types of the conditions of an IngressController, as in OpenShift.
const (
	conditionAdmitted             = "Admitted"
	conditionDeploymentAvailable  = "DeploymentAvailable"
	conditionMinAvailable         = "DeploymentReplicasMinAvailable"
	conditionAllAvailable         = "DeploymentReplicasAllAvailable"
	conditionRollingOut           = "DeploymentRollingOut"
	conditionLoadBalancerManaged  = "LoadBalancerManaged"
	conditionLoadBalancerReady    = "LoadBalancerReady"
	conditionLoadBalancerProgress = "LoadBalancerProgressing"
	conditionDNSManaged           = "DNSManaged"
	conditionDNSReady             = "DNSReady"
	// conditionCertificate is ours: OpenShift leaves pods waiting for ever
	// for a default certificate that does not exist.
	conditionCertificate = "DefaultCertificateReady"
	// conditionChildren is ours: an object that the routers need could not be
	// written.
	conditionChildren = "ObjectsReconciled"
)

// condition is a condition without its time.
type condition struct {
	kind    string
	status  operatorv1.ConditionStatus
	reason  api.Reason
	message string
}

func isTrue(kind string, reason api.Reason, message string) condition {
	return condition{kind, operatorv1.ConditionTrue, reason, message}
}

func isFalse(kind string, reason api.Reason, message string) condition {
	return condition{kind, operatorv1.ConditionFalse, reason, message}
}

func unknown(kind string, reason api.Reason, message string) condition {
	return condition{kind, operatorv1.ConditionUnknown, reason, message}
}

// choose returns a True or a False condition.
func choose(kind string, truth bool, whenTrue, whenFalse api.Reason, message string) condition {
	if truth {
		return isTrue(kind, whenTrue, message)
	}
	return isFalse(kind, whenFalse, message)
}

func findCondition(list []operatorv1.OperatorCondition, kind string) *operatorv1.OperatorCondition {
	i := slices.IndexFunc(list, func(c operatorv1.OperatorCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// withTimes returns the conditions with the time since when each has its
// status. A condition whose status stays keeps its time.
func withTimes(old []operatorv1.OperatorCondition, wanted []condition, now time.Time) []operatorv1.OperatorCondition {
	list := make([]operatorv1.OperatorCondition, 0, len(wanted))
	for _, w := range wanted {
		c := operatorv1.OperatorCondition{
			Type:               w.kind,
			Status:             w.status,
			Reason:             string(w.reason),
			Message:            w.message,
			LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		}
		if o := findCondition(old, w.kind); o != nil && o.Status == c.Status {
			c.LastTransitionTime = o.LastTransitionTime
		}
		list = append(list, c)
	}
	return list
}
