// Package portal is a front door that only tests have: it shows what a further kind
// of object takes. A Portal has any number of rules, each with a host, a path and a
// Service.
package portal

import (
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Kind is that of Portals.
const Kind model.Kind = "Portal"

// Portal leads some hosts and paths to Services of its namespace.
type Portal struct {
	metav1.ObjectMeta

	Rules []Rule
	// Listeners are those of Gateways, whose scopes rules name.
	Listeners []model.Listener
}

// Rule is one host and path, perhaps with conditions. Its name is unique in the Portal.
type Rule struct {
	Name, Host, Path, Service string
	Exact                     bool
	Conditions                *model.Conditions
	// Scope is that of a listener, or empty. In one Answer stands in the place of a Service.
	Scope  model.ScopeID
	Answer uint16
	// Deny are clients that are refused, and Prefix replaces that of the path, if it is not empty.
	Deny   []netip.Prefix
	Prefix string
}

// Door is the front door of Portals.
type Door struct{}

var _ door.Door = Door{}

// Kind implements door.Door.
func (Door) Kind() model.Kind { return Kind }

// Ref implements door.Door.
func (Door) Ref(o model.Object) api.ObjectRef {
	return api.ObjectRef{Group: "test.fairlead.dev", Kind: string(Kind), Namespace: o.Namespace, Name: o.Name}
}

// Ingest implements door.Door. A Portal with a rule without a Service is refused as
// a whole.
func (d Door) Ingest(v door.Version, src door.Source, _ door.Settings, _ door.Past) *door.Result {
	p, ok := v.(*Portal)
	if !ok {
		return &door.Result{}
	}
	o := model.Object{Kind: Kind, Namespace: p.Namespace, Name: p.Name}
	res := &door.Result{Object: o, UID: string(p.UID), Listeners: p.Listeners}
	for _, rule := range p.Rules {
		if rule.Service == "" && rule.Answer == 0 {
			res.Claims, res.Listeners = nil, nil
			res.Findings = append(res.Findings, api.Finding{
				Object: d.Ref(o), Field: "rules", Reason: api.ReasonInvalidField, Severity: api.SeverityError,
				Message: "rule " + rule.Name + " names no Service", Effect: "the portal is not served",
			})
			return res
		}
		service := model.Object{Kind: door.KindService, Namespace: p.Namespace, Name: rule.Service}
		res.Depends = append(res.Depends, service)
		res.Claims = append(res.Claims, claim(p, o, rule, endpoints(src, service)))
	}
	return res
}

func claim(p *Portal, o model.Object, rule Rule, endpoints []backend.Endpoint) *model.Claim {
	c := &model.Claim{
		Owner: o, Rule: rule.Name, UID: string(p.UID), Created: p.CreationTimestamp.Time, Version: p.ResourceVersion,
		Host: rule.Host, NamedHost: rule.Host, Match: model.Match{Path: rule.Path, Exact: rule.Exact, Conditions: rule.Conditions},
		Backend: model.Backend{Kind: model.KindHTTP, Owner: o, Rule: rule.Name, Profile: model.Profile{Balance: model.Random}},
		Answer:  rule.Answer,
	}
	if len(rule.Deny) > 0 || rule.Prefix != "" {
		p := &model.Policy{Deny: rule.Deny}
		if rule.Prefix != "" {
			p.Rewrite = &model.Rewrite{Strip: len(rule.Path), To: rule.Prefix, Empty: rule.Prefix}
		}
		c.Backend.Asks = p
	}
	if rule.Scope != "" {
		c.Host = model.ScopedHost(rule.Scope, rule.Host)
	}
	weight := backend.Weights([]int{1}, []int{len(endpoints)})[0]
	for _, e := range endpoints {
		c.Backend.Servers = append(c.Backend.Servers, model.Server{ID: e.ID, Address: e.Address, Weight: weight})
	}
	slices.SortFunc(c.Backend.Servers, func(a, b model.Server) int { return strings.Compare(a.ID, b.ID) })
	return c
}

func endpoints(src door.Source, service model.Object) []backend.Endpoint {
	if s := src.Service(service); s != nil {
		return s.Endpoints(src.Slices(service))
	}
	return nil
}

// Continues implements door.Door.
func (Door) Continues(_, _ door.Version) bool { return true }

// Place implements door.Door: no policy is for a Portal.
func (Door) Place(door.Version, door.Settings) *policy.Place { return &policy.Place{} }

// Covers implements door.Door: no Portal forbids anything.
func (Door) Covers(_, _ door.Version, _ door.Source, _ door.Settings) bool { return true }

// Guarded implements door.Door.
func (Door) Guarded(door.Version, door.Source, door.Settings) bool { return false }

// Content implements door.Door.
func (Door) Content(v door.Version) any {
	if p, ok := v.(*Portal); ok {
		return []any{p.Rules, p.Listeners}
	}
	return nil
}

// Decode implements door.Door.
func (Door) Decode(text []byte) (door.Version, error) {
	p := &Portal{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, errors.Join(errors.New("read the Portal"), err)
	}
	return p, nil
}

// DeepCopy returns a copy that shares nothing with p.
func (p *Portal) DeepCopy() *Portal {
	return &Portal{ObjectMeta: *p.ObjectMeta.DeepCopy(), Rules: slices.Clone(p.Rules), Listeners: slices.Clone(p.Listeners)}
}
