package rules

import (
	"fmt"
	"slices"
)

// The records about Routes with an objective of latency: the share of requests that may take longer, and those that do.
const (
	slowBudget  = "route:fairlead_slo_latency_budget:ratio"
	slowOnes    = "route:fairlead_slo_slow:rate5m"
	slowSampled = "route:fairlead_slo_sampled:rate5m"
)

func slowRatio(window string) string { return "route:fairlead_slo_slow:ratio_rate" + window }

// slownessRecords are as objectiveRecords, of the requests that are sampled.
func slownessRecords() []Record {
	of := func(selector string) string {
		return fmt.Sprintf("sum by (job, namespace, route) (rate(fairlead_route_slo_sampled_requests_total%s[5m]))", selector)
	}
	records := []Record{
		{slowBudget, `1 - max by (job, namespace, route) (fairlead_route_slo_ratio{slo="latency"})`},
		{slowOnes, of(`{within="false"}`)},
		{slowSampled, of("")},
	}
	for _, w := range []string{"30m", "6h", "3d"} {
		records = append(records, Record{slowRatio(w), shareOver(w, slowOnes, slowSampled)})
	}
	return records
}

// slowBurn is as ownBurn, for objectives of latency.
func slowBurn(name string, factor float64, long, short, left string) Alert {
	// So many of 1000 sampled requests a minute are slow, of a Route of which 1 of 100 may be.
	at := func(route string, slow float64) []Series {
		labels := job + `,namespace="shop",route="` + route + `"`
		sampled := func(within string, n float64) Series {
			return growing(`fairlead_route_slo_sampled_requests_total{`+labels+`,within="`+within+`"}`, fmt.Sprint(n))
		}
		return []Series{constant(`fairlead_route_slo_ratio{`+labels+`,slo="latency"}`, "0.99"), sampled("false", slow), sampled("true", 1000-slow)}
	}
	rare := job + `,namespace="shop",route="rare"`
	return Alert{
		Name: name, Severity: Ticket,
		Expr:    burnsBoth(slowRatio, slowBudget, factor, long, short),
		Summary: "{{ $value | humanizePercentage }} of the requests to Route {{ $labels.namespace }}/{{ $labels.route }} take longer than its objective: the budget of 30 days is gone in " + left,
		Meaning: fmt.Sprintf("The annotation `fairlead.dev/slo` of the Route says what share of its requests is to be answered within a time, over 30 days. For %s, and still in the last %s, %.4g times as many sampled requests were slower than that lets there be, with %d or more sampled in an hour",
			long, short, factor, enough) + ". It is a ticket, because the objective is the word of the Route's owner. It needs [sampled requests](../../operator/metrics.md#latencies), and a Route with [series of its own](../../operator/metrics.md#routes).",
		Effect: "Clients of this Route wait.",
		Check:  []string{"kubectl get route NAME -n NAMESPACE -o yaml", "kubectl fairlead tail NAMESPACE/NAME --slow 300ms", "kubectl top pods -n NAMESPACE"},
		Repair: "Send the alert to the owner of the namespace, by the label `namespace`. Most often the pods are slow: tail shows in which phase requests wait. Clients that send or receive slowly count as well. " +
			"If the objective is stricter than the service can be, its owner changes the annotation.",
		Silence: "For a Route whose owner knows.",
		Fires:   at("slow", factor*10*1.05),
		Silent: slices.Concat(at("slow", factor*10*0.95), []Series{
			constant(`fairlead_route_slo_ratio{`+rare+`,slo="latency"}`, "0.99"),
			growing(`fairlead_route_slo_sampled_requests_total{`+rare+`,within="false"}`, "1"), growing(`fairlead_route_slo_sampled_requests_total{`+rare+`,within="true"}`, "0"),
		}),
	}
}

// slowness are the alerts of Routes with an objective of latency.
func slowness() []Alert {
	return []Alert{
		slowBurn("FairleadRouteLatencyObjectiveGoneInFiveDays", 6, "6h", "30m", "five days"),
		slowBurn("FairleadRouteLatencyObjectiveGoneInThirtyDays", 1, "3d", "6h", "less than 30 days"),
	}
}
