package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
)

// ControllerName is spec.controllerName of the GatewayClasses that are Fairlead's.
const ControllerName gatewayv1.GatewayController = "fairlead.dev/gateway-controller"

// Labels of the Services and EndpointSlices that the operator makes for a Gateway.
const (
	// LabelGateway has the name of the Gateway, or its beginning and a hash if it is
	// longer than a label may be.
	LabelGateway = gatewayv1.GatewayNameLabelKey
	// LabelManagedBy has the value ManagedBy.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "fairlead.dev"
)

// labelLength is how long a label's value and the name of a Service may be.
const labelLength = 63

// ServiceName returns the name of a Gateway's Service. The prefix keeps it apart from
// the Services of applications, and lets it begin with a letter as it must. A name that
// cannot be that of a Service, for its length or a dot, is cut and gets a hash.
func ServiceName(gateway string) string { return fitting("gateway-"+gateway, true) }

// LabelValue returns the value of LabelGateway.
func LabelValue(gateway string) string { return fitting(gateway, false) }

const slotsPrefix = "gateway-slots-"

// SlotsName returns the name of the ConfigMap with the slots of an IngressController's
// routers, in the namespace of the routers.
func SlotsName(ic string) string { return slotsPrefix + ic }

// SlotsOwner returns the IngressController whose slots a ConfigMap in the namespace of the
// routers has, by its name, and whether it has any.
func SlotsOwner(configMap string) (ic string, ok bool) {
	return strings.CutPrefix(configMap, slotsPrefix)
}

func fitting(name string, service bool) string {
	plain := name
	if service {
		plain = strings.ReplaceAll(name, ".", "-")
	}
	if plain == name && len(name) <= labelLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	const hash = 10
	room := labelLength - 1 - hash
	if len(plain) > room {
		plain = strings.TrimRight(plain[:room], "-.")
	}
	return plain + "-" + hex.EncodeToString(sum[:hash/2])
}

// IngressController returns the name of the IngressController whose routers serve the
// Gateways of a class: the one that spec.parametersRef names, otherwise "default". The
// error says what is wrong with the reference; whether the object exists is not known
// here.
func IngressController(class *gatewayv1.GatewayClass) (string, error) {
	ref := class.Spec.ParametersRef
	if ref == nil {
		return api.DefaultIngressController, nil
	}
	const kind = "IngressController"
	if string(ref.Group) != operatorv1.GroupName || ref.Kind != kind {
		return "", fmt.Errorf("spec.parametersRef names a %q of group %q; name an %s of group %s", ref.Kind, ref.Group, kind, operatorv1.GroupName)
	}
	if ref.Namespace == nil || string(*ref.Namespace) != api.OperatorNamespace {
		return "", fmt.Errorf("spec.parametersRef.namespace must be %s, the namespace of the IngressControllers", api.OperatorNamespace)
	}
	return ref.Name, nil
}
