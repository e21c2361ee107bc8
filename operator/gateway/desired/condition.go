package desired

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// longestMessage is how long the message of a condition may be.
const longestMessage = 32768

// condition returns a condition of an object of the given generation. It keeps the time
// of the live one unless the status differs.
func condition(live []metav1.Condition, c metav1.Condition, generation int64, now time.Time) metav1.Condition {
	c.ObservedGeneration = generation
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	if len(c.Message) > longestMessage {
		c.Message = strings.ToValidUTF8(c.Message[:longestMessage], "")
	}
	if old := meta.FindStatusCondition(live, c.Type); old != nil && old.Status == c.Status && !old.LastTransitionTime.IsZero() {
		c.LastTransitionTime = old.LastTransitionTime
	}
	return c
}

// Newer reports whether one of the live conditions of the given types is about a later
// generation than the one that was read. Then what is decided is about an old state.
func Newer(live, decided []metav1.Condition) bool {
	for _, c := range decided {
		if old := meta.FindStatusCondition(live, c.Type); old != nil && old.ObservedGeneration > c.ObservedGeneration {
			return true
		}
	}
	return false
}

// Same reports whether the live conditions have all that was decided, as it is, and none that
// goes when it is not decided.
func Same(live, decided []metav1.Condition) bool {
	const passing = string(gatewayv1.GatewayConditionInsecureFrontendValidationMode)
	if meta.FindStatusCondition(live, passing) != nil && meta.FindStatusCondition(decided, passing) == nil {
		return false
	}
	for _, c := range decided {
		old := meta.FindStatusCondition(live, c.Type)
		if old == nil || old.Status != c.Status || old.Reason != c.Reason || old.Message != c.Message || old.ObservedGeneration != c.ObservedGeneration {
			return false
		}
	}
	return true
}
