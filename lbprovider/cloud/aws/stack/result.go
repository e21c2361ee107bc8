package stack

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// BusyRetry is when to try again after AWS was busy.
const BusyRetry = 5 * time.Second

// Report is what a Result is made of.
type Report struct {
	Want     Stack
	Have     Observed
	Problems []hook.Problem
	// Waits are those of Steps.
	Waits []string
	// Poll is how often what is under way is looked at.
	Poll time.Duration
}

// Result says what there is. The name is published as soon as the load
// balancer has a listener, although AWS may need minutes until it serves.
func (r Report) Result() *hook.Result {
	have, problems := r.Have.State, r.Problems
	if left := r.Have.zonesLeftOut(); left != "" && have.Balancer != nil {
		problems = append(problems, hook.Problem{Reason: "ZoneLeftOut", Message: left})
	}
	out := &hook.Result{State: hook.StatePending, Problems: problems, Reason: "LoadBalancerPending", Message: "the load balancer does not exist yet"}
	published := have.Balancer
	if (published == nil || len(have.Listeners) == 0 || !Healthy(r.Want, have)) && len(have.Former) > 0 {
		published = &have.Former[0] // it serves while its replacement is being made
	}
	if published == nil {
		out.RetryAfter = hook.Duration(r.Poll)
		return out
	}
	out.Handle = published.ARN
	if len(have.Listeners) > 0 || published != have.Balancer {
		out.Ingress = []hook.Ingress{{Hostname: published.DNSName}}
		out.HostedZone, out.DualStack = published.HostedZone, published.AddressType == "dualstack"
	}
	out.Targets = TargetHealth(r.Want, have)
	out.State, out.Reason, out.Message = progress(r.Want, have, r.Waits, out.Targets)
	if out.State != hook.StateReady {
		out.RetryAfter = hook.Duration(r.Poll)
	}
	if len(r.Waits) > 0 {
		out.RetryAfter = hook.Duration(BusyRetry)
	}
	if out.State == hook.StateReady && slices.ContainsFunc(problems, func(p hook.Problem) bool { return p.Reason == "InvalidConfiguration" }) {
		out.State = hook.StateDegraded
	}
	return out
}

// Settled reports whether nothing is under way.
func Settled(want Stack, have State) bool {
	b := have.Balancer
	return b != nil && b.State == "active" && len(have.Former) == 0 && len(have.Groups) == len(want.Groups) && Healthy(want, have)
}

func progress(want Stack, have State, waits []string, targets []hook.TargetHealth) (state hook.State, reason, message string) {
	b := have.Balancer
	switch {
	case b == nil:
		return hook.StatePending, "LoadBalancerPending", "the load balancer does not exist yet"
	case b.State == "failed":
		return hook.StatePending, "CloudLoadBalancerFailed", "AWS could not make the load balancer: " + b.StateReason
	case b.State == "provisioning":
		return hook.StatePending, "LoadBalancerPending", "AWS is making the load balancer " + b.Name
	case !Healthy(want, have):
		return hook.StatePending, "NoHealthyTargets", unhealthy(want, targets)
	case b.State == "active_impaired":
		return hook.StateDegraded, "LoadBalancerImpaired", "AWS says that the load balancer is impaired: " + b.StateReason
	case len(waits) > 0:
		return hook.StateReady, "", strings.Join(waits, "; ")
	}
	return hook.StateReady, "", ""
}

// unhealthy says of each port without a healthy target what is known.
func unhealthy(want Stack, targets []hook.TargetHealth) string {
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
		for _, w := range slices.Sorted(maps.Keys(count)) {
			words = append(words, fmt.Sprintf("%d %s", count[w], w))
		}
		texts = append(texts, fmt.Sprintf("port %d has no healthy target: %s", g.ServicePort, strings.Join(words, ", ")))
	}
	return strings.Join(texts, "; ")
}

// TargetHealth are the states of the targets of the wanted ports.
func TargetHealth(want Stack, have State) []hook.TargetHealth {
	var list []hook.TargetHealth
	for _, w := range want.Groups {
		g, _ := have.Group(w.Name) // none has no targets
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
