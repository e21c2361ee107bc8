package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
)

// maxTargets bounds what is asked from this machine.
const maxTargets = 8

// Schemes of probes.
const (
	plain  = "http"
	secure = "https"
)

// Target is a request to be made to a router's address.
type Target struct {
	Router string
	Scheme string
	// Address is host:port; Host is the host of the request, and the server name.
	Address, Host string
	// Canary says that Host is the canary's, so that only 200 is right.
	Canary bool
}

// Targets returns the requests to make, for each address of each IngressController that
// clients outside of the cluster reach.
func (s *Snapshot) Targets() []Target {
	var all []Target
	for i := range s.Controllers {
		ic := &s.Controllers[i]
		host, canary := s.canaryHost(ic.Name)
		if host == "" {
			host = anyHost + "." + cmp.Or(ic.Status.Domain, "invalid")
		}
		ips, ports := s.reachable(ic)
		for _, ip := range ips {
			for _, scheme := range []string{plain, secure} {
				if len(all) < maxTargets {
					all = append(all, Target{ic.Name, scheme, hostPort(ip, ports[scheme]), host, canary})
				}
			}
		}
	}
	return all
}

func hostPort(host string, port int32) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}

// reachable returns where clients reach the routers.
func (s *Snapshot) reachable(ic *operatorv1.IngressController) (ips []string, ports map[string]int32) {
	ports = map[string]int32{plain: 80, secure: 443}
	strategy := ic.Status.EndpointPublishingStrategy
	if strategy == nil {
		return nil, ports
	}
	switch strategy.Type {
	case operatorv1.LoadBalancerServiceStrategyType:
		for _, a := range s.addressesOf(ic.Name) {
			ips = append(ips, a.String())
		}
		if v := s.service(ic.Name); len(ips) == 0 && v != nil && hostname(v) != "" {
			ips = []string{hostname(v)}
		}
	case operatorv1.HostNetworkStrategyType:
		if h := strategy.HostNetwork; h != nil {
			ports[plain], ports[secure] = cmp.Or(h.HTTPPort, 80), cmp.Or(h.HTTPSPort, 443)
		}
		for _, p := range s.podsOf(ic.Name) {
			if ready(&p) && p.Status.HostIP != "" && !slices.Contains(ips, p.Status.HostIP) {
				ips = append(ips, p.Status.HostIP)
			}
		}
	case operatorv1.NodePortServiceStrategyType, operatorv1.PrivateStrategyType:
		// Another load balancer, or programs of the cluster, are the clients.
	}
	return ips, ports
}

// canaryHost returns the host of the canary's Route if routers serve it.
func (s *Snapshot) canaryHost(ic string) (host string, canary bool) {
	for i := range s.Routes {
		r := &s.Routes[i]
		if r.Namespace != api.CanaryNamespace || r.Name != "canary" || !slices.Contains(s.admitted(r), ic) {
			continue
		}
		return hostOf(r), hostOf(r) != ""
	}
	return "", false
}

func reach() []Rule {
	needs := []Source{SourceControllers, SourceServices, SourceProbes}
	return []Rule{
		{ID: "FL601", Title: "The canary fails", State: Fail, Remedy: "kubectl -n " + api.OperatorNamespace + " describe ingresscontroller default", Needs: []Source{SourceControllers}, Judge: canaryFails},
		{ID: "FL602", Title: "Plain HTTP is not answered", State: Fail, Remedy: "see from a machine of the clients' network: curl -v http://ADDRESS/", Needs: needs, Judge: func(s *Snapshot) []Finding { return s.unanswered(plain) }},
		{ID: "FL603", Title: "HTTPS is not answered", State: Fail, Remedy: "see from a machine of the clients' network: curl -vk https://ADDRESS/", Needs: needs, Judge: func(s *Snapshot) []Finding { return s.unanswered(secure) }},
		{ID: "FL604", Title: "The canary's page is not what an address answers", State: Fail, Remedy: "kubectl fairlead explain https://HOST/", Needs: needs, Judge: wrongAnswer},
		{ID: "FL605", Title: "An address answers slowly", State: Warn, Remedy: "look at the load of the routers: kubectl -n " + api.OperandNamespace + " top pods", Needs: needs, Judge: slowAnswer},
	}
}

func canaryFails(s *Snapshot) []Finding {
	return s.conditions("CanaryChecksSucceeding", operatorv1.ConditionFalse)
}

// unanswered are the probes without an answer. If the canary, which the operator asks
// from within the cluster, has its answers, this machine may only be on another network.
func (s *Snapshot) unanswered(scheme string) []Finding {
	var all []Finding
	for i := range s.Probes {
		p := &s.Probes[i]
		if p.Scheme != scheme || p.Error == "" {
			continue
		}
		f := Finding{
			Object:  "ingresscontroller/" + api.OperatorNamespace + "/" + p.Router,
			Summary: fmt.Sprintf("router %s: %s://%s gives no answer to this machine: %s", p.Router, p.Scheme, p.Address, p.Error),
		}
		if s.canarySucceeds(p.Router) {
			f.State = Warn
			f.Summary += "; the canary gets its answers within the cluster, so this machine may be on another network (--probe none leaves this out)"
		}
		all = append(all, f)
	}
	return all
}

func (s *Snapshot) canarySucceeds(ic string) bool {
	for i := range s.Controllers {
		if s.Controllers[i].Name == ic {
			c := condition(&s.Controllers[i], "CanaryChecksSucceeding")
			return c != nil && c.Status == operatorv1.ConditionTrue
		}
	}
	return false
}

func wrongAnswer(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Probes {
		p := &s.Probes[i]
		// Plain HTTP is redirected.
		right := p.Status == 200 || p.Scheme == plain && p.Status >= 300 && p.Status < 400
		if !p.Canary || p.Error != "" || right {
			continue
		}
		all = append(all, Finding{
			Object:  "ingresscontroller/" + api.OperatorNamespace + "/" + p.Router,
			Summary: fmt.Sprintf("router %s: %s://%s answers %d for the canary's host %s", p.Router, p.Scheme, p.Address, p.Status, p.Host),
			Remedy:  "kubectl fairlead explain " + p.Scheme + "://" + p.Host + "/",
		})
	}
	return all
}

// slow is far more than a request within a network takes.
const slow = 2 * time.Second

func slowAnswer(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Probes {
		if p := &s.Probes[i]; p.Error == "" && p.Took > slow {
			all = append(all, Finding{
				Object:  "ingresscontroller/" + api.OperatorNamespace + "/" + p.Router,
				Summary: fmt.Sprintf("router %s: %s://%s took %s to answer", p.Router, p.Scheme, p.Address, p.Took.Round(10*time.Millisecond)),
			})
		}
	}
	return all
}
