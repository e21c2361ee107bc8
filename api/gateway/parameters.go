package gateway

import (
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// AnnotationGatewayNamespaces on an IngressController is a label selector, as kubectl takes it with
// --selector, of the namespaces whose Gateways may have its routers by
// spec.infrastructure.parametersRef. Without it there are none. Gateways of classes that mean
// the IngressController do not need it.
const AnnotationGatewayNamespaces = "fairlead.dev/gateway-namespaces"

// PermittedNamespaces returns the namespaces that AnnotationGatewayNamespaces selects, and says what
// is wrong with it: what cannot be read selects none, and so does an empty text, which
// as a selector would select all.
func PermittedNamespaces(annotations map[string]string) (of labels.Selector, problem string) {
	text, has := annotations[AnnotationGatewayNamespaces]
	if !has {
		return labels.Nothing(), ""
	}
	selector, err := labels.Parse(text)
	switch {
	case err != nil:
		return labels.Nothing(), fmt.Sprintf("must be a label selector such as team=shop or kubernetes.io/metadata.name in (a,b): %.100s", err)
	case selector.Empty():
		return labels.Nothing(), "is empty; write a label selector such as team=shop, or kubernetes.io/metadata.name for all namespaces"
	}
	return selector, ""
}

// Parameters returns the IngressController that spec.infrastructure.parametersRef names: its routers serve
// the Gateway in place of those of the class. It is empty where there is no reference. The
// error says what is wrong with the reference; whether the object exists and permits it is not
// known here.
func Parameters(g *gatewayv1.Gateway) (ic string, err error) {
	if g.Spec.Infrastructure == nil || g.Spec.Infrastructure.ParametersRef == nil {
		return "", nil
	}
	ref := g.Spec.Infrastructure.ParametersRef
	const kind = "IngressController"
	switch {
	case string(ref.Group) != operatorv1.GroupName || ref.Kind != kind:
		return "", fmt.Errorf("spec.infrastructure.parametersRef names a %q of group %q; name an %s of group %s", ref.Kind, ref.Group, kind, operatorv1.GroupName)
	case SharesAddress(g):
		return "", fmt.Errorf("spec.infrastructure.parametersRef is not for a Gateway at the address of the router (annotation %s), which is that of its class; remove one of the two", AnnotationAddress)
	}
	return ref.Name, nil
}

// HasParameters reports whether a Gateway names parameters, right or wrong. One at the address of the router
// has none, because its class decides where it is.
func HasParameters(g *gatewayv1.Gateway) bool {
	return g.Spec.Infrastructure != nil && g.Spec.Infrastructure.ParametersRef != nil && !SharesAddress(g)
}
