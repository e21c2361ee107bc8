package desired

import (
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/effective"
)

// FrontName returns the name of the Service by which clients reach the routers of an
// IngressController themselves.
func FrontName(s effective.Spec) string {
	switch s.Strategy.Type {
	case operatorv1.PrivateStrategyType:
		return api.InternalServiceName(s.Name)
	case operatorv1.NodePortServiceStrategyType:
		return api.NodePortServiceName(s.Name)
	case operatorv1.LoadBalancerServiceStrategyType, operatorv1.HostNetworkStrategyType:
	}
	return api.RouterName(s.Name)
}

// AtRouter reports whether the Gateway is at the address of the routers, and may be: what it had
// at an address of its own goes.
func (in Input) AtRouter() bool {
	return gateway.SharesAddress(in.Gateway) && in.Settings.SharedAddress && gateway.AddressProblem(in.Gateway) == ""
}

// entry returns the Service that clients of the Gateway come in by, nil if there is none. One
// that may not be at the address of the routers does not show it as its own.
func (in Input) entry() *corev1.Service {
	if in.AtRouter() {
		return in.Front
	}
	return in.Service
}

// misplaced returns why the Gateway cannot be where it asks to be, with the reason of the
// condition Accepted; the message is empty if it can.
func (in Input) misplaced() (gatewayv1.GatewayConditionReason, string) {
	problem := gateway.AddressProblem(in.Gateway)
	switch {
	case problem != "" && gateway.SharesAddress(in.Gateway):
		return gatewayv1.GatewayReasonUnsupportedAddress, problem
	case problem != "":
		return gatewayv1.GatewayReasonInvalidParameters, problem
	case gateway.SharesAddress(in.Gateway) && !in.Settings.SharedAddress:
		return gatewayv1.GatewayReasonInvalidParameters, fmt.Sprintf(
			"annotation %s asks for the address of the routers of IngressController %s, which does not permit it; have its administrator annotate the IngressController with %s: \"true\", or remove the annotation for an address of its own",
			gateway.AnnotationAddress, in.Settings.Name, gateway.AnnotationSharedAddress)
	}
	return "", ""
}

// ignored says what of the spec has no effect, empty if all has.
func (in Input) ignored() string {
	i := in.Gateway.Spec.Infrastructure
	if !in.AtRouter() || i == nil || len(i.Labels)+len(i.Annotations) == 0 {
		return ""
	}
	return "spec.infrastructure has no effect: at the address of the router the Gateway has no Service of its own that could have these labels and annotations"
}

// noAddress says what has no address.
func (in Input) noAddress() string {
	if in.AtRouter() {
		return fmt.Sprintf("Service %s/%s of IngressController %s has no address", api.OperandNamespace, FrontName(in.Settings), in.Settings.Name)
	}
	return "the Gateway has no address"
}
