package api

// Namespaces that Fairlead uses. They are those of OpenShift and MetalLB, so
// that manifests and habits carry over.
const (
	// OperatorNamespace holds the operator and the IngressController objects.
	OperatorNamespace = "openshift-ingress-operator"
	// OperandNamespace holds the router Deployments and their Services.
	OperandNamespace = "openshift-ingress"
	// ConfigNamespace holds the ConfigMaps that IngressControllers name:
	// client CAs and error pages.
	ConfigNamespace = "openshift-config"
	// CanaryNamespace holds the server that the operator asks through the routers.
	CanaryNamespace = "openshift-ingress-canary"
	// ProviderNamespace holds the speaker and the address configuration.
	ProviderNamespace = "metallb-system"
)

// ClosedPort is spec.port.targetPort of the Routes of an Ingress that must not
// be served as it is: its paths stay claimed, and no pod gets a request. No port
// can have this name, so it means the same to any router.
const ClosedPort = "closed_by_ingress"

// PolicyControllerName is the controllerName of the routers' entries in the status of
// policies.
const PolicyControllerName = "fairlead.dev/router"

// LabelIngressAccess is on the Roles and RoleBindings by which routers read the
// Secrets of an Ingress or a Gateway; its value is "true".
const LabelIngressAccess = "fairlead.dev/ingress-access"

// IngressAccessName is the name of the Role and RoleBinding by which routers
// read the Secrets of an Ingress.
func IngressAccessName(ingress string) string { return "router-reads-certificates-of-" + ingress }

// OperatorAnnotationPrefix is that of annotations of IngressControllers.
const OperatorAnnotationPrefix = "ingress.operator.openshift.io"

// Annotations on Routes and Ingresses that OpenShift has no word for.
const (
	// AnnotationPathType on a Route says how spec.path matches: "Prefix" (the
	// default: whole path segments), "Exact", "Regex" or "RegexIgnoreCase": as a
	// regular expression, or "Default": all paths of the host, unless another Route
	// of the namespace has them. The operator sets it on Routes that it makes of
	// Ingresses.
	AnnotationPathType      = "fairlead.dev/path-type"
	PathTypeRegex           = "Regex"
	PathTypeRegexIgnoreCase = "RegexIgnoreCase"
	// AnnotationAnyHost on a Route, with the value "true", makes it answer for
	// all hosts that no Route names, in place of spec.host. The operator sets it
	// on Routes that it makes of rules without host.
	AnnotationAnyHost = "fairlead.dev/any-host"
	// AnnotationCertificates on an Ingress says what becomes of the
	// certificates in the Secrets of spec.tls: "reference" (the default) names
	// the Secrets in the Routes, and the operator lets the routers read them;
	// "copy" puts them into the Routes, where a user who may read Routes reads the
	// keys, too.
	AnnotationCertificates = "fairlead.dev/certificates"
	// AnnotationServerName on a re-encrypt Route is the name that the pods'
	// certificate must have. It is sent to them as server name.
	AnnotationServerName = "fairlead.dev/destination-server-name"
	// AnnotationIngressController on a Route names the only IngressController
	// that may serve it. The operator sets it on Routes of Ingresses whose class
	// has an IngressController as its parameters.
	AnnotationIngressController = "fairlead.dev/ingress-controller"
	// AnnotationEndpoints on a Service lists the addresses and ports of its pods,
	// separated by commas, for `fairlead serve`, which has no cluster to ask:
	// "127.0.0.1:3000,[::1]:3001". A router of a cluster does not read it: it would
	// lead to addresses that the Service's owner may not reach.
	AnnotationEndpoints = "fairlead.dev/endpoints"
	// AnnotationPolicy on a Route or Ingress names a RoutePolicy of its namespace that
	// applies to it.
	AnnotationPolicy = "fairlead.dev/policy"
	// AnnotationDefaultPolicy on a Namespace names a RoutePolicy of it that applies to all
	// of its Routes, below policies that name or select them.
	AnnotationDefaultPolicy = "fairlead.dev/default-policy"
	// AnnotationIngressLabels on a Route has the labels of the Ingress that it is made
	// of, by which policies select Ingresses: "key=value", separated by commas. The
	// operator writes it, and keeps it equal to them.
	AnnotationIngressLabels = "fairlead.dev/ingress-labels"
	// AnnotationIngressPolicy on a Route has what the annotations of other Ingress
	// controllers ask for, and no other annotation can say: groups of a RoutePolicy, as
	// JSON. The operator writes it.
	AnnotationIngressPolicy = "fairlead.dev/ingress-policy"
	// AnnotationFromIngress on a Route lists the annotations that the operator copied
	// from the Ingress, so that it removes those that the Ingress no longer has, and
	// keeps others.
	AnnotationFromIngress = "fairlead.dev/annotations-from-ingress"
	// AnnotationConvertedFrom says which object "kubectl fairlead convert" made this one of.
	AnnotationConvertedFrom = "fairlead.dev/converted-from"
	// AnnotationHTTP2 on an IngressController, with the value "true", offers
	// HTTP/2 to clients.
	AnnotationHTTP2 = "ingress.operator.openshift.io/default-enable-http2"
	// AnnotationHardStopAfter on an IngressController is how long HAProxy may
	// finish its requests after a reload, such as "30m".
	AnnotationHardStopAfter = "ingress.operator.openshift.io/hard-stop-after"
	// AnnotationMetricsSeries on an IngressController is how many series of metrics each of
	// its routers may have; Routes beyond that are counted together.
	AnnotationMetricsSeries = "fairlead.dev/metrics-series"
	// AnnotationLatencySample on an IngressController says of which share of requests the time is
	// measured: "off", "all" or "1/N".
	AnnotationLatencySample = "fairlead.dev/latency-sample"
	// AnnotationKeepRequests on an IngressController says which requests its routers keep in memory
	// for a while: "off" or "failed".
	AnnotationKeepRequests = "fairlead.dev/keep-requests"
	// AnnotationMetrics on a Route, Ingress or route of the Gateway API, with the value "detail", asks
	// for series of metrics of its own, before routes that are only busy.
	AnnotationMetrics = "fairlead.dev/metrics"
	// AnnotationSLO on the same objects has the objectives of their requests, such as
	// "availability=99.9, latency=300ms@99".
	AnnotationSLO = "fairlead.dev/slo"
	// AnnotationHAProxyCPU on an IngressController is how much processor time the container
	// of HAProxy reserves in each pod, such as "500m" or "2".
	AnnotationHAProxyCPU = "fairlead.dev/haproxy-cpu"
	// AnnotationRouterCPU is how much the container of the router process reserves.
	AnnotationRouterCPU = "fairlead.dev/router-cpu"
	// AnnotationTracing on an IngressController says where traces of requests are sent, and
	// how many: "endpoint=https://collector.example.com:4317, ratio=0.01".
	AnnotationTracing = "fairlead.dev/tracing"
	// AnnotationRotateCanary on the IngressController "default", with the value
	// "true", lets the canary's Route turn from one port to the other.
	AnnotationRotateCanary = "ingress.operator.openshift.io/rotate-canary-route"
	// AnnotationCreateDefault on the namespace openshift-ingress-operator, with
	// the value "false", keeps the operator from creating the IngressController
	// "default" where there is none.
	AnnotationCreateDefault = "fairlead.dev/create-default"
	// AnnotationClusterHTTP2 and AnnotationClusterHardStopAfter on an
	// IngressController are what ingresses.config.openshift.io/cluster says by
	// the two annotations above. The operator writes them, because routers have
	// no right to the cluster's settings; those of the IngressController win.
	AnnotationClusterHTTP2         = "fairlead.dev/cluster-default-enable-http2"
	AnnotationClusterHardStopAfter = "fairlead.dev/cluster-hard-stop-after"
	// AnnotationDefaultHAProxyVersion on ingresses.config.openshift.io/cluster is
	// the version of HAProxy where an IngressController names none.
	AnnotationDefaultHAProxyVersion = "unsupported.ingress.openshift.io/default-haproxy-version"
)
