package dashboards

// one is a panel with one query.
func one(title, unit, description, expr, legend string) Panel {
	return Panel{Title: title, Unit: unit, Description: description, Queries: []Query{{expr, legend}}}
}

// quantiles are the median and the 99th percentile of a histogram.
func quantiles(metric, by, legend string) []Query {
	group := "le"
	if by != "" {
		group = by + ", le"
	}
	rate := "sum by (" + group + `) (rate(` + metric + `_bucket{instance=~"$instance"}[$__rate_interval]))`
	return []Query{{"histogram_quantile(0.5, " + rate + ")", "p50" + legend}, {"histogram_quantile(0.99, " + rate + ")", "p99" + legend}}
}

func routers() Dashboard {
	return Dashboard{ID: "fairlead-routers", Title: "Fairlead / Routers", Rows: []Row{
		{"Traffic", []Panel{
			one("Requests by status", "reqps", "Answers to clients, by class of their status.",
				`sum by (code) (rate(haproxy_frontend_http_responses_total{instance=~"$instance"}[$__rate_interval]))`, "{{code}}"),
			one("Errors", "percentunit", "Share of answers with a status of 500 or more.",
				`sum(rate(haproxy_frontend_http_responses_total{code="5xx",instance=~"$instance"}[$__rate_interval])) / sum(rate(haproxy_frontend_http_responses_total{instance=~"$instance"}[$__rate_interval]))`, "errors"),
			one("Connections", "short", "Connections that clients hold, by frontend.",
				`sum by (proxy) (haproxy_frontend_current_sessions{instance=~"$instance"})`, "{{proxy}}"),
			{Title: "Bytes", Unit: "Bps", Description: "Bytes from and to clients.", Queries: []Query{
				{`sum(rate(haproxy_frontend_bytes_in_total{instance=~"$instance"}[$__rate_interval]))`, "received"},
				{`sum(rate(haproxy_frontend_bytes_out_total{instance=~"$instance"}[$__rate_interval]))`, "sent"},
			}},
			one("Share of the connection limit", "percentunit", "Connections of each HAProxy, as a share of those that it takes. An alert fires above 85 %.",
				`haproxy_process_current_connections{instance=~"$instance"} / haproxy_process_max_connections{instance=~"$instance"}`, "{{instance}}"),
			one("Idle time of HAProxy", "percent", "Share of time in which HAProxy's threads have nothing to do.",
				`haproxy_process_idle_time_percent{instance=~"$instance"}`, "{{instance}}"),
		}},
		{"Routes", []Panel{
			one("Requests of Routes", "reqps", "The ten Routes with the most requests.",
				`topk(10, sum by (namespace, route) (rate(fairlead_route_requests_total{instance=~"$instance",route!="_other"}[$__rate_interval])))`, "{{namespace}}/{{route}}"),
			one("Errors of Routes", "reqps", "The ten Routes with the most answers of a status of 500 or more.",
				`topk(10, sum by (namespace, route) (rate(fairlead_route_requests_total{class="5xx",instance=~"$instance",route!="_other"}[$__rate_interval])))`, "{{namespace}}/{{route}}"),
			one("Requests of Routes together", "reqps", "Requests of the Routes that have no series of their own, because the budget of series is used up.",
				`sum by (class) (rate(fairlead_route_requests_total{instance=~"$instance",route="_other"}[$__rate_interval]))`, "{{class}}"),
			one("Routes by state", "short", "Served, served by their last good version, or refused.",
				`max by (state) (fairlead_router_routes{instance=~"$instance"})`, "{{state}}"),
			one("Findings", "short", "Routes with a finding, by its reason.",
				`max by (reason, severity) (fairlead_router_findings{instance=~"$instance"})`, "{{reason}} ({{severity}})"),
		}},
		{"Changes", []Panel{
			{Title: "Change to live", Unit: "s", Description: "Time from when the router sees a change until HAProxy serves the Route as changed.", Queries: quantiles("fairlead_router_change_to_live_seconds", "", "")},
			one("Waiting Routes", "short", "Changed Routes that wait for their turn.", `fairlead_router_waiting_routes{instance=~"$instance"}`, "{{instance}}"),
			{Title: "Time to apply", Unit: "s", Description: "Time to bring changes to HAProxy.", Queries: quantiles("fairlead_router_apply_duration_seconds", "", "")},
			one("Runtime commands", "ops", "Changes made in HAProxy at run time.", `rate(fairlead_router_runtime_commands_total{instance=~"$instance"}[$__rate_interval])`, "{{instance}}"),
			{Title: "Reloads", Unit: "short", Description: "Reloads of HAProxy in the last hour, by reason, and those that it refused.", Queries: []Query{
				{`sum by (reason) (increase(fairlead_router_reloads_total{instance=~"$instance"}[1h]))`, "{{reason}}"},
				{`sum(increase(fairlead_router_reload_failures_total{instance=~"$instance"}[1h]))`, "refused"},
			}},
			one("Drift", "short", "Changes of other programs in the last hour that the router reverted.", `increase(fairlead_router_drift_corrections_total{instance=~"$instance"}[1h])`, "{{instance}}"),
		}},
	}}
}

func policies() Dashboard {
	return Dashboard{ID: "fairlead-policies", Title: "Fairlead / Policies and agent", Rows: []Row{
		{"Policies", []Panel{
			one("Policies by state", "short", "Policies by group and by what became of them.", `max by (group, state) (fairlead_router_policies{instance=~"$instance"})`, "{{group}} {{state}}"),
			one("Refused requests", "reqps", "Requests that policies refused, by group and status.",
				`sum by (group, code) (rate(fairlead_router_policy_answers_total{instance=~"$instance"}[$__rate_interval]))`, "{{group}} {{code}}"),
			{Title: "Policy to live", Unit: "s", Description: "Time until HAProxy serves all Routes of a changed policy by it.", Queries: quantiles("fairlead_router_policy_live_duration_seconds", "", "")},
		}},
		{"Policy agent", []Panel{
			one("Workers", "short", "1 for each worker that answers.", `fairlead_agent_up{instance=~"$instance"}`, "{{instance}} {{worker}}"),
			one("Behind", "short", "1 while the agent does not decide by the newest policies.", `fairlead_router_agent_behind{instance=~"$instance"}`, "{{instance}}"),
			one("Verdicts", "reqps", "Decisions by group and verdict.", `sum by (group, verdict) (rate(fairlead_agent_decisions_total{instance=~"$instance"}[$__rate_interval]))`, "{{group}} {{verdict}}"),
			{Title: "Time of a verdict", Unit: "s", Description: "How long verdicts took, by group.", Queries: quantiles("fairlead_agent_decision_duration_seconds", "group", " {{group}}")},
			one("Waiting requests", "short", "Requests that wait for a verdict.", `sum by (instance) (fairlead_agent_inflight{instance=~"$instance"})`, "{{instance}}"),
			one("Shed requests", "reqps", "Requests refused because there was too much work.", `sum by (instance) (rate(fairlead_agent_shed_total{instance=~"$instance"}[$__rate_interval]))`, "{{instance}}"),
		}},
	}}
}
