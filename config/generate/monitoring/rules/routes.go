package rules

func routes() []Alert {
	return []Alert{{
		Name: "FairleadRoutesRefused", Severity: Ticket, For: "15m",
		Expr:    `max by (job, reason) (fairlead_router_findings{severity="Error"}) > 0`,
		Summary: "{{ $value }} Routes of {{ $labels.job }} have the finding {{ $labels.reason }}",
		Meaning: "Routes cannot be served as they are written.",
		Effect:  "They are not served, their paths are closed, or their last good version keeps serving; the finding says which.",
		Check: []string{
			`kubectl get routes -A -o jsonpath='{range .items[?(@.status.ingress[0].conditions[0].status=="False")]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}'`,
			"kubectl fairlead why route/NAME -n NAMESPACE",
		},
		Repair:  "The [reference of reasons](../../routes/reasons.md) has cause and remedy of each. The owner of the Route must change it.",
		Silence: "For a reason, such as HostAlreadyClaimed, that owners know about.",
		Fires:   one(constant(`fairlead_router_findings{`+job+`,reason="HostAlreadyClaimed",severity="Error"}`, "2")),
		Silent:  []Series{constant(`fairlead_router_findings{`+job+`,reason="HostAlreadyClaimed",severity="Error"}`, "0"), constant(`fairlead_router_findings{`+job+`,reason="NoEndpoints",severity="Warning"}`, "2")},
	}, {
		Name: "FairleadRoutesOnLastGood", Severity: Ticket, For: "15m",
		Expr:    `max by (job) (fairlead_router_routes{state="last_good"}) > 0`,
		Summary: "{{ $value }} Routes of {{ $labels.job }} are served by an older version",
		Meaning: "The newest version of these Routes cannot be served, so the last good one keeps serving.",
		Effect:  "Changes of these Routes are not live.",
		Check: []string{
			`kubectl get routes -A -o jsonpath='{range .items[?(@.status.ingress[0].conditions[0].status=="False")]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}'`,
			"kubectl fairlead why route/NAME -n NAMESPACE",
		},
		Repair:  "The condition Admitted of each of them says what is wrong with the newest version.",
		Silence: "No.",
		Fires:   one(constant(`fairlead_router_routes{`+job+`,state="last_good"}`, "1")),
		Silent:  []Series{constant(`fairlead_router_routes{`+job+`,state="last_good"}`, "0"), constant(`fairlead_router_routes{`+job+`,state="served"}`, "9")},
	}, {
		Name: "FairleadPoliciesClosed", Severity: Page, For: "5m",
		Expr:    `max by (job, group) (fairlead_router_policies{state="closed"}) > 0`,
		Summary: "{{ $value }} policies of the group {{ $labels.group }} close paths",
		Meaning: "A policy that protects cannot be applied.",
		Effect:  "The paths that it protects answer 503.",
		Check: []string{
			"kubectl get routepolicies,clusterroutepolicies -A",
			"kubectl fairlead why routepolicy/NAME -n NAMESPACE",
		},
		Repair:  "The status of the policy names the field. Often a Secret or a server that it names is missing.",
		Silence: "No.",
		Fires:   one(constant(`fairlead_router_policies{`+job+`,group="authentication",state="closed"}`, "1")),
		Silent:  one(constant(`fairlead_router_policies{`+job+`,group="authentication",state="enforced"}`, "5")),
	}, {
		Name: "FairleadEndpointsSick", Severity: Ticket, For: "10m",
		Expr:    `fairlead_router_probe_targets_sick / fairlead_router_probe_targets > 0.5`,
		Summary: "{{ $value | humanizePercentage }} of the endpoints that {{ $labels.instance }} asks are not healthy",
		Meaning: "More than half of the endpoints with health checks fail them.",
		Effect:  "These endpoints get no requests, unless too few are left.",
		Check:   []string{"kubectl fairlead status", "kubectl get pods -A -o wide"},
		Repair:  "If all of a node fail, look at that node's network. If all of a Service fail, look at the path and status of its health check.",
		Silence: "No.",
		Fires:   []Series{constant(`fairlead_router_probe_targets_sick{`+job+`}`, "6"), constant(`fairlead_router_probe_targets{`+job+`}`, "10")},
		Silent:  []Series{constant(`fairlead_router_probe_targets_sick{`+job+`}`, "0"), constant(`fairlead_router_probe_targets{`+job+`}`, "0")},
	}}
}

func agent() []Alert {
	return []Alert{{
		Name: "FairleadAgentBehind", Severity: Page, For: "2m",
		Expr:    `fairlead_router_agent_behind == 1`,
		Summary: "The policy agent of {{ $labels.instance }} does not have the newest policies",
		Meaning: "The agent does not take what the router sends it, or does not run.",
		Effect:  "Requests that need a policy which the agent does not know get 503.",
		Check: []string{
			"kubectl logs -n openshift-ingress deployment/router-default -c agent --tail=50",
			"kubectl get pods -n openshift-ingress",
		},
		Repair:  "If the container agent ends again and again, its memory limit may be too small for the number of policies.",
		Silence: "No.",
		Fires:   one(constant(`fairlead_router_agent_behind{`+job+`}`, "1")),
		Silent:  one(constant(`fairlead_router_agent_behind{`+job+`}`, "0")),
	}, {
		Name: "FairleadAgentWorkerDown", Severity: Ticket, For: "5m",
		Expr:    `fairlead_agent_up == 0`,
		Summary: "Worker {{ $labels.worker }} of the policy agent of {{ $labels.instance }} does not answer",
		Meaning: "One of the two workers does not run. The other one decides alone.",
		Effect:  "None while the other worker runs; if both are down, requests that need the agent get 503.",
		Check:   []string{"kubectl logs -n openshift-ingress deployment/router-default -c agent --tail=50"},
		Repair:  "The log says why the worker ended. Delete the pod if it does not come back.",
		Silence: "No.",
		Fires:   []Series{constant(`fairlead_agent_up{`+job+`,worker="a"}`, "0"), constant(`fairlead_agent_up{`+job+`,worker="b"}`, "1")},
		Silent:  []Series{constant(`fairlead_agent_up{`+job+`,worker="a"}`, "1"), constant(`fairlead_agent_up{`+job+`,worker="b"}`, "1")},
	}, {
		Name: "FairleadAgentSheds", Severity: Ticket, For: "5m",
		Expr:    `sum by (job, instance) (rate(fairlead_agent_shed_total[5m])) > 0`,
		Summary: "The policy agent of {{ $labels.instance }} refuses requests, because it has too much work",
		Meaning: "More passwords or tokens are to be verified than the agent has processor time for.",
		Effect:  "Some requests get 503.",
		Check:   []string{"kubectl top pods -n openshift-ingress --containers"},
		Repair:  "Add replicas or processor time. Hashes of passwords with a high cost take most; a limit of requests on the login path keeps guessing clients out.",
		Silence: "No.",
		Fires:   one(growing(`fairlead_agent_shed_total{`+job+`,worker="a"}`, "5")),
		Silent:  one(constant(`fairlead_agent_shed_total{`+job+`,worker="a"}`, "5")),
	}}
}
