package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Canary sends some requests of a Route to other Services of its namespace. All that
// the Route and its policies ask for holds for them, too. Conditions on headers come
// first, then those on cookies, then those on parameters, in the order in which they
// are written; the first one that is met decides. Weights share out the other
// requests.
//
// +kubebuilder:validation:XValidation:rule="self.services.map(s, has(s.weight) ? s.weight : 0).sum() <= (has(self.total) ? self.total : 100)",message="weights must not add up to more than total"
type Canary struct {
	// services are those beside the Route's own.
	//
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	Services []CanaryService `json:"services"`
	// total is what weights are shares of. The Route's own Service gets what is left.
	// The default is 100.
	//
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Total int32 `json:"total,omitempty"`
	// sticky keeps clients where weights have sent them, by a cookie.
	// +optional
	Sticky *CanarySticky `json:"sticky,omitempty"`
}

// CanaryService is a Service that gets some requests of a Route.
type CanaryService struct {
	// name of the Service.
	// +required
	Name ObjectName `json:"name"`
	// port is the name of a port of the Service, or the number of a port of its pods.
	// The default is the Route's port; it may be left out if there is only one.
	//
	// +optional
	Port *intstr.IntOrString `json:"port,omitempty"`
	// weight is the Service's share of the requests that no condition decides. The
	// default is 0.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Weight int32 `json:"weight,omitempty"`
	// when are conditions of which each decides where a request goes.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	When []CanaryCondition `json:"when,omitempty"`
}

// CanaryCondition compares one value of a request. A request without the value does not
// meet it.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != (has(self.match) && self.match == 'Present')",message="value is for Exact, Prefix and Regex, which need it"
type CanaryCondition struct {
	// type is Header, Cookie or Query (a parameter of the URL).
	//
	// +required
	// +kubebuilder:validation:Enum=Header;Cookie;Query
	Type string `json:"type"`
	// name is that of the header, cookie or parameter.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern="^[A-Za-z0-9!#$%&'*+.^_`~-]+$"
	Name string `json:"name"`
	// match is Exact, Prefix, Present for any value, or Regex. The default is Exact.
	//
	// +optional
	// +kubebuilder:default=Exact
	// +kubebuilder:validation:Enum=Exact;Prefix;Present;Regex
	Match string `json:"match,omitempty"`
	// value is compared in its case. A regular expression (RE2) is searched for in values
	// of up to 128 bytes; one that would take many steps is not applied.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[ -~]+$`
	Value string `json:"value,omitempty"`
	// to is Canary, or Route for the Route's own Service. The default is Canary.
	//
	// +optional
	// +kubebuilder:default=Canary
	// +kubebuilder:validation:Enum=Canary;Route
	To string `json:"to,omitempty"`
}

// CanarySticky is a cookie that says where weights have sent a client.
type CanarySticky struct {
	// ttl is how long browsers keep it. Without it they keep it until they end.
	// +optional
	TTL Timeout `json:"ttl,omitempty"`
}

// LoadBalancing says how pods share requests. Clients with a sticky cookie keep their
// pod, whatever stands here.
//
// +kubebuilder:validation:XValidation:rule="has(self.hash) == (self.algorithm == 'Hash')",message="hash is for the algorithm Hash, which needs it"
type LoadBalancing struct {
	// algorithm is RoundRobin, LeastConnections, Random, or Hash for the pod that a value
	// of the request leads to.
	//
	// +required
	// +kubebuilder:validation:Enum=RoundRobin;LeastConnections;Random;Hash
	Algorithm string `json:"algorithm"`
	// hash is the value that leads to a pod.
	// +optional
	Hash *HashKey `json:"hash,omitempty"`
}

// HashKey is a value of a request. Requests without it are shared out in turn. When pods
// come or go, only the values of few requests lead to other pods than before.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) == (self.type in ['Header', 'Cookie', 'Query'])",message="name is for Header, Cookie and Query, which need it"
type HashKey struct {
	// type is Address (the client's), Header, Cookie, Query (a parameter of the URL),
	// Path, URI (path and query) or Host.
	//
	// +required
	// +kubebuilder:validation:Enum=Address;Header;Cookie;Query;Path;URI;Host
	Type string `json:"type"`
	// name is that of the header, cookie or parameter.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern="^[A-Za-z0-9!#$%&'*+.^_`~-]+$"
	Name string `json:"name,omitempty"`
}

// Retries say how often a request is tried again at another pod. Requests with a body
// that does not fit into a buffer are not tried again once a pod has it.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.nonIdempotent) || !self.nonIdempotent || has(self.when) && self.when == 'Failure'",message="nonIdempotent is for when: Failure"
// +kubebuilder:validation:XValidation:rule="!has(self.attempts) || self.attempts > 0 || !has(self.when) || self.when == 'Connection'",message="when: Failure needs attempts of 1 or 3"
type Retries struct {
	// attempts beyond the first: 0, 1 or 3. The default is 3.
	//
	// +optional
	// +kubebuilder:validation:Enum=0;1;3
	Attempts *int32 `json:"attempts,omitempty"`
	// when is Connection, if no connection to the pod could be made, or Failure: also if the
	// pod ends the connection without an answer, does not answer in time, or answers 502,
	// 503 or 504. The default is Connection.
	//
	// +optional
	// +kubebuilder:default=Connection
	// +kubebuilder:validation:Enum=Connection;Failure
	When string `json:"when,omitempty"`
	// nonIdempotent tries requests of all methods again, which a pod may then do twice. By
	// default those of GET, HEAD, OPTIONS, PUT, DELETE and TRACE are.
	//
	// +optional
	NonIdempotent bool `json:"nonIdempotent,omitempty"`
}
