package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/ingress"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// source gives the pipeline the routes that the router's selectors match.
type source struct {
	*Objects
	snapshot *Snapshot
	routes   map[model.Object]*routev1.Route
	selected map[model.Object]bool
	// unselected says why this router does not serve a route.
	unselected map[model.Object]string
	// ingress names the Ingress that a route was made of.
	ingress map[model.Object]string
	// unreadable routes name a Secret that the user may not read.
	unreadable map[model.Object]string
	// policies and grants are those of each namespace, and policies of the cluster under "".
	policies map[string]*policy.Set
	grants   map[string][]*gatewayv1.ReferenceGrant
	// byLabels and byNamespace are the router's selectors.
	byLabels, byNamespace labels.Selector
	// ordered is what keys returns, nil if it is not known.
	ordered []model.Object
}

func newSource(s *Snapshot) *source {
	return &source{
		Objects: s.objects, snapshot: s, routes: map[model.Object]*routev1.Route{}, selected: map[model.Object]bool{},
		unselected: map[model.Object]string{}, ingress: map[model.Object]string{}, unreadable: map[model.Object]string{},
	}
}

// add takes a route in as the API server would store it. What is not changed is shared with
// the one that was given: of 10,000 routes, copies are several megabytes for each snapshot.
func (s *source) add(key model.Object, given *routev1.Route) {
	r := given
	if r.UID == "" || s.Offline || r.CreationTimestamp.IsZero() {
		own := *given
		r = &own
	}
	if r.UID == "" { // the pipeline knows an object by it
		r.UID = types.UID(fmt.Sprintf("manifest-%08d-%s", s.order[refOf(r)], r.Name))
	}
	if s.Offline || r.CreationTimestamp.IsZero() {
		s.complete(r)
	}
	// The router may read Secrets that the user may not: without them, the
	// rest of the route is explained.
	if t := r.Spec.TLS; t != nil && t.ExternalCertificate != nil {
		secret := model.Object{Kind: door.KindSecret, Namespace: r.Namespace, Name: t.ExternalCertificate.Name}
		if why := s.secretGap(secret); why != "" {
			s.unreadable[key] = fmt.Sprintf("Secret %s %s", secret, why)
			own, without := *r, *t
			without.ExternalCertificate = nil
			own.Spec.TLS, r = &without, &own
		}
	}
	if s.routes[key] == nil {
		s.ordered = nil
	}
	s.routes[key] = r
	if name := ingress.Owner(r); name != "" {
		s.ingress[key] = name
	}
}

// complete adds to a manifest what the API server adds. Manifests without age
// are younger than those with one, and among them the order counts.
func (s *source) complete(r *routev1.Route) {
	if r.CreationTimestamp.IsZero() {
		r.CreationTimestamp = metav1.NewTime(s.snapshot.options.Now)
	}
	domain := s.snapshot.settings.Domain
	if r.Spec.Host == "" && r.Spec.Subdomain == "" && r.Spec.WildcardPolicy != routev1.WildcardPolicySubdomain && domain != "" {
		r.Spec.Host = strings.ReplaceAll(r.Name, ".", "-") + "-" + r.Namespace + "." + domain
	}
}

// selectRoutes applies the router's selectors.
func (s *source) selectRoutes(ic *operatorv1.IngressController) error {
	var err error
	s.byLabels, s.byNamespace = labels.Everything(), labels.Everything()
	if ic != nil && ic.Spec.RouteSelector != nil {
		if s.byLabels, err = metav1.LabelSelectorAsSelector(ic.Spec.RouteSelector); err != nil {
			return fmt.Errorf("IngressController %s: spec.routeSelector: %w", ic.Name, err)
		}
	}
	if ic != nil && ic.Spec.NamespaceSelector != nil {
		if s.byNamespace, err = metav1.LabelSelectorAsSelector(ic.Spec.NamespaceSelector); err != nil {
			return fmt.Errorf("IngressController %s: spec.namespaceSelector: %w", ic.Name, err)
		}
	}
	for key, r := range s.routes {
		s.selectRoute(key, r)
	}
	return nil
}

// selectRoute applies the router's selectors to one route.
func (s *source) selectRoute(key model.Object, r *routev1.Route) {
	ns := s.Namespaces[key.Namespace]
	only := r.Annotations[api.AnnotationIngressController]
	switch {
	case only != "" && only != s.snapshot.options.Router:
		s.unselected[key] = fmt.Sprintf("only router %s may serve it", only)
	case !s.byLabels.Matches(labels.Set(r.Labels)):
		s.unselected[key] = fmt.Sprintf("router %s takes only routes with labels %s", s.snapshot.options.Router, s.byLabels)
	case s.byNamespace.Empty():
		s.selected[key] = true
	case ns == nil:
		s.snapshot.note("labels of namespace %s are not known; its routes are taken as selected by router %s", key.Namespace, s.snapshot.options.Router)
		s.selected[key] = true
	case !s.byNamespace.Matches(labels.Set(ns.Labels)):
		s.unselected[key] = fmt.Sprintf("router %s takes only routes of namespaces with labels %s", s.snapshot.options.Router, s.byNamespace)
	default:
		s.selected[key] = true
	}
}

// keys returns all routes, those that are not selected included, in order. The list is not to be changed.
func (s *source) keys() []model.Object {
	if s.ordered == nil {
		s.ordered = slices.SortedFunc(maps.Keys(s.routes), compareKeys)
	}
	return s.ordered
}

func compareKeys(a, b model.Object) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
}
