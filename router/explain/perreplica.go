package explain

import (
	"fmt"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// perReplica says where a limit of a Route's annotations, or of a policy, holds in each router
// replica by itself. It is a hint for the author of a manifest, so only Lint has it.
func (s *Snapshot) perReplica(key model.Object) []Finding {
	field, most, about := "", 0, api.ObjectRef{}
	switch o := s.objects.Policies[key]; {
	case o != nil:
		if l := o.Spec.Limits; l != nil && l.Concurrent != nil {
			field, most, about = "spec.limits.concurrent.count", int(l.Concurrent.Count), policy.Ref(key)
		}
	case s.source.routes[key] != nil:
		if c, served := s.pipeline.Claim(key); served {
			field, most, about = "metadata.annotations["+api.AnnotationLimitConcurrent+"]", c.Backend.Policy().Limits.Concurrent, Ref(s.source.routes[key])
		}
	}
	if most <= 0 {
		return nil
	}
	return []Finding{s.finding(api.Finding{
		Object: about, Field: field, Reason: api.ReasonCountedPerReplica, Severity: api.SeverityInfo,
		Message: fmt.Sprintf("%d holds in each router replica by itself", most),
		Effect:  fmt.Sprintf("N replicas admit N times as many, two of them %d: \"kubectl fairlead docs routes/limits\" has a section on each replica", 2*most),
	})}
}
