package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RoutePolicy says how requests to Routes, Ingresses, HTTPRoutes and GRPCRoutes of its
// namespace are treated: who is admitted, what is redirected, limited or answered.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=routepolicies,scope=Namespaced,categories=all
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.ancestors[0].conditions[?(@.type=="Accepted")].reason`
// +kubebuilder:printcolumn:name="Programmed",type=string,JSONPath=`.status.ancestors[0].conditions[?(@.type=="Programmed")].status`
// +kubebuilder:printcolumn:name="Protecting",type=string,JSONPath=`.status.ancestors[0].conditions[?(@.type=="Protecting")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RoutePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec RoutePolicySpec `json:"spec"`
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// RoutePolicySpec says what a RoutePolicy asks for, and of which objects. Without
// targetRefs and targetSelector it is for all Routes, HTTPRoutes and GRPCRoutes of the
// namespace, with a lower rank than policies that name them.
//
// +kubebuilder:validation:XValidation:rule="!has(self.targetRefs) || !has(self.targetSelector)",message="set targetRefs or targetSelector, not both"
// +kubebuilder:validation:XValidation:rule="has(self.targetRefs) || !has(self.access) || (!has(self.access.allow) || size(self.access.allow) <= 100) && (!has(self.access.deny) || size(self.access.deny) <= 100)",message="lists of access may hold more than 100 addresses only with targetRefs, because each Route keeps them"
// +kubebuilder:validation:XValidation:rule="!has(self.targetRefs) || !self.targetRefs.exists(t, t.kind == 'Gateway') || !has(self.access) || (!has(self.access.allow) || size(self.access.allow) <= 100) && (!has(self.access.deny) || size(self.access.deny) <= 100)",message="with a Gateway among targetRefs lists of access may hold at most 100 addresses, because each route keeps them"
// +kubebuilder:validation:XValidation:rule="!has(self.targetRefs) || !self.targetRefs.exists(t, t.kind == 'Service') || !(has(self.access) || has(self.authentication) || has(self.authorization) || has(self.redirects) || has(self.cors) || has(self.rewrite) || has(self.headers) || has(self.cookies) || has(self.location) || has(self.affinity) || has(self.limits) || has(self.retries) || has(self.canary) || has(self.fault) || has(self.mirror) || has(self.bandwidth) || has(self.maintenance) || has(self.log) || has(self.tracing)) && (!has(self.timeouts) || has(self.timeouts.connect) && !has(self.timeouts.response) && !has(self.timeouts.idle) && !has(self.timeouts.tunnel) && !has(self.timeouts.queue))",message="with a Service among targetRefs only health, loadBalancing, upstream and timeouts.connect may be set"
type RoutePolicySpec struct {
	// targetRefs are the objects that the policy is for.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	TargetRefs []TargetRef `json:"targetRefs,omitempty"`
	// targetSelector selects them by their labels instead.
	// +optional
	TargetSelector *TargetSelector `json:"targetSelector,omitempty"`

	PolicySpec `json:",inline"`
}

// TargetRef names an object of the policy's namespace.
//
// +kubebuilder:validation:XValidation:rule="self.kind == 'Service' ? !has(self.group) || size(self.group) == 0 : has(self.group) && self.group == (self.kind == 'Route' ? 'route.openshift.io' : self.kind == 'Ingress' ? 'networking.k8s.io' : self.kind in ['HTTPRoute', 'GRPCRoute', 'Gateway'] ? 'gateway.networking.k8s.io' : '-')",message="must be a Route of route.openshift.io, an Ingress of networking.k8s.io, an HTTPRoute, GRPCRoute or Gateway of gateway.networking.k8s.io, or a Service of the empty group"
// +kubebuilder:validation:XValidation:rule="!has(self.sectionName) || self.kind in ['Ingress', 'HTTPRoute', 'GRPCRoute', 'Gateway']",message="sectionName is for Ingress, HTTPRoute, GRPCRoute and Gateway only"
type TargetRef struct {
	// group is route.openshift.io, networking.k8s.io or gateway.networking.k8s.io, or empty for
	// Services.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// kind is Route, Ingress, HTTPRoute, GRPCRoute, Gateway or Service. For a Gateway, the policy
	// is for the HTTPRoutes and GRPCRoutes of all namespaces that are attached to it, with a lower
	// rank than those of the routes. For a Service, it is for all routes of the namespace to it,
	// also as one of several.
	//
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// name is the object's name.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// sectionName is a host of the Ingress, the name of a rule of the HTTPRoute or GRPCRoute, or a
	// listener of the Gateway; without it the policy is for all of it.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SectionName string `json:"sectionName,omitempty"`
}

// TargetSelector selects objects of the policy's namespace by their labels.
type TargetSelector struct {
	// kind is Route, Ingress, HTTPRoute or GRPCRoute.
	//
	// +required
	// +kubebuilder:validation:Enum=Route;Ingress;HTTPRoute;GRPCRoute
	Kind string `json:"kind"`
	// matchLabels are labels that an object must have, all of them.
	//
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	MatchLabels map[string]string `json:"matchLabels"`
}

// NamespaceSelector is a label selector as Kubernetes has it (metav1.LabelSelector), with
// bounds. One that demands nothing selects all namespaces.
type NamespaceSelector struct {
	// matchLabels are labels that a namespace must have, all of them.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// matchExpressions must hold, all of them.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	MatchExpressions []NamespaceRequirement `json:"matchExpressions,omitempty"`
}

// NamespaceRequirement is a condition of a label.
//
// +kubebuilder:validation:XValidation:rule="self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",message="In and NotIn need values, and Exists and DoesNotExist take none"
type NamespaceRequirement struct {
	// key is the name of the label.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// operator is In, NotIn, Exists or DoesNotExist.
	//
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator string `json:"operator"`
	// values are what In and NotIn compare with.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	Values []string `json:"values,omitempty"`
}

// PolicyStatus says what became of a policy.
type PolicyStatus struct {
	// ancestors has an entry for each IngressController that serves an object of the
	// policy, as Gateway API's policy attachment has it.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Ancestors []PolicyAncestor `json:"ancestors,omitempty"`
}

// PolicyAncestor is what one IngressController's routers say about a policy.
type PolicyAncestor struct {
	// ancestorRef names the IngressController.
	// +required
	AncestorRef AncestorRef `json:"ancestorRef"`
	// controllerName is fairlead.dev/router.
	//
	// +required
	// +kubebuilder:validation:MaxLength=253
	ControllerName string `json:"controllerName"`
	// conditions are Accepted, ResolvedRefs, Programmed, Overridden and Protecting.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AncestorRef names an object.
type AncestorRef struct {
	// group is operator.openshift.io.
	//
	// +required
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
	// kind is IngressController.
	//
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// namespace is the object's namespace.
	//
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// name is the object's name.
	//
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// RoutePolicyList is a list of RoutePolicies.
//
// +kubebuilder:object:root=true
type RoutePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RoutePolicy `json:"items"`
}

// ClusterRoutePolicy is a policy of administrators for Routes, Ingresses, HTTPRoutes and
// GRPCRoutes of all namespaces, or of some.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterroutepolicies,scope=Cluster
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.ancestors[0].conditions[?(@.type=="Accepted")].reason`
// +kubebuilder:printcolumn:name="Programmed",type=string,JSONPath=`.status.ancestors[0].conditions[?(@.type=="Programmed")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterRoutePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec ClusterRoutePolicySpec `json:"spec"`
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// ClusterRoutePolicySpec says what a ClusterRoutePolicy asks for, and of which
// objects: those that are within all of ingressControllers, namespaces, namespaceSelector and hosts.
//
// +kubebuilder:validation:XValidation:rule="!has(self.access) || (!has(self.access.allow) || size(self.access.allow) <= 100) && (!has(self.access.deny) || size(self.access.deny) <= 100)",message="lists of access may hold at most 100 addresses, because each Route keeps them"
type ClusterRoutePolicySpec struct {
	// mode is Override, which ranks above all that tenants write, or Default, which
	// ranks below.
	//
	// +required
	// +kubebuilder:validation:Enum=Default;Override
	Mode string `json:"mode"`
	// ingressControllers are the names of those whose routers apply the policy; the
	// default is all.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	IngressControllers []string `json:"ingressControllers,omitempty"`
	// namespaces are the names of the namespaces that it is for; the default is all.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`
	// namespaceSelector selects namespaces by their labels; the default is all. As long as
	// the labels of a namespace are not known, it is selected.
	//
	// +optional
	NamespaceSelector *NamespaceSelector `json:"namespaceSelector,omitempty"`
	// hosts are host names, or *. and a domain for all names below it; the default is
	// all.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Hosts []string `json:"hosts,omitempty"`
	// optOut says whether authentication.none of a policy of a tenant drops the
	// authentication of this one: Forbidden or Allowed. The default is Forbidden.
	//
	// +optional
	// +kubebuilder:default=Forbidden
	// +kubebuilder:validation:Enum=Forbidden;Allowed
	OptOut string `json:"optOut,omitempty"`
	// guard says what tenants may do for these objects.
	// +optional
	Guard      *Guard `json:"guard,omitempty"`
	PolicySpec `json:",inline"`
}

// ClusterRoutePolicyList is a list of ClusterRoutePolicies.
//
// +kubebuilder:object:root=true
type ClusterRoutePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterRoutePolicy `json:"items"`
}
