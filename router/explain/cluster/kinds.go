package cluster

import (
	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// kind is one whose objects are read as lists, or watched.
type kind struct {
	name    string
	example client.Object
	list    client.ObjectList
	// clustered objects are in no namespace. In is the only namespace that is read, empty for all.
	clustered bool
	in        string
}

// kinds are those that every cluster with Fairlead has, but for namespaces.
func kinds() []kind {
	return []kind{
		{"Route", &routev1.Route{}, &routev1.RouteList{}, false, ""},
		{"Ingress", &networkingv1.Ingress{}, &networkingv1.IngressList{}, false, ""},
		{"Service", &corev1.Service{}, &corev1.ServiceList{}, false, ""},
		{"EndpointSlice", &discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{}, false, ""},
		{"IngressClass", &networkingv1.IngressClass{}, &networkingv1.IngressClassList{}, true, ""},
		{"RoutePolicy", &v1alpha1.RoutePolicy{}, &v1alpha1.RoutePolicyList{}, false, ""},
		{"ClusterRoutePolicy", &v1alpha1.ClusterRoutePolicy{}, &v1alpha1.ClusterRoutePolicyList{}, true, ""},
		{"IngressController", &operatorv1.IngressController{}, &operatorv1.IngressControllerList{}, false, api.OperatorNamespace},
	}
}

// gatewayKinds are those of the Gateway API.
func gatewayKinds() []kind {
	return []kind{
		{"GatewayClass", &gatewayv1.GatewayClass{}, &gatewayv1.GatewayClassList{}, true, ""},
		{"Gateway", &gatewayv1.Gateway{}, &gatewayv1.GatewayList{}, false, ""},
		{"ListenerSet", &gatewayv1.ListenerSet{}, &gatewayv1.ListenerSetList{}, false, ""},
		{"HTTPRoute", &gatewayv1.HTTPRoute{}, &gatewayv1.HTTPRouteList{}, false, ""},
		{"GRPCRoute", &gatewayv1.GRPCRoute{}, &gatewayv1.GRPCRouteList{}, false, ""},
		{"TLSRoute", &gatewayv1.TLSRoute{}, &gatewayv1.TLSRouteList{}, false, ""},
		{"TCPRoute", &gatewayv1.TCPRoute{}, &gatewayv1.TCPRouteList{}, false, ""},
		{"UDPRoute", &gatewayv1.UDPRoute{}, &gatewayv1.UDPRouteList{}, false, ""},
		{"ReferenceGrant", &gatewayv1.ReferenceGrant{}, &gatewayv1.ReferenceGrantList{}, false, ""},
		{"BackendTLSPolicy", &gatewayv1.BackendTLSPolicy{}, &gatewayv1.BackendTLSPolicyList{}, false, ""},
	}
}
