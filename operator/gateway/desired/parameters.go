package desired

import (
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api/gateway"
)

// Permitted returns an IngressController that Gateways of a namespace with these labels may name in
// spec.infrastructure.parametersRef, otherwise nil.
func Permitted(ic *operatorv1.IngressController, namespace map[string]string) *operatorv1.IngressController {
	if ic == nil || !ic.DeletionTimestamp.IsZero() {
		return nil
	}
	if of, _ := gateway.PermittedNamespaces(ic.Annotations); !of.Matches(labels.Set(namespace)) { // the routers say what is wrong with it
		return nil
	}
	return ic
}

// unusableParameters says why spec.infrastructure.parametersRef cannot be followed, empty if it can or
// there is none. Whether an IngressController exists is not for everybody to know.
func (in Input) unusableParameters() string {
	name, err := gateway.Parameters(in.Gateway)
	switch {
	case err != nil:
		return err.Error()
	case name == "":
		return ""
	case in.Parameters == nil:
		return fmt.Sprintf(
			"spec.infrastructure.parametersRef names IngressController %q, which does not exist or does not permit Gateways of namespace %s; have its administrator give it the annotation %s, a label selector of the namespace, or remove the reference",
			name, in.Gateway.Namespace, gateway.AnnotationGatewayNamespaces)
	case onHostNetwork(in.Parameters):
		return fmt.Sprintf("spec.infrastructure.parametersRef names IngressController %q, which publishes by HostNetwork, where routers have the ports of their node and no ports for Gateways; name another one", name)
	}
	return ""
}

// Forbidden reports whether the Gateway has slots of the IngressController that it names although that does
// not permit it any more.
func (in Input) Forbidden() bool {
	name, _ := gateway.Parameters(in.Gateway)
	return name != "" && in.Parameters == nil && in.Settings.Name == name
}

// Router returns the IngressController whose routers are to serve the Gateway, nil if it is not known.
func (in Input) Router() *operatorv1.IngressController {
	switch {
	case !in.Class.Accepted() && !gateway.SharesAddress(in.Gateway):
		return nil
	case !gateway.HasParameters(in.Gateway):
		return in.Class.IC
	case in.unusableParameters() != "":
		return nil
	}
	return in.Parameters
}
