package status

import (
	"strings"

	"github.com/fairlead/fairlead/api"
)

// Problem is why a child could not be written.
type Problem struct {
	Reason  api.Reason
	Message string
}

func childrenCondition(problems []Problem) condition {
	if len(problems) == 0 {
		return isTrue(conditionChildren, "AsExpected", "")
	}
	texts := make([]string, 0, len(problems))
	for _, p := range problems {
		texts = append(texts, p.Message)
	}
	return isFalse(conditionChildren, problems[0].Reason, strings.Join(texts, "; "))
}
