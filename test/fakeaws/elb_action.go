package fakeaws

import (
	"cmp"
	"slices"
	"strconv"
)

// readAction reads the actions of a listener or a rule: one that ends the
// request. Those before it, which authenticate users, the fake does not have.
func readAction(list []form) (action, error) {
	if len(list) > 1 {
		return action{}, refuse("TooManyActions", "the fake knows no actions before the last one, not %d", len(list))
	}
	f := list[0]
	a := action{Type: f.get("Type"), TargetGroup: f.get("TargetGroupArn")}
	if a.TargetGroup != "" {
		a.TargetGroups, a.Weights = []string{a.TargetGroup}, []int{1}
	}
	if groups := f.elements("ForwardConfig.TargetGroups"); len(groups) > 0 {
		a.TargetGroups, a.Weights = nil, nil
		for _, e := range groups {
			weight, err := strconv.Atoi(cmp.Or(e.get("Weight"), "1"))
			if err != nil || weight < 0 || weight > 999 {
				return a, refuse("ValidationError", "Weight '%s' must be 0-999", e.get("Weight"))
			}
			a.TargetGroups, a.Weights = append(a.TargetGroups, e.get("TargetGroupArn")), append(a.Weights, weight)
		}
		a.TargetGroup = ""
		if len(a.TargetGroups) == 1 {
			a.TargetGroup = a.TargetGroups[0]
		}
	}
	switch a.Type {
	case "redirect":
		a.RedirectTo = map[string]string{}
		for _, k := range []string{"Protocol", "Port", "Host", "Path", "Query", "StatusCode"} {
			a.RedirectTo[k] = f.get("RedirectConfig." + k)
		}
	case "fixed-response":
		a.Fixed = map[string]string{}
		for _, k := range []string{"StatusCode", "ContentType", "MessageBody"} {
			a.Fixed[k] = f.get("FixedResponseConfig." + k)
		}
	}
	return a, nil
}

// checkAction checks an action of a listener of a protocol.
func checkAction(r *request, a action, protocol string, b *loadBalancer) error {
	switch {
	case a.Type == "redirect" && b.Type == "application":
		return checkRedirect(a.RedirectTo, protocol)
	case a.Type == "fixed-response" && b.Type == "application":
		if code := a.Fixed["StatusCode"]; len(code) != 3 || code[0] != '2' && code[0] != '4' && code[0] != '5' {
			return refuse("ValidationError", "StatusCode '%s' of a fixed response must be 2XX, 4XX or 5XX", code)
		}
		return nil
	case a.Type != "forward" || len(a.TargetGroups) == 0:
		return refuse("InvalidLoadBalancerAction", "a listener needs an action that this load balancer has")
	}
	for _, arn := range a.TargetGroups {
		g := r.state.TargetGroups[arn]
		if g == nil {
			return refuse("TargetGroupNotFound", "Target group '%s' not found", arn)
		}
		if users := r.state.usersOf(arn); len(users) > 0 && users[0] != b.ARN {
			return refuse("TargetGroupAssociationLimit", "The target group '%s' is in use by another load balancer", arn)
		}
		if g.AddressType == "ipv6" && b.AddressType != "dualstack" {
			return refuse("InvalidConfigurationRequest", "The target group '%s' has targets by IPv6, which a load balancer of type %s cannot reach", arn, b.AddressType)
		}
		fits := map[string][]string{"TCP": {"TCP"}, "TLS": {"TCP", "TLS"}, "UDP": {"UDP"}, "TCP_UDP": {"TCP_UDP"}, "HTTP": {"HTTP", "HTTPS"}, "HTTPS": {"HTTP", "HTTPS"}}
		if !slices.Contains(fits[protocol], g.Protocol) {
			return refuse("InvalidConfigurationRequest", "a %s listener cannot lead to a %s target group", protocol, g.Protocol)
		}
	}
	return nil
}

// checkRedirect refuses redirections that lead to where they come from: what is
// not said stays as in the request.
func checkRedirect(to map[string]string, protocol string) error {
	if code := to["StatusCode"]; code != "HTTP_301" && code != "HTTP_302" {
		return refuse("ValidationError", "StatusCode '%s' of a redirection must be HTTP_301 or HTTP_302", code)
	}
	stays := func(key, same string) bool { return to[key] == "" || to[key] == same }
	if (stays("Protocol", "#{protocol}") || to["Protocol"] == protocol) && stays("Port", "#{port}") && stays("Host", "#{host}") && stays("Path", "/#{path}") {
		return refuse("InvalidLoadBalancerAction", "The redirect configuration is not valid because it creates a loop")
	}
	return nil
}

type actionXML struct {
	Type                string
	TargetGroupArn      string       `xml:",omitempty"`
	ForwardConfig       *forwardXML  `xml:",omitempty"`
	RedirectConfig      *redirectXML `xml:",omitempty"`
	FixedResponseConfig *fixedXML    `xml:",omitempty"`
}

type forwardXML struct {
	TargetGroups []tupleXML `xml:"TargetGroups>member"`
}

type tupleXML struct {
	TargetGroupArn string
	Weight         int
}

type redirectXML struct{ Protocol, Port, Host, Path, Query, StatusCode string }

type fixedXML struct{ StatusCode, ContentType, MessageBody string }

// actionOf returns an action as an answer shows it.
func actionOf(a action) actionXML {
	x := actionXML{Type: a.Type, TargetGroupArn: a.TargetGroup}
	if a.Type == "forward" {
		x.ForwardConfig = &forwardXML{}
		for i, arn := range a.TargetGroups {
			x.ForwardConfig.TargetGroups = append(x.ForwardConfig.TargetGroups, tupleXML{arn, a.Weights[i]})
		}
	}
	if to := a.RedirectTo; to != nil {
		x.RedirectConfig = &redirectXML{to["Protocol"], to["Port"], to["Host"], to["Path"], to["Query"], to["StatusCode"]}
	}
	if f := a.Fixed; f != nil {
		x.FixedResponseConfig = &fixedXML{f["StatusCode"], f["ContentType"], f["MessageBody"]}
	}
	return x
}
