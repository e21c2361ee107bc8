package aws

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// result says what there is. The name is published as soon as the load
// balancer has a listener, although AWS may need minutes until it serves.
func (v *view) result(want stack.Stack, problems []hook.Problem, waits []string) *hook.Result {
	if v.leftOut != "" && v.state.Balancer != nil {
		problems = append(problems, hook.Problem{Reason: "ZoneLeftOut", Message: v.leftOut})
	}
	r := &hook.Result{State: hook.StatePending, Problems: problems, Reason: "LoadBalancerPending", Message: "the load balancer does not exist yet"}
	published := v.state.Balancer
	if published == nil || len(v.state.Listeners) == 0 || !stack.Healthy(want, v.state) && len(v.state.Others) > 0 {
		// While a replacement is being made, the former one serves.
		if len(v.state.Others) > 0 {
			published = &v.state.Others[0]
		}
	}
	if published == nil {
		r.RetryAfter = hook.Duration(v.hook.options.Poll)
		return r
	}
	r.Handle = published.ARN
	if len(v.state.Listeners) > 0 || published != v.state.Balancer {
		r.Ingress = []hook.Ingress{{Hostname: published.DNSName}}
		r.HostedZone, r.DualStack = published.HostedZone, published.AddressType == "dualstack"
	}
	r.Targets = v.targets(want)
	r.State, r.Reason, r.Message = v.progress(want, waits, r.Targets)
	if r.State != hook.StateReady {
		r.RetryAfter = hook.Duration(v.hook.options.Poll)
	}
	if len(waits) > 0 {
		r.RetryAfter = hook.Duration(busyRetry)
	}
	if len(problems) > 0 && r.State == hook.StateReady && slices.ContainsFunc(problems, func(p hook.Problem) bool { return p.Reason == "InvalidConfiguration" }) {
		r.State = hook.StateDegraded
	}
	return r
}

// takeOver notes when a new load balancer's name took the place of another's,
// and since when DNS leads to it where somebody knows. It
// is forgotten with the rest of the view, and then counted anew, which only
// makes the former one stay longer.
func (v *view) takeOver(r *hook.Result, pending bool) {
	b := v.state.Balancer
	switch {
	case b == nil, pending, len(v.state.Others) == 0, len(r.Ingress) == 0, r.Ingress[0].Hostname != b.DNSName:
		v.state.Serving = time.Time{}
	case v.state.Serving.IsZero():
		v.state.Serving = v.hook.now()
	}
}

func (v *view) progress(want stack.Stack, waits []string, targets []hook.TargetHealth) (state hook.State, reason, message string) {
	b := v.state.Balancer
	switch {
	case b == nil:
		return hook.StatePending, "LoadBalancerPending", "the load balancer does not exist yet"
	case b.State == "failed":
		return hook.StatePending, "CloudLoadBalancerFailed", "AWS could not make the load balancer: " + b.StateReason
	case b.State == "provisioning":
		return hook.StatePending, "LoadBalancerPending", "AWS is making the load balancer " + b.Name
	case !stack.Healthy(want, v.state):
		return hook.StatePending, "NoHealthyTargets", unhealthy(want, targets)
	case b.State == "active_impaired":
		return hook.StateDegraded, "LoadBalancerImpaired", "AWS says that the load balancer is impaired: " + b.StateReason
	case len(waits) > 0:
		return hook.StateReady, "", strings.Join(waits, "; ")
	}
	return hook.StateReady, "", ""
}

// unhealthy says of each port without a healthy target what is known.
func unhealthy(want stack.Stack, targets []hook.TargetHealth) string {
	var texts []string
	for _, g := range want.Groups {
		count := map[string]int{}
		for _, t := range targets {
			if t.Port == g.ServicePort {
				word := string(t.State)
				if t.Reason != "" {
					word += " (" + t.Reason + ")"
				}
				count[word]++
			}
		}
		if count[string(hook.HealthHealthy)] > 0 {
			continue
		}
		if len(count) == 0 {
			texts = append(texts, fmt.Sprintf("port %d has no target", g.ServicePort))
			continue
		}
		var words []string
		for _, w := range sortedKeys(count) {
			words = append(words, fmt.Sprintf("%d %s", count[w], w))
		}
		texts = append(texts, fmt.Sprintf("port %d has no healthy target: %s", g.ServicePort, strings.Join(words, ", ")))
	}
	return strings.Join(texts, "; ")
}

func (v *view) targets(want stack.Stack) []hook.TargetHealth {
	var list []hook.TargetHealth
	for _, w := range want.Groups {
		g := v.state.Group(w.Name)
		if g == nil {
			continue
		}
		for t, h := range g.Health {
			list = append(list, hook.TargetHealth{ID: t.ID, Port: w.ServicePort, State: healthOf(h.State), Reason: h.Reason})
		}
	}
	slices.SortFunc(list, func(a, b hook.TargetHealth) int {
		if a.Port != b.Port {
			return int(a.Port - b.Port)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

func healthOf(state string) hook.HealthState {
	switch state {
	case "healthy":
		return hook.HealthHealthy
	case "unhealthy":
		return hook.HealthUnhealthy
	case "initial":
		return hook.HealthInitial
	case "draining", "unhealthy.draining":
		return hook.HealthDraining
	}
	return hook.HealthUnknown
}
