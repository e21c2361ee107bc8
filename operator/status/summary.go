package status

import (
	"fmt"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
)

// expectation is a condition that must be True for the routers to be well.
type expectation struct {
	kind string
	// grace is how long it may be otherwise before that counts.
	grace time.Duration
	// open is how long it may be Unknown; 0 means grace.
	open time.Duration
	// proved says that it counts while it is False only.
	proved bool
	// only says of which conditions all must be True for the expectation to count.
	only []string
}

// availability lists what the Available condition stands for.
func availability() []expectation {
	return []expectation{
		{kind: conditionDeploymentAvailable},
		{kind: conditionLoadBalancerReady, only: []string{conditionLoadBalancerManaged}},
		{kind: conditionDNSReady, only: withDNS()},
	}
}

// health lists what the Degraded condition stands for.
func health() []expectation {
	return []expectation{
		{kind: ConditionAdmitted},
		{kind: conditionChildren},
		{kind: ConditionCertificate},
		{kind: api.ConditionSettingsApplied, grace: 30 * time.Second},
		{kind: conditionDeploymentAvailable, grace: 30 * time.Second},
		{kind: conditionMinAvailable, grace: time.Minute},
		{kind: conditionAllAvailable, grace: time.Hour},
		{kind: conditionLoadBalancerReady, grace: 90 * time.Second, only: []string{conditionLoadBalancerManaged}},
		// A DNS service takes its time: Route 53 mostly a minute.
		{kind: conditionDNSReady, grace: 30 * time.Second, open: 5 * time.Minute, only: withDNS()},
		// Routers that cannot be asked may be well.
		{kind: ConditionCanary, grace: time.Minute, proved: true},
	}
}

// patience returns how long a condition may be as it is.
func (e expectation) patience(c *operatorv1.OperatorCondition) time.Duration {
	if e.open > 0 && c.Status == operatorv1.ConditionUnknown {
		return e.open
	}
	return e.grace
}

// withDNS are the conditions of routers whose name the operator publishes.
func withDNS() []string {
	return []string{conditionLoadBalancerManaged, conditionLoadBalancerReady, ConditionDNSManaged}
}

// unmet returns the condition if the expectation counts and does not hold.
// A condition that is missing says nothing, so it is no fault.
func (e expectation) unmet(list []operatorv1.OperatorCondition) *operatorv1.OperatorCondition {
	for _, kind := range e.only {
		if c := Find(list, kind); c == nil || c.Status != operatorv1.ConditionTrue {
			return nil
		}
	}
	c := Find(list, e.kind)
	if c == nil || c.Status == operatorv1.ConditionTrue || e.proved && c.Status != operatorv1.ConditionFalse {
		return nil
	}
	return c
}

func availableCondition(list []operatorv1.OperatorCondition) condition {
	var faults []string
	for _, e := range availability() {
		if c := e.unmet(list); c != nil {
			faults = append(faults, describe(c))
		}
	}
	if len(faults) > 0 {
		return isFalse(operatorv1.OperatorStatusTypeAvailable, "IngressControllerUnavailable",
			"One or more status conditions indicate unavailable: "+strings.Join(faults, ", "))
	}
	return isTrue(operatorv1.OperatorStatusTypeAvailable, "IngressControllerAvailable", "")
}

func progressingCondition(list []operatorv1.OperatorCondition) condition {
	var causes []string
	if c := Find(list, conditionRollingOut); c != nil && c.Status != operatorv1.ConditionFalse &&
		c.Reason != "ReplicasStabilizing" && c.Reason != "PodsStarting" {
		causes = append(causes, describe(c))
	}
	if m := Find(list, conditionLoadBalancerManaged); m != nil && m.Status == operatorv1.ConditionTrue {
		if c := Find(list, conditionLoadBalancerProgress); c != nil && c.Status != operatorv1.ConditionFalse {
			causes = append(causes, describe(c))
		}
	}
	if len(causes) > 0 {
		return isTrue(operatorv1.OperatorStatusTypeProgressing, "IngressControllerProgressing",
			"One or more status conditions indicate progressing: "+strings.Join(causes, ", "))
	}
	return isFalse(operatorv1.OperatorStatusTypeProgressing, "AsExpected", "")
}

// degradedCondition also returns when to look again, 0 for never.
func degradedCondition(list []operatorv1.OperatorCondition, now time.Time) (condition, time.Duration) {
	var faults []string
	var again time.Duration
	for _, e := range health() {
		c := e.unmet(list)
		if c == nil {
			continue
		}
		if left := e.patience(c) - now.Sub(c.LastTransitionTime.Time); left > 0 {
			if again == 0 || left < again {
				again = left
			}
			continue
		}
		faults = append(faults, describe(c))
	}
	if len(faults) > 0 {
		return isTrue(operatorv1.OperatorStatusTypeDegraded, "DegradedConditions",
			"One or more other status conditions indicate a degraded state: "+strings.Join(faults, ", ")), time.Minute
	}
	return isFalse(operatorv1.OperatorStatusTypeDegraded, "AsExpected", ""), again
}

func describe(c *operatorv1.OperatorCondition) string {
	return fmt.Sprintf("%s=%s (%s: %s)", c.Type, c.Status, c.Reason, c.Message)
}
