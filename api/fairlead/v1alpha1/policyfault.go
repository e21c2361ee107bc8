package v1alpha1

// Fault delays some requests, or answers them with an error in place of the pods, to see
// what clients make of it. guard.faultInjection of a ClusterRoutePolicy must allow it for
// policies of tenants. Delay and abort are chosen each by itself; a request with both is
// answered after its delay.
//
// +kubebuilder:validation:XValidation:rule="has(self.delay) || has(self.abort)",message="set delay, abort or both"
type Fault struct {
	// delay has requests wait before anything else is done with them.
	// +optional
	Delay *FaultDelay `json:"delay,omitempty"`
	// abort answers requests in place of the pods.
	// +optional
	Abort *FaultAbort `json:"abort,omitempty"`
	// when are conditions that a request must meet, all of them. Without any the fault is
	// for all requests.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	When []FaultCondition `json:"when,omitempty"`
}

// FaultDelay has requests wait.
type FaultDelay struct {
	// milliseconds is how long a request waits, from 1 to 60000.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60000
	Milliseconds int32 `json:"milliseconds"`
	// percent of the requests wait, chosen at random. The default is 100.
	//
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent *int32 `json:"percent,omitempty"`
}

// FaultAbort answers requests with an error.
type FaultAbort struct {
	// status of the answer.
	//
	// +required
	// +kubebuilder:validation:Enum=400;401;403;404;408;409;410;413;429;500;501;502;503;504;507
	Status int32 `json:"status"`
	// percent of the requests are answered so, chosen at random. The default is 100.
	//
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent *int32 `json:"percent,omitempty"`
}

// FaultCondition compares one value of a request. A request without the value does not
// meet it.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != (has(self.match) && self.match == 'Present')",message="value is for Exact, Prefix and Regex, which need it"
type FaultCondition struct {
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
}
