package kube

import (
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// selection says which routes belong to this router. It never changes after it
// has been made; new settings make a new one.
type selection struct {
	// router is the name of the IngressController.
	router string
	// routes is nil for all routes.
	routes labels.Selector
	// namespaces is nil for all namespaces.
	namespaces labels.Selector
	// gateways are the namespaces whose Gateways may name the router.
	gateways labels.Selector
	// known holds the namespaces.
	known *store[*policy.Namespace]
	// invalid selections select nothing, but nothing may be concluded from that.
	invalid bool
}

// newSelection reads the selectors of an IngressController, which may be nil.
func newSelection(router string, c *operatorv1.IngressController) (*selection, error) {
	s := &selection{router: router, gateways: labels.Nothing()}
	if c == nil {
		return s, nil
	}
	s.gateways, _ = gateway.PermittedNamespaces(c.Annotations) // settings say what is wrong with it
	var err error
	if c.Spec.RouteSelector != nil {
		if s.routes, err = metav1.LabelSelectorAsSelector(c.Spec.RouteSelector); err != nil {
			return nil, fmt.Errorf("read spec.routeSelector: %w", err)
		}
	}
	if c.Spec.NamespaceSelector != nil {
		if s.namespaces, err = metav1.LabelSelectorAsSelector(c.Spec.NamespaceSelector); err != nil {
			return nil, fmt.Errorf("read spec.namespaceSelector: %w", err)
		}
		// The empty selector needs no watch of namespaces.
		if s.namespaces.Empty() {
			s.namespaces = nil
		}
	}
	return s, nil
}

// selects reports whether the route belongs to this router. A nil selection,
// one that is not known yet, selects nothing.
func (s *selection) selects(r *routev1.Route) bool {
	if s == nil || s.invalid {
		return false
	}
	if only := r.Annotations[api.AnnotationIngressController]; only != "" && only != s.router {
		return false
	}
	if s.routes != nil && !s.routes.Matches(labels.Set(r.Labels)) {
		return false
	}
	if s.namespaces == nil {
		return true
	}
	return s.selectsNamespace(s.known.get(model.Object{Kind: kindNamespace, Name: r.Namespace}))
}

// permits reports whether Gateways of a namespace may name the router.
func (s *selection) permits(n *policy.Namespace) bool {
	return s != nil && s.gateways != nil && n != nil && s.gateways.Matches(labels.Set(n.Labels))
}

func (s *selection) selectsNamespace(n *policy.Namespace) bool {
	return n != nil && s.namespaces.Matches(labels.Set(n.Labels))
}

// excludes reports whether the route certainly does not belong to this router.
func (s *selection) excludes(r *routev1.Route) bool {
	return s != nil && !s.invalid && !s.selects(r)
}
