package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Pages are what clients get in place of an answer that says no more than an error. No page changes a status.
//
// +kubebuilder:validation:MinProperties=1
type Pages struct {
	// errors are pages for statuses. Of several that are for the same status the first
	// one counts.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Errors []ErrorPage `json:"errors,omitempty"`
	// noEndpoints gets the requests of a Route of whose Services no pod is ready.
	// +optional
	NoEndpoints *PageService `json:"noEndpoints,omitempty"`
}

// PageService is a Service of the Route's namespace.
type PageService struct {
	// name of the Service.
	// +required
	Name ObjectName `json:"name"`
	// port is the name of a port of the Service, or the number of a port of its pods. The
	// default is the Route's port if the Service has it; it may be left out if there is only
	// one.
	//
	// +optional
	Port *intstr.IntOrString `json:"port,omitempty"`
}

// ErrorPage is a page, or the pages of a ConfigMap or of a Service, for some statuses.
//
// +kubebuilder:validation:XValidation:rule="has(self.configMap) != has(self.service)",message="name either a ConfigMap or a Service"
// +kubebuilder:validation:XValidation:rule="!has(self.configMap) || !has(self.configMap.key) || has(self.codes)",message="a key needs codes"
// +kubebuilder:validation:XValidation:rule="!has(self.service) || has(self.codes)",message="a Service needs codes"
type ErrorPage struct {
	// codes are statuses such as "404", or ranges such as "500-599". They may be left out
	// without configMap.key: then the keys of the ConfigMap say which statuses they are for.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Codes []StatusCodes `json:"codes,omitempty"`
	// configMap has the pages.
	// +optional
	ConfigMap *PageSource `json:"configMap,omitempty"`
	// service is asked for the pages: GET / for each of the codes, with the status in the
	// header X-Code, when they are first needed and every 30 seconds from then on. Clients get
	// what it answered last, with the status of the answer that the page stands for. At most
	// 32 statuses.
	//
	// +optional
	Service *PageService `json:"service,omitempty"`
	// contentType is the header Content-Type of the page. The default is what the Service
	// says, or for keys by their ending: .json is application/json, .txt text/plain, and all
	// others text/html.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern="^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+( ?; ?charset=[A-Za-z0-9_-]+)?$"
	ContentType string `json:"contentType,omitempty"`
	// from says whose answers get the page: Router for those that the router makes itself,
	// Pod for those of pods, or Both, which is the default.
	//
	// +optional
	// +kubebuilder:default=Both
	// +kubebuilder:validation:Enum=Router;Pod;Both
	From string `json:"from,omitempty"`
}

// StatusCodes is a status from 400 to 599, or a range of them.
//
// +kubebuilder:validation:MaxLength=7
// +kubebuilder:validation:Pattern=`^[45][0-9]{2}(-[45][0-9]{2})?$`
type StatusCodes string

// PageSource names a ConfigMap, and perhaps one page in it. For a RoutePolicy the
// ConfigMap is in its namespace, for a ClusterRoutePolicy in openshift-ingress.
type PageSource struct {
	// name of the ConfigMap.
	// +required
	Name ObjectName `json:"name"`
	// namespace is that of the ConfigMap, if it is another one than the policy's. A ReferenceGrant
	// there must permit it.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace ObjectName `json:"namespace,omitempty"`
	// key of the page. Without it each key that is named after a status counts: 404, 404.html,
	// or 5xx.json, of which a whole status goes first.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`
}
