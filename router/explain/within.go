package explain

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

const (
	// standInNamespace begins the names of namespaces that take the place of those that a user
	// may not see. No namespace can have the name.
	standInNamespace = "another_namespace"
	// HiddenNamespace is shown in place of them.
	HiddenNamespace = "another namespace"
	// notShown is why an object of such a namespace does not decide.
	notShown = "it is of a namespace that you may not see"
	// goesFirst is why a route does not decide where one of such a namespace does.
	goesFirst = "a route of a namespace that you may not see goes first"
)

// Within returns what a user may know of the snapshot who may see some namespaces only. It is
// decided from the objects of these namespaces and those that have none. What other
// namespaces claim of the same hosts still counts: by stand-ins, which are made of what
// decides about claims and have no other text of the objects. So no answer can show what is
// not there.
func (s *Snapshot) Within(seen func(namespace string) bool) (*Snapshot, error) {
	o := s.objects.within(seen)
	hosts := s.rivals(o.seen)
	s.standInRoutes(o, hosts.all)
	s.standInGateways(o)
	within, err := NewSnapshot(o, s.options)
	if err != nil {
		return nil, err
	}
	within.rivalsOf = hosts
	within.note("of namespaces whose Routes you may not list, nothing is shown: claims of the same hosts count, without names; their Services are taken as there")
	return within, nil
}

// within returns the objects of namespaces that are seen, and of none.
func (o *Objects) within(seen func(string) bool) *Objects {
	in := *o
	in.seen = func(namespace string) bool { return namespace == "" || seen(namespace) }
	in.Routes, in.Ingresses, in.Services, in.Secrets = ofSeen(o.Routes, seen), ofSeen(o.Ingresses, seen), ofSeen(o.Services, seen), ofSeen(o.Secrets, seen)
	in.Slices, in.Policies, in.Gateways = ofSeen(o.Slices, in.seen), ofSeen(o.Policies, in.seen), ofSeen(o.Gateways, in.seen)
	// What ClusterRoutePolicies name is in the namespace of the routers.
	in.ConfigMaps = ofSeen(o.ConfigMaps, func(n string) bool { return seen(n) || n == api.OperandNamespace })
	in.Namespaces = map[string]*corev1.Namespace{}
	for name, n := range o.Namespaces {
		if seen(name) {
			in.Namespaces[name] = n
		}
	}
	in.Gaps = slices.DeleteFunc(slices.Clone(o.Gaps), func(g Gap) bool { return !in.seen(g.Namespace) })
	in.Problems = slices.DeleteFunc(slices.Clone(o.Problems), func(p Problem) bool { return p.Object.Namespace == "" || !seen(p.Object.Namespace) })
	in.order = maps.Clone(o.order)
	return &in
}

func ofSeen[V any](all map[model.Object]V, seen func(string) bool) map[model.Object]V {
	in := map[model.Object]V{}
	for key, v := range all {
		if seen(key.Namespace) {
			in[key] = v
		}
	}
	return in
}

// hides reports whether an object is one of a namespace that the user may not see, or takes
// the place of one.
func (s *Snapshot) hides(key model.Object) bool { return s.hidesNamespace(key.Namespace) }

func (s *Snapshot) hidesNamespace(namespace string) bool {
	return s.objects.seen != nil && !s.objects.seen(namespace)
}

// lints reports whether findings about objects of a namespace are shown. What is of the whole
// cluster is the administrator's.
func (s *Snapshot) lints(namespace string) bool {
	return s.objects.seen == nil || namespace != "" && !s.hidesNamespace(namespace)
}

// blockedBy is how a finding names the host of another namespace that keeps a wildcard from being
// served.
var blockedBy = regexp.MustCompile(`holds host \S+, which blocks `)

// said is the message of a finding, without the host of a route that the user may not see.
func (s *Snapshot) said(message string) string {
	if s.objects.seen == nil {
		return message
	}
	return blockedBy.ReplaceAllString(message, "holds a host that blocks ")
}

// hidesAt reports whether something of such a namespace claims a host, or what covers it.
func (s *Snapshot) hidesAt(host string) bool {
	return s.objects.seen != nil && slices.ContainsFunc(s.about(host), s.hides)
}

// Namespaces are those that have anything that a page shows, in order: whether a user may see
// them is to be asked. The list is not to be changed.
func (s *Snapshot) Namespaces() []string {
	if s.list.namespaces != nil {
		return s.list.namespaces
	}
	all := map[string]struct{}{}
	for key := range s.source.routes {
		all[key.Namespace] = struct{}{}
	}
	for key := range s.objects.Ingresses {
		all[key.Namespace] = struct{}{}
	}
	for key := range s.objects.Gateways {
		all[key.Namespace] = struct{}{}
	}
	for key := range s.objects.Policies {
		all[key.Namespace] = struct{}{}
	}
	for key, service := range s.objects.Services {
		if service.Spec.Type == corev1.ServiceTypeLoadBalancer {
			all[key.Namespace] = struct{}{}
		}
	}
	delete(all, "")
	s.list.namespaces = slices.DeleteFunc(slices.Sorted(maps.Keys(all)), s.hidesNamespace)
	return s.list.namespaces
}

// rivals are hosts whose claims decide about what the routes of seen namespaces get.
type rivals struct {
	// own are the hosts of these routes, and all those and what covers them or what they cover.
	own, all map[string]struct{}
}

// has reports whether a claim for a host may be one that decides.
func (r rivals) has(host string) bool {
	_, rival := r.all[host]
	_, covered := r.own[match.Wildcard(host)]
	return rival || covered
}

// rivals are those of the routes of seen namespaces.
func (s *Snapshot) rivals(seen func(string) bool) rivals {
	own := map[string]struct{}{}
	for host, keys := range s.byHost {
		if slices.ContainsFunc(keys, func(k model.Object) bool { return seen(k.Namespace) }) {
			own[host] = struct{}{}
		}
	}
	hosts := maps.Clone(own)
	for host := range own {
		hosts[match.Wildcard(host)], hosts[match.Any] = struct{}{}, struct{}{}
	}
	for host := range s.byHost { // those that a wildcard covers
		if _, covered := own[match.Wildcard(host)]; covered {
			hosts[host] = struct{}{}
		}
	}
	return rivals{own, hosts}
}

// standInRoutes adds what other namespaces claim of the hosts of routes that are seen.
func (s *Snapshot) standInRoutes(o *Objects, hosts map[string]struct{}) {
	rivals := model.Objects{}
	for host := range hosts {
		for _, key := range s.byHost[host] {
			if !o.seen(key.Namespace) && s.source.selected[key] {
				rivals[key] = struct{}{}
			}
		}
	}
	names := map[string]string{}
	for _, key := range slices.SortedFunc(maps.Keys(rivals), compareKeys) {
		if names[key.Namespace] == "" {
			names[key.Namespace] = standInNamespace
			if n := len(names); n > 1 {
				names[key.Namespace] = fmt.Sprintf("%s_%d", standInNamespace, n)
			}
			o.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names[key.Namespace], Labels: s.namespaceLabels(key.Namespace)}})
		}
		all, _ := s.pipeline.Claims(key)
		for _, c := range all {
			if _, rival := hosts[c.Host]; rival {
				o.Add(s.standInRoute(c, names[key.Namespace], fmt.Sprintf("route_%d", len(o.Routes)+1)))
			}
		}
	}
}

// standInRoute claims what a claim does, by the same right, and has nothing else of its route.
func (s *Snapshot) standInRoute(c *model.Claim, namespace, name string) *routev1.Route {
	of := s.source.routes[c.Owner]
	r := &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: of.UID, CreationTimestamp: of.CreationTimestamp, Labels: s.routeLabels(of.Labels),
		},
		Spec: routev1.RouteSpec{Host: c.NamedHost, Path: of.Spec.Path, To: routev1.RouteTargetReference{Kind: "Service", Name: "service"}},
	}
	if how := of.Annotations[api.AnnotationPathType]; how != "" {
		r.Annotations = map[string]string{api.AnnotationPathType: how}
	}
	if wild(c) {
		r.Spec.WildcardPolicy = routev1.WildcardPolicySubdomain
	}
	if c.Termination != model.Plain {
		r.Spec.TLS = &routev1.TLSConfig{Termination: routev1.TLSTerminationType(c.Termination), InsecureEdgeTerminationPolicy: routev1.InsecureEdgeTerminationPolicyType(c.Insecure)}
	}
	return r
}

// namespaceLabels are those by which the router selects a namespace.
func (s *Snapshot) namespaceLabels(name string) map[string]string {
	n := s.objects.Namespaces[name]
	if n == nil || s.controller == nil {
		return nil
	}
	return selecting(s.controller.Spec.NamespaceSelector, n.Labels)
}

func (s *Snapshot) routeLabels(labels map[string]string) map[string]string {
	if s.controller == nil {
		return nil
	}
	return selecting(s.controller.Spec.RouteSelector, labels)
}

// selecting are the labels that a selector looks at.
func selecting(by *metav1.LabelSelector, labels map[string]string) map[string]string {
	if by == nil {
		return nil
	}
	of := map[string]string{}
	take := func(key string) {
		if value, there := labels[key]; there {
			of[key] = value
		}
	}
	for key := range by.MatchLabels {
		take(key)
	}
	for _, e := range by.MatchExpressions {
		take(e.Key)
	}
	return of
}

// concealed is what there is to say of a request that a route of a namespace decides which the
// user may not see.
func (s *Snapshot) concealed(e *Explanation, d decision, r *Request, c *model.Claim) *Explanation {
	e.Listener, e.Certificate, e.HTTP2 = d.listener(), nil, false
	info := hiddenInfo()
	e.Route = &info
	e.Result = Result{Text: "a route of a namespace that you may not see decides about this request"}
	e.Others = s.others(d, r, c)
	return e
}

// hiddenInfo takes the place of a route that the user may not see.
func hiddenInfo() RouteInfo { return RouteInfo{Namespace: HiddenNamespace, Hidden: true} }

// conceal puts one line in the place of all routes that the user may not see.
func conceal(others []Other) []Other {
	before := false
	return slices.DeleteFunc(others, func(o Other) bool {
		again := o.Route.Hidden && before
		before = before || o.Route.Hidden
		return again
	})
}
