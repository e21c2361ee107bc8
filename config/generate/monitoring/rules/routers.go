package rules

const job = `job="router-internal-default"`

func routers() []Alert {
	return []Alert{{
		Name: "FairleadRouterUnavailable", Severity: Page, For: "2m",
		Expr:    `ingress_controller_conditions{condition="Available"} == 0`,
		Summary: "IngressController {{ $labels.name }} has no ready router",
		Meaning: "The operator sees no ready pod of the IngressController, or nothing leads to its pods.",
		Effect:  "Clients of its Routes get no answer.",
		Check: []string{
			"kubectl fairlead status",
			"kubectl get ingresscontroller -n openshift-ingress-operator default -o yaml",
			"kubectl get pods -n openshift-ingress -o wide",
		},
		Repair:  "The conditions of the IngressController say what is missing. If pods do not start, `kubectl describe pod` names the cause: no node for them, no image, or a port that is taken.",
		Silence: "While you delete the IngressController or move its nodes.",
		Fires:   one(constant(`ingress_controller_conditions{name="default",condition="Available"}`, "0")),
		Silent:  []Series{constant(`ingress_controller_conditions{name="default",condition="Available"}`, "1"), constant(`ingress_controller_conditions{name="default",condition="Degraded"}`, "0")},
	}, {
		Name: "FairleadRouterDegraded", Severity: Ticket, For: "15m",
		Expr:    `ingress_controller_conditions{condition="Degraded"} == 1`,
		Summary: "IngressController {{ $labels.name }} is degraded",
		Meaning: "Some of what the IngressController asks for is not there: replicas, a load balancer, a name, or the canary fails.",
		Effect:  "Traffic may still be served, with less reserve.",
		Check: []string{
			"kubectl get ingresscontroller -n openshift-ingress-operator default -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.message}{\"\\n\"}{end}'",
			"kubectl get events -n openshift-ingress",
		},
		Repair:  "The message of the condition Degraded lists the conditions that cause it. Repair these.",
		Silence: "During an upgrade of nodes.",
		Fires:   one(constant(`ingress_controller_conditions{name="default",condition="Degraded"}`, "1")),
		Silent:  one(constant(`ingress_controller_conditions{name="default",condition="Degraded"}`, "0")),
	}, {
		Name: "FairleadRouterNotScraped", Severity: Ticket, For: "5m",
		Expr:    `up{job=~"router-internal-.+"} == 0`,
		Summary: "Prometheus cannot read {{ $labels.instance }}",
		Meaning: "The page of metrics does not answer. If only `/metrics/haproxy` fails, HAProxy does not run in that pod.",
		Effect:  "Alerts about this router are blind. If HAProxy is down, the pod serves nothing.",
		Check: []string{
			"kubectl get pods -n openshift-ingress -o wide",
			"kubectl logs -n openshift-ingress deployment/router-default -c haproxy --tail=50",
		},
		Repair:  "401 or 403 in the targets of Prometheus: bind its ServiceAccount to the ClusterRole router-monitoring. 502: the log of the container haproxy says why HAProxy does not start.",
		Silence: "While nodes restart.",
		Fires:   one(constant(`up{job="router-internal-default",metrics_path="/metrics/haproxy"}`, "0")),
		Silent:  []Series{constant(`up{job="router-internal-default",metrics_path="/metrics"}`, "1"), constant(`up{job="other"}`, "0")},
	}, {
		Name: "FairleadRouterReloadRefused", Severity: Ticket,
		Expr:    `increase(fairlead_router_reload_failures_total[15m]) > 0`,
		Summary: "HAProxy of {{ $labels.instance }} refused a new configuration",
		Meaning: "HAProxy did not take a configuration. The old process keeps serving.",
		Effect:  "The change that caused it is not live.",
		Check: []string{
			"kubectl get ingresscontroller -n openshift-ingress-operator default -o yaml",
			"kubectl logs -n openshift-ingress deployment/router-default -c router | grep -i refuse",
		},
		Repair:  "Condition SettingsApplied of the IngressController, or the status of a Route, quotes HAProxy. Change the field that is named there.",
		Silence: "Not needed: it ends by itself 15 minutes after the last refusal.",
		Fires:   one(growing(`fairlead_router_reload_failures_total{`+job+`}`, "1")),
		Silent:  one(constant(`fairlead_router_reload_failures_total{`+job+`}`, "7")),
	}, {
		Name: "FairleadRouterManyReloads", Severity: Ticket,
		Expr:    `sum by (job, instance) (increase(fairlead_router_reloads_total[1h])) > 20`,
		Summary: "HAProxy of {{ $labels.instance }} was reloaded more than 20 times in an hour",
		Meaning: "Each reload starts a new worker; the old one stays until its connections end. On HAProxy 3.4 no Route causes a reload; on 3.0 and 3.2 each new backend does.",
		Effect:  "Memory for old workers. When there are too many, the oldest ends with its connections.",
		Check: []string{
			"kubectl logs -n openshift-ingress deployment/router-default -c router | grep reloaded",
		},
		Repair:  "The reason of the reload is in the log and in the label `reason`. Use HAProxy 3.4, or find what changes the IngressController's settings all the time.",
		Silence: "While many Routes are created on HAProxy 3.0 or 3.2.",
		Fires:   one(growing(`fairlead_router_reloads_total{`+job+`,reason="settings"}`, "1")),
		Silent:  one(Series{`fairlead_router_reloads_total{` + job + `,reason="settings"}`, "0x60 10x59"}),
	}, {
		Name: "FairleadRouterSettingsNotApplied", Severity: Ticket, For: "5m",
		Expr:    `fairlead_router_settings_findings > 0`,
		Summary: "{{ $value }} settings of the IngressController of {{ $labels.instance }} are not applied",
		Meaning: "A field of the IngressController cannot be used as it is.",
		Effect:  "The default, or the value before, holds for that field. Protective settings close what they protect.",
		Check:   []string{"kubectl get ingresscontroller -n openshift-ingress-operator default -o jsonpath='{.status.conditions[?(@.type==\"SettingsApplied\")].message}'"},
		Repair:  "The message names the field, what is wrong, and what to write instead.",
		Silence: "No.",
		Fires:   one(constant(`fairlead_router_settings_findings{`+job+`}`, "2")),
		Silent:  one(constant(`fairlead_router_settings_findings{`+job+`}`, "0")),
	}, {
		Name: "FairleadRouterFilesStale", Severity: Ticket, For: "5m",
		Expr:    `fairlead_router_files_stale == 1`,
		Summary: "{{ $labels.instance }} cannot write the files that HAProxy starts from",
		Meaning: "The volume of the pod is full or cannot be written.",
		Effect:  "None for running traffic. A HAProxy that starts again serves by old files until the router has compared.",
		Check: []string{
			"kubectl exec -n openshift-ingress deployment/router-default -c router -- df -h /var/lib/haproxy",
			"kubectl logs -n openshift-ingress deployment/router-default -c router | grep -i write",
		},
		Repair:  "Free space on the node, or give the pods more ephemeral storage.",
		Silence: "No.",
		Fires:   one(constant(`fairlead_router_files_stale{`+job+`}`, "1")),
		Silent:  one(constant(`fairlead_router_files_stale{`+job+`}`, "0")),
	}, {
		Name: "FairleadRouterNoLeader", Severity: Ticket, For: "5m",
		Expr:    `sum by (job) (fairlead_router_leader) == 0`,
		Summary: "No replica of {{ $labels.job }} writes the status of Routes",
		Meaning: "No router holds the Lease, or those that hold it are not scraped.",
		Effect:  "Traffic is served; conditions and events of Routes are out of date.",
		Check: []string{
			"kubectl get leases -n openshift-ingress",
			"kubectl logs -n openshift-ingress deployment/router-default -c router | grep -i lease",
		},
		Repair:  "The log names what the API server refuses. If the ClusterRole of the routers was changed, apply config/rbac again.",
		Silence: "While the API server is down.",
		Fires:   one(constant(`fairlead_router_leader{`+job+`}`, "0")),
		Silent:  []Series{constant(`fairlead_router_leader{`+job+`,instance="a"}`, "0"), constant(`fairlead_router_leader{`+job+`,instance="b"}`, "1")},
	}}
}

func haproxy() []Alert {
	return []Alert{{
		Name: "FairleadRouterNearConnectionLimit", Severity: Page, For: "10m",
		Expr:    `haproxy_process_current_connections / haproxy_process_max_connections > 0.85`,
		Summary: "HAProxy of {{ $labels.instance }} uses {{ $value | humanizePercentage }} of its connections",
		Meaning: "Clients hold nearly as many connections as HAProxy takes.",
		Effect:  "At the limit, new connections wait, and clients see time-outs.",
		Check: []string{
			"kubectl get ingresscontroller -n openshift-ingress-operator default -o jsonpath='{.spec.tuningOptions}'",
			"kubectl top pods -n openshift-ingress",
		},
		Repair:  "Add replicas, or raise spec.tuningOptions.maxConnections of the IngressController with the memory for it. If few sources hold most connections, lower their limits.",
		Silence: "No.",
		Fires:   []Series{constant(`haproxy_process_current_connections{`+job+`}`, "18000"), constant(`haproxy_process_max_connections{`+job+`}`, "20000")},
		Silent:  []Series{constant(`haproxy_process_current_connections{`+job+`}`, "16000"), constant(`haproxy_process_max_connections{`+job+`}`, "20000")},
	}, {
		Name: "FairleadRouterErrors", Severity: Page, For: "10m",
		Expr: `sum by (job) (rate(haproxy_frontend_http_responses_total{code="5xx"}[5m]))
  / sum by (job) (rate(haproxy_frontend_http_responses_total[5m])) > 0.05`,
		Summary: "{{ $value | humanizePercentage }} of the answers of {{ $labels.job }} are errors",
		Meaning: "More than 5 % of all answers have a status of 500 or more, from pods or from the router itself.",
		Effect:  "Clients see errors.",
		Check: []string{
			"kubectl fairlead status",
			"kubectl fairlead explain https://HOST/PATH",
		},
		Repair:  "The dashboard Routes shows which Routes have errors. 503 of one Route: it has no ready pod. Errors of all Routes: look at the pods' network and at the nodes.",
		Silence: "No.",
		Fires:   []Series{growing(`haproxy_frontend_http_responses_total{`+job+`,proxy="public",code="5xx"}`, "10"), growing(`haproxy_frontend_http_responses_total{`+job+`,proxy="public",code="2xx"}`, "90")},
		Silent:  []Series{growing(`haproxy_frontend_http_responses_total{`+job+`,proxy="public",code="5xx"}`, "1"), growing(`haproxy_frontend_http_responses_total{`+job+`,proxy="public",code="2xx"}`, "99")},
	}, {
		Name: "FairleadRouterDrift", Severity: Ticket,
		Expr:    `increase(fairlead_router_drift_corrections_total[1h]) > 0`,
		Summary: "Another program changed HAProxy of {{ $labels.instance }}",
		Meaning: "HAProxy's state differed from what the router wants, and the router has put it right.",
		Effect:  "For up to 45 seconds HAProxy served by the other program's change.",
		Check:   []string{"kubectl logs -n openshift-ingress deployment/router-default -c router | grep -i drift"},
		Repair:  "Find who has access to the pod: `kubectl exec` into it, or a process with the runtime socket. The log names what was changed.",
		Silence: "While you change HAProxy by hand on purpose.",
		Fires:   one(growing(`fairlead_router_drift_corrections_total{`+job+`}`, "1")),
		Silent:  one(constant(`fairlead_router_drift_corrections_total{`+job+`}`, "3")),
	}, {
		Name: "FairleadChangesSlow", Severity: Ticket, For: "10m",
		Expr:    `histogram_quantile(0.99, sum by (job, instance, le) (rate(fairlead_router_change_to_live_seconds_bucket[10m]))) > 5`,
		Summary: "Changes take {{ $value | humanizeDuration }} until {{ $labels.instance }} serves them",
		Meaning: "One in a hundred changed Routes waits more than five seconds.",
		Effect:  "New pods get requests late, and removed ones for too long.",
		Check: []string{
			"kubectl top pods -n openshift-ingress",
			"kubectl logs -n openshift-ingress deployment/router-default -c router --tail=100",
		},
		Repair:  "If `fairlead_router_waiting_routes` is large, a namespace changes many Routes: it waits for itself. If the router has no processor time, give it more.",
		Silence: "During a migration of thousands of Routes.",
		Fires: []Series{
			growing(`fairlead_router_change_to_live_seconds_bucket{`+job+`,le="5"}`, "10"), growing(`fairlead_router_change_to_live_seconds_bucket{`+job+`,le="10"}`, "20"),
			growing(`fairlead_router_change_to_live_seconds_bucket{`+job+`,le="+Inf"}`, "20"),
		},
		Silent: []Series{
			growing(`fairlead_router_change_to_live_seconds_bucket{`+job+`,le="5"}`, "1000"), growing(`fairlead_router_change_to_live_seconds_bucket{`+job+`,le="10"}`, "1001"),
			growing(`fairlead_router_change_to_live_seconds_bucket{`+job+`,le="+Inf"}`, "1001"),
		},
	}}
}
