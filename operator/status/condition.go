package status

import (
	"slices"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
)

// Admitted reports whether the conditions of an IngressController say that it is in use.
func Admitted(conditions []operatorv1.OperatorCondition) bool {
	c := Find(conditions, ConditionAdmitted)
	return c != nil && c.Status == operatorv1.ConditionTrue
}

// Messages joins the texts of findings into one sentence for a condition.
func Messages(findings []api.Finding) string {
	texts := make([]string, 0, len(findings))
	for _, f := range findings {
		texts = append(texts, f.Text())
	}
	return strings.Join(texts, "; ")
}

// Types of the conditions of an IngressController, as in OpenShift.
const (
	ConditionAdmitted             = "Admitted"
	conditionDeploymentAvailable  = "DeploymentAvailable"
	conditionMinAvailable         = "DeploymentReplicasMinAvailable"
	conditionAllAvailable         = "DeploymentReplicasAllAvailable"
	conditionRollingOut           = "DeploymentRollingOut"
	conditionLoadBalancerManaged  = "LoadBalancerManaged"
	conditionLoadBalancerReady    = "LoadBalancerReady"
	conditionLoadBalancerProgress = "LoadBalancerProgressing"
	ConditionDNSManaged           = "DNSManaged"
	conditionDNSReady             = "DNSReady"
	// ConditionCertificate is ours: OpenShift leaves pods waiting for ever
	// for a default certificate that does not exist.
	ConditionCertificate = "DefaultCertificateReady"
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

// Find returns the condition of a type, nil if there is none.
func Find(list []operatorv1.OperatorCondition, kind string) *operatorv1.OperatorCondition {
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
		if o := Find(old, w.kind); o != nil && o.Status == c.Status {
			c.LastTransitionTime = o.LastTransitionTime
		}
		list = append(list, c)
	}
	return list
}
