package route

import (
	"fmt"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// branch is a Service that gets some of the route's requests, with the endpoints that
// can serve them.
type branch struct {
	service   model.Object
	endpoints []backend.Endpoint
}

const effectOwnService = "the Route's own Service gets its requests"

// branches finds the endpoints of the canary's Services. A Service without any is left
// out, and what would go there goes to the route's own Service: a canary that cannot
// work takes nothing from what does.
func (b *builder) branches(spec *policy.Spec, p *model.Policy) []branch {
	k := p.Canary
	if k == nil || Closed(b.route) {
		p.Canary = nil
		return nil
	}
	var out []branch
	var kept []model.Branch
	numbers := make([]int, len(k.Branches)+1) // by the number in the policy
	for i := range spec.Groups.Canary.Services {
		s := &spec.Groups.Canary.Services[i]
		key := model.Object{Kind: door.KindService, Namespace: b.route.Namespace, Name: string(s.Name)}
		b.depend(key)
		endpoints := b.branchEndpoints(s, key, fmt.Sprintf("services[%d]", i))
		if len(endpoints) == 0 {
			continue
		}
		out, kept = append(out, branch{key, endpoints}), append(kept, k.Branches[i])
		numbers[i+1] = len(out)
	}
	var rules []model.CanaryRule
	for _, r := range k.Rules {
		own := r.To == 0
		if r.To = numbers[r.To]; own || r.To > 0 {
			rules = append(rules, r)
		}
	}
	if k.Branches, k.Rules = kept, rules; len(kept) == 0 {
		p.Canary = nil
	}
	return out
}

// canaryFinding reports what is wrong with a part of the group canary.
func (b *builder) canaryFinding(severity api.Severity, part string, reason api.Reason, message, effect string) {
	field := "metadata.annotations[" + policy.AnnotationCanary + "]"
	if from := b.result.Effective.Origin(policy.GroupCanary); from != nil && policy.IsKind(from.Key.Kind) {
		field, message = "", from.Title()+" "+from.Field(policy.GroupCanary)+"."+part+": "+message
	}
	b.find(severity, field, reason, message, effect)
}

// branchEndpoints returns the endpoints of a canary's Service at its port. The route's
// own port counts where the canary names none and the Service has it.
func (b *builder) branchEndpoints(s *v1alpha1.CanaryService, key model.Object, part string) []backend.Endpoint {
	service := b.src.Service(key)
	if service == nil {
		b.canaryFinding(api.SeverityWarning, part+".name", api.ReasonServiceNotFound, "Service "+key.Name+" does not exist", effectOwnService)
		return nil
	}
	all := service.Endpoints(b.src.Slices(key))
	if len(all) == 0 {
		b.canaryFinding(api.SeverityInfo, part+".name", api.ReasonNoEndpoints, "no endpoint of Service "+key.Name+" is ready", effectOwnService)
		return nil
	}
	if s.Port != nil {
		selected := backend.WithPort(all, s.Port.String())
		if len(selected) == 0 {
			b.canaryFinding(api.SeverityWarning, part+".port", api.ReasonPortNotFound, "no endpoint of Service "+key.Name+
				" has a port with the name or pod port number "+s.Port.String()+"; it has "+describePorts(all), effectOwnService)
		}
		return selected
	}
	if b.route.Spec.Port != nil {
		if selected := backend.WithPort(all, b.route.Spec.Port.TargetPort.String()); len(selected) > 0 {
			return selected
		}
	}
	names := backend.PortNames(all)
	if len(names) > 1 {
		b.canaryFinding(api.SeverityWarning, part+".port", api.ReasonAmbiguousPort, "Service "+key.Name+" has several ports, and neither the canary nor the Route names one of them", "port "+names[0]+" is used")
		return backend.WithPort(all, names[0])
	}
	return all
}

// checkedIn returns how many endpoints of branches are checked: a single one of a
// Service is not.
func checkedIn(branches []branch) (n int) {
	for i := range branches {
		if len(branches[i].endpoints) > 1 {
			n += len(branches[i].endpoints)
		}
	}
	return n
}

// split makes the backends of the branches, and names them in the policy.
func (b *builder) split(c *model.Claim, spec *policy.Spec, k *model.Canary, branches []branch) {
	if k == nil {
		return
	}
	for i := range branches {
		from := &branches[i]
		to := model.Backend{
			Kind: c.Backend.Kind, Owner: c.Owner, Rule: model.BranchRule(c.Rule, from.service.Name), CA: b.ca,
			Profile: c.Backend.Profile, Cookie: c.Backend.Cookie, Health: c.Backend.Health,
		}
		if to.Profile.Cookie {
			to.Cookie.Name += "_" + k.Branches[i].ID // as templates/canary.lua does
		}
		weight := backend.Weights([]int{1}, []int{len(from.endpoints)})[0]
		for _, e := range from.endpoints {
			to.Servers = append(to.Servers, b.server(c, spec, e, from.service, weight, len(from.endpoints) > 1 && !e.Idle))
		}
		sortServers(to.Servers)
		k.Branches[i].Backend = to.Name()
		c.Split = append(c.Split, model.Target{Backend: to})
	}
	if k.Cookie != nil {
		k.Cookie.Name = spec.CookieName(defaultCookieName(c.Owner)) + "_canary"
		k.Cookie.Secure = c.Termination != model.Plain && c.Insecure != model.InsecureAllow
	}
}
