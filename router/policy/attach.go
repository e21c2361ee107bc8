package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Place is what policies find an object by.
type Place struct {
	Object model.Object
	// Ingress is the name of the Ingress that the object is made of, or empty.
	Ingress string
	// Services are those that the object sends requests to.
	Services []string
	// Labels and Annotations are those of the object, IngressLabels are those of that Ingress.
	Labels, Annotations, IngressLabels map[string]string
	// Named is the RoutePolicy that the object names itself, or empty.
	Named string
	// Namespace is the object's, or nil if it is not known.
	Namespace *Namespace
	// Host is as in model.Claim; empty if it is not known. Hosts takes its place for an object
	// with several.
	Host  string
	Hosts []string
	// Part is nil for an object without parts that policies can name, but for hosts.
	Part *Part
	// Router is the name of the router's IngressController.
	Router string
}

// Part is a part of an object that policies may name by sectionName: a rule of a route.
type Part struct {
	// Whole stands for each part; else Name is that of one, or empty for one that policies
	// cannot name.
	Whole bool
	Name  string
	// All are the names of all parts of the object.
	All []string
}

func (p *Part) is(section string) bool { return p.Whole || p.Name == section }

// RankFor returns the rank with which the policy applies to an object, and false if
// it does not.
func (o *Object) RankFor(p *Place) (Rank, bool) {
	if o.cluster != nil {
		return o.cluster.rank(p)
	}
	if o.Key.Namespace != p.Object.Namespace {
		return 0, false
	}
	rank := o.rankByRefs(p)
	if rank == RankSection {
		return rank, true
	}
	if rank != RankObject && p.Named == o.Key.Name {
		rank = RankObject
	}
	switch s := o.selector; {
	case rank != 0 || len(o.refs) > 0:
	case s == nil:
		rank = RankNamespace
	case s.Kind == "Ingress" && p.Ingress != "" && selects(s.MatchLabels, p.IngressLabels),
		s.Kind == string(p.Object.Kind) && selects(s.MatchLabels, p.Labels):
		rank = RankObject
	}
	if rank == 0 && p.Namespace.names(o.Key.Name) {
		rank = RankNamespace
	}
	return rank, rank != 0
}

// rankByRefs returns the rank with which the policy names an object, and 0 if it does not.
// Those for Gateways are AddGateway's.
func (o *Object) rankByRefs(p *Place) (rank Rank) {
	for i := range o.refs {
		switch r := rankOfRef(&o.refs[i], p); {
		case r == RankSection:
			return r
		case r == RankObject, r == RankService && rank == 0:
			rank = r
		}
	}
	return rank
}

func rankOfRef(ref *v1alpha1.TargetRef, p *Place) Rank {
	object := ref.Kind == string(p.Object.Kind) && ref.Name == p.Object.Name
	ofIngress := ref.Kind == "Ingress" && p.Ingress != "" && ref.Name == p.Ingress
	switch {
	case ref.Kind == string(KindGateway):
		return 0
	case object && p.Part != nil && ref.SectionName != "":
		if !p.Part.is(ref.SectionName) {
			return 0
		}
		return RankSection
	case ofIngress && ref.SectionName != "":
		if ref.SectionName != p.Host {
			return 0
		}
		return RankSection
	case ofIngress || object:
		return RankObject
	case ref.Kind == string(KindService) && slices.Contains(p.Services, ref.Name):
		return RankService
	}
	return 0
}

// selects reports whether an object has all labels. None would be all objects,
// which is written in another way.
func selects(wanted, labels map[string]string) bool {
	for k, v := range wanted {
		if has, ok := labels[k]; !ok || has != v {
			return false
		}
	}
	return len(wanted) > 0
}

func (c *clusterTargets) rank(p *Place) (Rank, bool) {
	in := func(list []string, item string) bool { return len(list) == 0 || slices.Contains(list, item) }
	if !in(c.controllers, p.Router) || !in(c.namespaces, p.Object.Namespace) || len(c.hosts) > 0 && !slices.ContainsFunc(c.hosts, p.answersFor) {
		return 0, false
	}
	if selected, _ := c.selects(p.Namespace); !selected {
		return 0, false
	}
	if c.override {
		return RankOverride, true
	}
	return RankDefault, true
}

// answersFor reports whether an object can answer for a name that a pattern means.
func (p *Place) answersFor(pattern string) bool {
	if len(p.Hosts) == 0 {
		return meet(pattern, p.Host)
	}
	return slices.ContainsFunc(p.Hosts, func(host string) bool { return meet(pattern, host) })
}

// meet reports whether some name can be meant by a pattern ("*.domain" is all names
// below it) and answered by an object of that host. An object for a wildcard host,
// or any, answers for many: if a policy is for one of them, it holds for all.
func meet(pattern, host string) bool {
	if host == "" || host == match.Any {
		return true // it may be any
	}
	domain, below := strings.CutPrefix(pattern, "*.")
	parent, wildcard := strings.CutPrefix(host, "*.")
	switch {
	case below && wildcard: // "*.parent" answers for one label more than the parent
		return parent == domain || strings.HasSuffix(parent, "."+domain)
	case below:
		return strings.HasSuffix(host, "."+domain)
	case wildcard:
		_, rest, _ := strings.Cut(pattern, ".")
		return rest == parent
	}
	return pattern == host
}

// maxPolicies is how many policies of a namespace apply, and of the cluster: the
// oldest ones.
const maxPolicies = 500

// Set are the policies of a namespace, or those of the cluster. It is never changed.
type Set struct {
	// all are the oldest first.
	all    []*Object
	byName map[string]*Object
}

// NewSet returns the set of some policies.
func NewSet(all []*Object) *Set {
	s := &Set{all: slices.Clone(all), byName: make(map[string]*Object, len(all))}
	slices.SortFunc(s.all, func(a, b *Object) int { return older(a.source(0), b.source(0)) })
	for _, o := range s.all {
		s.byName[o.Key.Name] = o
	}
	return s
}

// All returns the policies, the oldest first. Callers must not change them.
func (s *Set) All() []*Object {
	if s == nil {
		return nil
	}
	return s.all
}

// Get returns a policy, or nil.
func (s *Set) Get(name string) *Object {
	if s == nil {
		return nil
	}
	return s.byName[name]
}

// Exceeds reports whether a policy is one too many.
func (s *Set) Exceeds(o *Object) bool {
	return len(s.All()) > maxPolicies && slices.Index(s.all, o) >= maxPolicies
}

// Crowded reports whether a change of one policy may decide whether others apply.
func (s *Set) Crowded() bool { return len(s.All()) >= maxPolicies }

// Selection is what applies to one object.
type Selection struct {
	Sources []*Source
	// Depends are the policies whose change concerns the object, a missing one
	// included that it names.
	Depends []model.Object
	// guards are what tenants may do for the object.
	guards []*v1alpha1.Guard
	// closings are those of policies that protect and cannot be found or used, unapplied
	// are what protects nothing and cannot be used.
	closings, unapplied []Closing
	// services are those that were taken in.
	services []model.Object
}

// Empty reports whether nothing but its own annotations is for the object.
func (s *Selection) Empty() bool {
	return len(s.Depends)+len(s.Sources)+len(s.closings)+len(s.unapplied) == 0
}

// Select returns what applies to an object, of the policies of its namespace and of
// the cluster.
func Select(p *Place, namespace, cluster *Set) *Selection {
	s := &Selection{}
	for _, set := range []*Set{namespace, cluster} {
		for i, o := range set.All() {
			rank, applies := o.RankFor(p)
			if !applies {
				continue
			}
			s.Depends = append(s.Depends, o.Key)
			s.addGuard(o, p)
			s.add(o, rank, i)
		}
	}
	if p.Named != "" && namespace.Get(p.Named) == nil {
		s.addMissing(p, p.Object, api.AnnotationPolicy, p.Named)
	}
	s.addNamespace(p, namespace)
	s.addMisnamed(p, namespace)
	return s
}

// add takes in a policy that is the nth of its set.
func (s *Selection) add(o *Object, rank Rank, n int) {
	if n < maxPolicies {
		s.Sources = append(s.Sources, o.source(rank))
	} else if o.Protects() {
		s.closings = append(s.closings, Closing{
			Key: o.Key, Reason: api.ReasonLimitExceeded,
			Message: Title(o.Key) + fmt.Sprintf(" protects the object and is not applied, because only the oldest %d policies are", maxPolicies),
		})
	}
}

// Effective merges what is selected with the annotations of the object, which may be
// nil.
func (s *Selection) Effective(annotations *Source) *Effective {
	sources := s.Sources
	if annotations != nil {
		sources = append(slices.Clip(sources), annotations)
	}
	e := Merge(sources)
	e.check()
	s.bound(e)
	e.Closings = append(e.Closings, s.closings...)
	e.Unapplied = append(e.Unapplied, s.unapplied...)
	return e
}

// Names returns the objects that the policy names, and whether it is for no others
// and each has a kind that routers know objects by.
func (o *Object) Names(known func(model.Kind) bool) (names []model.Object, all bool) {
	for _, r := range o.refs {
		if !known(model.Kind(r.Kind)) {
			return nil, false
		}
		names = append(names, model.Object{Kind: model.Kind(r.Kind), Namespace: o.Key.Namespace, Name: r.Name})
	}
	return names, len(names) > 0
}
