package v1alpha1

// Health says how the router finds out which pods answer. A pod that does not gets no
// requests until it does again. Pods that are not ready get none in any case. It is for
// Routes with several endpoints. active takes the place of HAProxy's own checks of them.
//
// +kubebuilder:validation:MinProperties=1
type Health struct {
	// active asks each endpoint again and again, once for all Routes of the namespace that
	// ask the same.
	//
	// +optional
	Active *HealthProbe `json:"active,omitempty"`
	// passive keeps requests from an endpoint for a while, because requests to it failed. It
	// goes with active, which without an own value is a connection.
	//
	// +optional
	Passive *HealthErrors `json:"passive,omitempty"`
	// slowStart is how long an endpoint that is new, or healthy again, gets less than its share
	// of requests: at first next to none, then more and more. 15m at most. It has no effect
	// where requests are shared out by a hash. The default is none.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('15m')",message="must be at most 15m"
	SlowStart Timeout `json:"slowStart,omitempty"`
	// panicPercent is the least share of healthy endpoints, in percent. With fewer, all
	// endpoints get requests, because those that are left could not serve them, or what is
	// wrong is the question. 0 means never. The default is 50.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	PanicPercent *int32 `json:"panicPercent,omitempty"`
}

// HealthProbe is what an endpoint is asked. Over TLS, where the Route speaks TLS to its
// pods, with the same trust.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.path) || has(self.host) || has(self.method) || has(self.expect)) || has(self.type) && self.type == 'HTTP'",message="path, host, method and expect are for type HTTP"
// +kubebuilder:validation:XValidation:rule="!has(self.service) || has(self.type) && self.type == 'GRPC'",message="service is for type GRPC"
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || duration(self.timeout) <= duration(has(self.interval) ? self.interval : '5s')",message="timeout must not be longer than interval"
type HealthProbe struct {
	// type is TCP for a connection, HTTP for a request, or GRPC for Check of
	// grpc.health.v1. The default is TCP.
	//
	// +optional
	// +kubebuilder:default=TCP
	// +kubebuilder:validation:Enum=TCP;HTTP;GRPC
	Type string `json:"type,omitempty"`
	// path is that of the request, with a query if wanted. The default is /.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	Path string `json:"path,omitempty"`
	// host is the Host header. The default is the address of the endpoint.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Host string `json:"host,omitempty"`
	// method is GET or HEAD. The default is GET.
	//
	// +optional
	// +kubebuilder:validation:Enum=GET;HEAD
	Method string `json:"method,omitempty"`
	// expect is the status of a healthy endpoint, or a range of them. Redirects are not
	// followed. The default is 200-399.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=7
	// +kubebuilder:validation:Pattern=`^[1-5][0-9][0-9](-[1-5][0-9][0-9])?$`
	Expect string `json:"expect,omitempty"`
	// service is the name that Check asks about. The default is empty: the whole server.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._/-]+$`
	Service string `json:"service,omitempty"`
	// port is asked in place of that which gets the requests.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// interval is the time between two probes, 1s to 5m. The default is that of the Route's
	// annotation haproxy.health.check.interval, or of the IngressController, or 5s.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('5m')",message="must be from 1s to 5m"
	Interval Timeout `json:"interval,omitempty"`
	// timeout is how long an answer may take. The default is 2s, or interval if that is
	// shorter.
	//
	// +optional
	Timeout Timeout `json:"timeout,omitempty"`
	// rise is how many good answers in a row make a sick endpoint healthy. The default is 2.
	//
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Rise int32 `json:"rise,omitempty"`
	// fall is how many failed ones in a row make a healthy one sick. The default is 3.
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Fall int32 `json:"fall,omitempty"`
}

// HealthErrors says which errors of requests make an endpoint sick, and for how long. Each
// router counts the errors of each Route.
type HealthErrors struct {
	// errors is how many within that time do. The default is 5.
	//
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Errors int32 `json:"errors,omitempty"`
	// within is the time, 4s to 5m. The default is 10s.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('4s') && duration(self) <= duration('5m')",message="must be from 4s to 5m"
	Within Timeout `json:"within,omitempty"`
	// kinds are the errors that count: Connection for connections that could not be made, Answer
	// for requests without an answer in time, or a broken one, and ServerError for answers with a
	// status from 500 to 599. The default is all.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:Enum=Connection;Answer;ServerError
	Kinds []string `json:"kinds,omitempty"`
	// ejection is for how long the endpoint gets no requests, 1s to 15m; each time in a row
	// that long once more, ten times at most. The default is 30s.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('15m')",message="must be from 1s to 15m"
	Ejection Timeout `json:"ejection,omitempty"`
	// maxPercent is how many of the endpoints of a Route are ejected at once, at most. The
	// default is 50.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxPercent *int32 `json:"maxPercent,omitempty"`
}
