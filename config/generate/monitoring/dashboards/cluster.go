package dashboards

func addresses() Dashboard {
	return Dashboard{ID: "fairlead-addresses", Title: "Fairlead / Addresses", Rows: []Row{
		{"Pools", []Panel{
			one("Use of pools", "percentunit", "Addresses in use, as a share of the pool. An alert fires above 85 %.",
				`metallb_allocator_addresses_in_use_total{instance=~"$instance"} / metallb_allocator_addresses_total{instance=~"$instance"}`, "{{pool}}"),
			one("Free addresses", "short", "Addresses of the pool that no Service has.",
				`metallb_allocator_addresses_total{instance=~"$instance"} - metallb_allocator_addresses_in_use_total{instance=~"$instance"}`, "{{pool}}"),
			one("Stale configuration", "short", "1 if an object is not used as it is written.", `metallb_k8s_client_config_stale_bool{instance=~"$instance"}`, "{{instance}}"),
		}},
		{"Announcements", []Panel{
			one("Announced addresses", "short", "Addresses that each node announces, by protocol.", `count by (node, protocol) (metallb_speaker_announced{instance=~"$instance"})`, "{{node}} {{protocol}}"),
			one("Speakers", "short", "Speakers that each one reaches, itself included.", `fairlead_lb_members{instance=~"$instance"}`, "{{instance}}"),
			one("Takeovers", "short", "How often a node took an address over in the last hour.", `sum by (instance) (increase(fairlead_lb_l2_owner_changes_total{instance=~"$instance"}[1h]))`, "{{instance}}"),
			one("Conflicts", "short", "Frames in the last hour by which another host claimed an address.", `sum by (ip) (increase(fairlead_lb_l2_conflicts_total{instance=~"$instance"}[1h]))`, "{{ip}}"),
			one("ARP and NDP", "ops", "Requests that were answered.", `sum by (instance) (rate(metallb_layer2_responses_sent{instance=~"$instance"}[$__rate_interval]))`, "{{instance}}"),
			{Title: "Failover", Unit: "s", Description: "Time from when a node was found dead until an address of its was announced here.", Queries: quantiles("fairlead_lb_failover_duration_seconds", "", "")},
		}},
		{"BGP", []Panel{
			one("Sessions", "short", "1 for each session that is established.", `metallb_bgp_session_up{instance=~"$instance"}`, "{{instance}} {{peer}}"),
			one("Prefixes", "short", "Prefixes announced to each router.", `metallb_bgp_announced_prefixes_total{instance=~"$instance"}`, "{{instance}} {{peer}}"),
			one("BFD sessions", "short", "1 for each BFD session that is up.", `metallb_bfd_session_up{instance=~"$instance"}`, "{{instance}} {{peer}}"),
		}},
	}}
}

func operator() Dashboard {
	return Dashboard{ID: "fairlead-operator", Title: "Fairlead / Operator", Rows: []Row{
		{"IngressControllers", []Panel{
			one("Conditions", "short", "1 for each condition that is True.", `ingress_controller_conditions{instance=~"$instance"}`, "{{name}} {{condition}}"),
			one("Versions", "short", "Programs by version.", `count by (program, version) (fairlead_build_info{instance=~"$instance"})`, "{{program}} {{version}}"),
			one("Canary", "short", "1 while the canary answers through the routers.", `ingress_canary_route_reachable{instance=~"$instance"}`, "{{host}}"),
		}},
		{"Work", []Panel{
			one("Changes of Services and pools", "ops", "Changes that were looked at, and that failed.", `rate(metallb_k8s_client_updates_total{instance=~"$instance"}[$__rate_interval])`, "{{instance}}"),
			one("Names", "short", "1 for each DNSRecord that is published.", `fairlead_dns_published{instance=~"$instance"}`, "{{namespace}}/{{name}} {{zone}}"),
			one("Memory", "bytes", "Memory of the programs.", `process_resident_memory_bytes{instance=~"$instance"}`, "{{job}} {{instance}}"),
		}},
		{"Clouds", []Panel{
			one("Calls", "ops", "Calls of the cloud's API, by result.", `sum by (service, code) (rate(fairlead_cloud_api_calls_total{instance=~"$instance"}[$__rate_interval]))`, "{{service}} {{code}}"),
			{Title: "Time of calls", Unit: "s", Description: "How long calls of the cloud's API took.", Queries: quantiles("fairlead_cloud_api_request_duration_seconds", "service", " {{service}}")},
			one("Targets", "short", "Targets of load balancers, by what the cloud says of them.", `sum by (service, state) (fairlead_cloud_targets{instance=~"$instance"})`, "{{service}} {{state}}"),
		}},
	}}
}
