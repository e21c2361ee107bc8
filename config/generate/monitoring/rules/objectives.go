package rules

import (
	"fmt"
	"slices"
)

// The records about Routes with objectives of their own: the share of requests that may fail, and those that do.
const (
	ownBudget   = "route:fairlead_slo_budget:ratio"
	ownErrors   = "route:fairlead_slo_errors:rate5m"
	ownRequests = "route:fairlead_slo_requests:rate5m"
)

// ownRatio is the name of a recorded share of errors of Routes with objectives.
func ownRatio(window string) string { return "route:fairlead_slo_errors:ratio_rate" + window }

// objectiveRecords are for Routes that name their objective. Long times are sums of what is recorded for five minutes: the
// series of all Routes over three days are more than Prometheus reads for one rule.
func objectiveRecords() []Record {
	of := func(class string) string {
		return fmt.Sprintf("sum by (job, namespace, route) (rate(fairlead_route_requests_total{%s,route!=\"_other\"}[5m]))\n  and on (job, namespace, route) %s", class, ownBudget)
	}
	records := []Record{
		{ownBudget, `1 - max by (job, namespace, route) (fairlead_route_slo_ratio{slo="availability"})`},
		{ownErrors, of(`class="5xx"`)},
		{ownRequests, of(`class!="none"`)},
	}
	for _, w := range windows() {
		records = append(records, Record{ownRatio(w), shareOver(w, ownErrors, ownRequests)})
	}
	return records
}

// shareOver is the share of some recorded rates in others over a time, where there was enough.
func shareOver(window, part, whole string) string {
	return fmt.Sprintf("sum_over_time(%[2]s[%[1]s]) / sum_over_time(%[3]s[%[1]s])\n  and avg_over_time(%[3]s[%[1]s]) > %[4]d / 3600", window, part, whole, enough)
}

// burnsBoth is true while the share of a long time and that of a short one are above so many times a budget.
func burnsBoth(ratio func(string) string, budget string, factor float64, long, short string) string {
	above := func(window string) string {
		return fmt.Sprintf("%s > on (job, namespace, route) %.4g * %s", ratio(window), factor, budget)
	}
	return above(long) + "\n  and " + above(short)
}

// ownBurn is as burn, for the Routes with objectives of their own.
func ownBurn(name string, factor float64, long, short, left string) Alert {
	requests := func(route, class, values string) Series {
		return Series{`fairlead_route_requests_total{` + job + `,namespace="shop",route="` + route + `",class="` + class + `"}`, values}
	}
	// A Route with so many errors of 1,000,000 requests a minute, as a part of those that its objective lets it have times factor.
	at := func(route string, objective, part float64) []Series {
		errors := factor * (1 - objective) * part * 1_000_000
		return []Series{
			constant(`fairlead_route_slo_ratio{`+job+`,namespace="shop",route="`+route+`",slo="availability"}`, fmt.Sprint(objective)),
			requests(route, "5xx", fmt.Sprintf("0+%.0fx120", errors)), requests(route, "2xx", fmt.Sprintf("0+%.0fx120", 1_000_000-errors)),
		}
	}
	return Alert{
		Name: name, Severity: Ticket,
		Expr:    burnsBoth(ownRatio, ownBudget, factor, long, short),
		Summary: "{{ $value | humanizePercentage }} of the requests to Route {{ $labels.namespace }}/{{ $labels.route }} fail: the budget of 30 days of its objective is gone in " + left,
		Meaning: fmt.Sprintf("The annotation `fairlead.dev/slo` of the Route says how many requests are to be answered without a status of 500 or more, over 30 days. For %s, and still in the last %s, there were %.4g times as many errors as that lets it have, at %d requests an hour or more",
			long, short, factor, enough) + ". It is a ticket, because the objective is the word of the Route's owner. Only Routes with [series of their own](../../operator/metrics.md#routes) are looked at.",
		Effect: "Clients of this Route see errors.",
		Check:  []string{"kubectl get route NAME -n NAMESPACE -o yaml", "kubectl fairlead why route/NAME -n NAMESPACE", "kubectl get endpointslices -n NAMESPACE"},
		Repair: "Send the alert to the owner of the namespace, by the label `namespace`. 503: the Route has no ready pod. Other statuses are most often the pods' own: look at their logs. " +
			"If the objective is stricter than the service can be, its owner changes the annotation.",
		Silence: "For a Route whose owner knows.",
		// Of one Route the objective is stricter than that of all Routes, of the other one laxer.
		Fires: at("strict", 0.9999, 1.05),
		Silent: slices.Concat(at("strict", 0.9999, 0.95), at("lax", 0.99, 0.95), []Series{
			requests("none", "5xx", "0+500000x120"), requests("none", "2xx", "0+500000x120"),
			requests("rare", "5xx", "0+1x120"), requests("rare", "2xx", "0x120"), constant(`fairlead_route_slo_ratio{`+job+`,namespace="shop",route="rare",slo="availability"}`, "0.99"),
			requests("slow", "5xx", "0+500000x120"), requests("slow", "2xx", "0+500000x120"), constant(`fairlead_route_slo_ratio{`+job+`,namespace="shop",route="slow",slo="latency"}`, "0.99"),
		}),
	}
}

// objectives are the alerts of Routes that name their objective.
func objectives() []Alert {
	return []Alert{
		ownBurn("FairleadRouteObjectiveGoneInTwoDays", 14.4, "1h", "5m", "two days"),
		ownBurn("FairleadRouteObjectiveGoneInFiveDays", 6, "6h", "30m", "five days"),
		ownBurn("FairleadRouteObjectiveGoneInTenDays", 3, "1d", "2h", "ten days"),
		ownBurn("FairleadRouteObjectiveGoneInThirtyDays", 1, "3d", "6h", "less than 30 days"),
	}
}
