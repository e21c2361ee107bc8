package explain

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// servesGatewayObject reports whether an object is of, or names, a Gateway of this router.
func (s *Snapshot) servesGatewayObject(o metav1.Object) bool {
	switch v := o.(type) {
	case *gatewayv1.Gateway:
		return s.servesGateway(v)
	case *gatewayv1.ListenerSet:
		return s.servesSet(v)
	case *gatewayv1.BackendTLSPolicy:
		return true
	}
	return slices.ContainsFunc(parentsOf(o), func(r gatewayv1.ParentReference) bool {
		key, ok := gateway.Parent(&r, o.GetNamespace())
		if !ok {
			return false
		}
		parent := s.objects.Gateways[key]
		if set, ok := parent.(*gatewayv1.ListenerSet); ok {
			return s.servesSet(set)
		}
		of, ok := parent.(*gatewayv1.Gateway)
		return ok && s.servesGateway(of)
	})
}

func (s *Snapshot) servesGateway(g *gatewayv1.Gateway) bool {
	return s.unserved(g) == ""
}

// unserved says why a Gateway is not this router's, empty if it is.
func (s *Snapshot) unserved(g *gatewayv1.Gateway) string {
	router, why := s.routerOfClass(string(g.Spec.GatewayClassName))
	if why != "" {
		return why
	}
	if gatewayapi.HasParameters(g) {
		named, err := gatewayapi.Parameters(g)
		if err != nil {
			return err.Error()
		}
		if named == s.options.Router && named != router && !s.permitsGateways(g.Namespace) {
			return "IngressController " + named + " does not permit Gateways of namespace " + g.Namespace + "; have its administrator give it the annotation " + gatewayapi.AnnotationGatewayNamespaces + ", a label selector of the namespace"
		}
		router = named
	}
	if router != s.options.Router {
		return "it is served by router " + router + ": ask that one with --router " + router
	}
	return ""
}

// permitsGateways reports whether Gateways of a namespace may name the router. Manifests of an application
// seldom have the IngressController or the namespace's labels.
func (s *Snapshot) permitsGateways(namespace string) bool {
	n := s.source.Namespace(namespace)
	if s.controller == nil || n == nil {
		return !s.objects.Complete
	}
	of, _ := gatewayapi.PermittedNamespaces(s.controller.Annotations)
	return of.Matches(labels.Set(n.Labels))
}

// routerOfClass returns the router of a class, or why it has none. Manifests seldom have the
// class: one that is not known is taken as this router's.
func (s *Snapshot) routerOfClass(name string) (router, why string) {
	class, ok := s.objects.Gateways[model.Object{Kind: "GatewayClass", Name: name}].(*gatewayv1.GatewayClass)
	switch {
	case ok && class.Spec.ControllerName != gatewayapi.ControllerName:
		return "", "GatewayClass " + name + " is of the controller " + string(class.Spec.ControllerName)
	case ok:
		router, err := gatewayapi.IngressController(class)
		if err != nil {
			return "", "GatewayClass " + name + ": " + err.Error()
		}
		return router, ""
	case s.objects.Offline && !s.objects.Complete || !s.objects.readable("GatewayClass", ""):
		return s.options.Router, ""
	}
	return "", "there is no GatewayClass " + name
}

func (s *Snapshot) servesSet(set *gatewayv1.ListenerSet) bool {
	key, ok := gateway.SetGateway(set)
	if !ok {
		return false
	}
	g, ok := s.objects.Gateways[key].(*gatewayv1.Gateway)
	return ok && s.servesGateway(g)
}
