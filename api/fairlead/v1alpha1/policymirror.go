package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Mirror sends copies of requests to other servers. Their answers are dropped, and no
// request waits for a copy. It needs HAProxy 3.4 and the policy agent.
type Mirror struct {
	// targets get the copies, each by itself.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Targets []MirrorTarget `json:"targets"`
}

// MirrorTarget is where copies go. They have the path, the query and the headers that pods
// get, without Authorization and Cookie, and a header X-Fairlead-Mirror: 1.
//
// +kubebuilder:validation:XValidation:rule="has(self.service) != has(self.url)",message="set one of service and url"
type MirrorTarget struct {
	// service is a Service.
	// +optional
	Service *MirrorService `json:"service,omitempty"`
	// url is another server: http or https, a host and perhaps a port. guard.externalURLs
	// of a ClusterRoutePolicy must have the host, for policies of tenants.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=300
	// +kubebuilder:validation:Pattern=`^https?://[A-Za-z0-9.:\[\]-]+/?$`
	URL string `json:"url,omitempty"`
	// percent of the requests are copied, chosen at random: a number from 0 to 100, or a
	// text with up to two decimals such as "0.25". The default is 100.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || int(self) >= 0 && int(self) <= 100",message="must be from 0 to 100"
	Percent *intstr.IntOrString `json:"percent,omitempty"`
	// bodyBytes is how long a body may be that is copied. Requests with longer ones, with
	// ones that do not say their length in HTTP/1.1, or with ones that come late are not copied. The
	// default is 0: copies have no body. Copies of calls of GRPCRoutes have their message, and
	// the default is 16384 for them.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16384
	BodyBytes int32 `json:"bodyBytes,omitempty"`
	// hostHeader is the Host header of copies. The default is that of the request for
	// service, and that of the address for url.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?$`
	HostHeader string `json:"hostHeader,omitempty"`
	// headers change those of copies.
	// +optional
	Headers *MirrorHeaders `json:"headers,omitempty"`
	// maxInFlight is how many copies of one router wait for the target at a time; others
	// are not sent. The default is 100.
	//
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	MaxInFlight int32 `json:"maxInFlight,omitempty"`
}

// MirrorService is a Service that gets copies, without TLS.
type MirrorService struct {
	// name of the Service.
	// +required
	Name ObjectName `json:"name"`
	// namespace is that of the Service, if it is another one than the policy's. A ReferenceGrant
	// there must permit it.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace ObjectName `json:"namespace,omitempty"`
	// port is the name of a port of the Service, or the number of a port of its pods.
	// It may be left out if there is only one.
	//
	// +optional
	Port *intstr.IntOrString `json:"port,omitempty"`
}

// MirrorHeaders change the headers of copies.
//
// +kubebuilder:validation:MinProperties=1
type MirrorHeaders struct {
	// set headers replace those of the request.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Set []MirrorHeader `json:"set,omitempty"`
	// remove are names of headers that are not copied.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Remove []HeaderName `json:"remove,omitempty"`
	// keep has Authorization, Cookie or both copied.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=Authorization;Cookie
	Keep []string `json:"keep,omitempty"`
}

// MirrorHeader is a header with a fixed value.
type MirrorHeader struct {
	// name of the header.
	// +required
	Name HeaderName `json:"name"`
	// value of the header.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[ -~]+$`
	Value string `json:"value"`
}
