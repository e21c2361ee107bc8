package api

// Labels, annotations and finalizers of the objects that the operator makes.
// They are OpenShift's where it has a word for them.
const (
	// LabelOwningIngressController is on every object that the operator makes
	// for an IngressController; the value is the IngressController's name. An
	// object without it is never changed or deleted.
	LabelOwningIngressController = "ingresscontroller.operator.openshift.io/owning-ingresscontroller"
	// LabelDeploymentIngressController is on the router pods of an
	// IngressController, and is what all selectors select.
	LabelDeploymentIngressController = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller"
	// FinalizerIngressController keeps an IngressController until its routers
	// have drained and its traces in Route status are gone.
	FinalizerIngressController = "ingresscontroller.operator.openshift.io/finalizer-ingresscontroller"
	// AnnotationCertificateSource is on the Secret router-certs-NAME and says
	// where its certificate is from: "generated" or "secret/NAME".
	AnnotationCertificateSource = "fairlead.dev/certificate-source"
	// AnnotationCopiedFrom is on a copied ConfigMap and says which one it is a
	// copy of, as NAMESPACE/NAME.
	AnnotationCopiedFrom = "fairlead.dev/copied-from"
	// IngressClassController is spec.controller of the IngressClasses whose
	// Ingresses Fairlead serves.
	IngressClassController = "openshift.io/ingress-to-route"
)

// ConditionSettingsApplied of an IngressController says whether its routers use
// all settings as they are written. The routers write it themselves.
const ConditionSettingsApplied = "SettingsApplied"

// Names of the children of an IngressController.
const (
	// RouterServiceAccount is the ServiceAccount of all routers. Users grant
	// it access to the Secrets that spec.tls.externalCertificate names.
	RouterServiceAccount = "router"
	// RouterCASecret holds the CA that signs generated certificates. It lives
	// in OperatorNamespace.
	RouterCASecret = "router-ca"
	// DefaultIngressController is created by the operator when it is absent.
	DefaultIngressController = "default"
)

// RouterName returns the name of the Deployment, the load-balancer Service and
// the PodDisruptionBudget of an IngressController.
func RouterName(ic string) string { return "router-" + ic }

// InternalServiceName returns the name of the Service inside the cluster.
func InternalServiceName(ic string) string { return "router-internal-" + ic }

// NodePortServiceName returns the name of the Service of type NodePort.
func NodePortServiceName(ic string) string { return "router-nodeport-" + ic }

// CertificateSecretName returns the name of the Secret with the default
// certificate that the routers serve.
func CertificateSecretName(ic string) string { return "router-certs-" + ic }

// ClientCAConfigMapName returns the name of the ConfigMap in the namespace of
// the routers with ca-bundle.pem, and crls.pem, for spec.clientTLS.
func ClientCAConfigMapName(ic string) string { return "router-client-ca-" + ic }

// ServiceCAConfigMap may hold, in the namespace of the routers, service-ca.crt:
// the CA of pods behind re-encrypt routes that bring none.
const ServiceCAConfigMap = "service-ca-bundle"

// ErrorPagesConfigMapName returns the name of the ConfigMap in the namespace
// of the routers with the pages of spec.httpErrorCodePages.
func ErrorPagesConfigMapName(ic string) string { return ic + "-errorpages" }

// AdmittedConfigMapName returns the name of the ConfigMap in the namespace of
// the routers that keeps, under AdmittedSpecKey, the spec of the
// IngressController that was admitted last.
func AdmittedConfigMapName(ic string) string { return "router-admitted-" + ic }

// AdmittedSpecKey is the key of a spec, as JSON, in the ConfigMap of
// AdmittedConfigMapName.
const AdmittedSpecKey = "spec.json"

// ViewerServiceAccount is the ServiceAccount, in OperandNamespace, whose tokens routers take
// for their metrics pages: who may make one may read them.
const ViewerServiceAccount = "fairlead-viewer"

// LogReaderServiceAccount is the same for streams of requests.
const LogReaderServiceAccount = "fairlead-log-reader"

// RouterAudience is that of tokens which only routers take.
const RouterAudience = "fairlead.dev/router"

// StatsSecretName returns the name of the Secret with user and password of
// HAProxy's stats page (keys statsUsername and statsPassword).
func StatsSecretName(ic string) string { return "router-stats-" + ic }

// SessionKeysSecretName returns the name of the Secret with the keys that routers encrypt
// the cookies of sessions with.
func SessionKeysSecretName(ic string) string { return "router-session-keys-" + ic }

// AgentCertificatesSecretName returns the name of the Secret with the certificates that
// the policy agents of an IngressController's routers show each other.
func AgentCertificatesSecretName(ic string) string { return "router-agents-" + ic }

// AgentPort is where the first worker of a policy agent hears others, which count shared
// limits with it; the second one has the next port.
const AgentPort = 9443

// IngressClassName returns the name of the IngressClass of an IngressController.
func IngressClassName(ic string) string { return "openshift-" + ic }

// CanonicalHostname returns the name that DNS records of hosts may point to.
func CanonicalHostname(ic, domain string) string { return "router-" + ic + "." + domain }
