package rules

import (
	"fmt"
	"slices"
)

// Objective is the share of requests that are to be answered without an error of a server, over 30 days. The rest is
// the budget of errors.
const Objective = 0.999

// enough is how many requests in an hour a Route must have before its share of errors means something.
const enough = 100

// windows are the times over which shares of errors are recorded.
func windows() []string { return []string{"5m", "30m", "1h", "2h", "6h", "1d", "3d"} }

// ratioOf is the name of a recorded share of errors.
func ratioOf(level, window string) string { return level + ":fairlead_errors:ratio_rate" + window }

// ratios record the share of requests with a status of 500 or more: of all Routes of a router's replicas, and of each
// Route that has enough requests.
func ratios() (all []Record) {
	share := func(metric, by, more, window, least string) string {
		return fmt.Sprintf("sum by (%[2]s) (rate(%[1]s{class=\"5xx\"%[3]s}[%[4]s]))\n  / (sum by (%[2]s) (rate(%[1]s{class!=\"none\"%[3]s}[%[4]s]))%[5]s)", metric, by, more, window, least)
	}
	for _, w := range windows() {
		all = append(all, Record{ratioOf("job", w), share("fairlead_router_requests_total", "job", "", w, "")})
	}
	for _, w := range []string{"5m", "1h"} {
		least := ""
		if w == "1h" {
			least = fmt.Sprintf(" > %d / 3600", enough)
		}
		all = append(all, Record{ratioOf("route", w), share("fairlead_route_requests_total", "job, namespace, route", `,route!="_other"`, w, least)})
	}
	return all
}

// burn is an alert for a budget that is used up so many times as fast as it may be, over a long time and, so that the
// alert ends soon after the errors, over a short one.
func burn(name string, severity Severity, factor float64, long, short, left string) Alert {
	bound := fmt.Sprintf("%.4g", factor*(1-Objective))
	requests := func(job, class, values string) Series {
		return Series{`fairlead_router_requests_total{job="` + job + `",class="` + class + `"}`, values}
	}
	// Of 100,000 requests a minute, some more and some less errors than the bound.
	at := func(job string, share float64) []Series {
		errors := factor * (1 - Objective) * share * 100_000
		return []Series{requests(job, "5xx", fmt.Sprintf("0+%.0fx120", errors)), requests(job, "2xx", fmt.Sprintf("0+%.0fx120", 100_000-errors))}
	}
	return Alert{
		Name: name, Severity: severity,
		Expr:    fmt.Sprintf("%s > %s\n  and %s > %s", ratioOf("job", long), bound, ratioOf("job", short), bound),
		Summary: "{{ $value | humanizePercentage }} of the requests to Routes of {{ $labels.job }} fail: the budget of 30 days is gone in " + left,
		Meaning: fmt.Sprintf("Of 1000 requests to Routes, 1 may be answered with a status of 500 or more, over 30 days. For %s, and still in the last %s, there were %.4g times as many", long, short, factor) +
			". Requests without an answer, such as those that clients give up, do not count.",
		Effect: "Clients see errors.",
		Check: []string{
			"kubectl fairlead status",
			"kubectl fairlead explain https://HOST/PATH",
		},
		Repair:  "The dashboard Routers shows which Routes have errors. Where `fairlead_route_router_errors_total` with the cause `connect` grows, no pod can be reached; otherwise the pods themselves answer with errors.",
		Silence: "If the owners of the Routes with errors know of them.",
		Fires:   at("router-internal-default", 1.05),
		// The second one has no errors.
		Silent: slices.Concat(at("router-internal-default", 0.95), at("router-internal-good", 0)),
	}
}

// budgets are the alerts for all Routes of a router, from the fastest to the slowest use of the budget, and one for
// single Routes.
func budgets() []Alert {
	fast := burn("FairleadErrorBudgetGoneInTwoDays", Page, 14.4, "1h", "5m", "two days")
	requests := func(route, class, values string) Series {
		return Series{`fairlead_route_requests_total{` + job + `,namespace="shop",route="` + route + `",class="` + class + `"}`, values}
	}
	// A burst of errors that is over: the long time is above the bound, the short one is not.
	fast.Silent = append(fast.Silent,
		Series{`fairlead_router_requests_total{job="router-internal-over",class="5xx"}`, "0+0x60 0+900x30 27000x30"},
		Series{`fairlead_router_requests_total{job="router-internal-over",class="2xx"}`, "0+1000x120"})
	return []Alert{
		fast,
		burn("FairleadErrorBudgetGoneInFiveDays", Page, 6, "6h", "30m", "five days"),
		burn("FairleadErrorBudgetGoneInTenDays", Ticket, 3, "1d", "2h", "ten days"),
		burn("FairleadErrorBudgetGoneInThirtyDays", Ticket, 1, "3d", "6h", "less than 30 days"),
		{
			Name: "FairleadRouteErrorBudgetBurns", Severity: Ticket,
			Expr:    fmt.Sprintf("%s > %.4g\n  and %s > %.4g\n  unless on (job, namespace, route) fairlead_route_slo_ratio{slo=\"availability\"}", ratioOf("route", "1h"), 14.4*(1-Objective), ratioOf("route", "5m"), 14.4*(1-Objective)),
			Summary: "{{ $value | humanizePercentage }} of the requests to Route {{ $labels.namespace }}/{{ $labels.route }} fail",
			Meaning: fmt.Sprintf("A Route with at least %d requests in the last hour answered more than 14.4 of 1000 with a status of 500 or more, and still does", enough) +
				". Routes with an objective of their own have [alerts](README.md#objectives-of-routes) of their own. Only Routes with [series of their own](../../operator/metrics.md#routes) are looked at.",
			Effect:  "Clients of this Route see errors.",
			Check:   []string{"kubectl fairlead why route/NAME -n NAMESPACE", "kubectl get endpointslices -n NAMESPACE"},
			Repair:  "Send the alert to the owner of the namespace. 503: the Route has no ready pod. Other statuses are most often the pods' own: look at their logs.",
			Silence: "For a Route whose owner knows.",
			Fires:   []Series{requests("web", "5xx", "0+2x120"), requests("web", "2xx", "0+98x120")},
			// The first one is below the bound, the second one has too few requests, the third one an objective of its own.
			Silent: []Series{requests("own", "5xx", "0+2x120"), requests("own", "2xx", "0+98x120"), constant(`fairlead_route_slo_ratio{`+job+`,namespace="shop",route="own",slo="availability"}`, "0.9"), requests("web", "5xx", "0+1x120"), requests("web", "2xx", "0+99x120"), requests("rare", "5xx", "0+1x120"), requests("rare", "2xx", "0x120")},
		},
	}
}
