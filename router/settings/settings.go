// Package settings turns an IngressController into the router-wide settings:
// those that HAProxy fixes at start (render.Settings) and those that are data
// or decide about routes (door.Settings). It is pure. A value that cannot be
// used is left out, with a finding that names its field.
//
//	IngressController + command line + files ─ From ─▶ Settings, findings
package settings

import (
	"fmt"
	"net/netip"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/render"
)

// Settings are all router-wide settings.
type Settings struct {
	Render render.Settings
	Ingest door.Settings
	// FetchRevocations is the CA bundle, as PEM text, whose revocation lists
	// are to be fetched; empty if none are.
	FetchRevocations string
	// Series is how many series of metrics a router may have; 0 means traffic.Series.
	Series int
	// Collector is where spans are sent; the zero value is nowhere.
	Collector Collector
}

// Revocations are the revocation lists that were fetched.
type Revocations struct {
	// Lists is their PEM text.
	Lists string
	// Problems say which are missing or too old, and why.
	Problems []string
}

// Flags are what the command line and mounted files say.
type Flags struct {
	// RouterName is the name of the IngressController, Domain that of routes
	// that have only a subdomain, or empty for the IngressController's.
	RouterName, Domain string
	// HTTPPort and HTTPSPort are the ports of the listeners; one that is 0 has none.
	HTTPPort, HTTPSPort int
	// HTTPSlots are the ports for Gateways' listeners of HTTP; none by default.
	HTTPSlots render.Slots
	// HTTPSSlots are those for listeners of HTTPS, FallbackSlots for those of them that let in
	// clients whatever certificate they show, TLSSlots and TCPSlots of TLS and TCP.
	HTTPSSlots, FallbackSlots, TLSSlots, TCPSlots render.Slots
	// Listen is the only address to listen on; without one it is all.
	Listen netip.Addr
	// RedirectPort is where clients reach HTTPSPort; zero means 443.
	RedirectPort int
	// MaxConn and Threads apply unless the IngressController says otherwise.
	MaxConn, Threads int
	// Files is the most files that HAProxy may have open, or 0 if that is not known.
	Files int
	// IPv6 also listens on IPv6 addresses.
	IPv6 bool
	// ClientCA and ClientCRL are the PEM texts of the files that come with
	// spec.clientTLS, or empty if there are none.
	ClientCA, ClientCRL string
	// Revocations are the lists of FetchRevocations.
	Revocations Revocations
	// PageUnavailable and PageNotFound are the files that come with
	// spec.httpErrorCodePages, or empty.
	PageUnavailable, PageNotFound string
	// LogSocket is the datagram socket that prints the access log of type
	// Container; empty means HAProxy's standard output.
	LogSocket string
	// AgentDir has the sockets of the policy agent; empty if the pod has none.
	AgentDir string
	// FirewallDir has the socket of the firewall; empty if the pod has none.
	FirewallDir string
	// DestinationCA is the PEM text of --destination-ca, or empty.
	DestinationCA string
	// SystemCA are the authorities that the machine trusts, or nil.
	SystemCA *model.CA
	// CollectorProblem is why spans do not arrive, or empty.
	CollectorProblem string
	// OneLogFormat says that HAProxy is too old to write records of requests beside an access
	// log (render.Observes).
	OneLogFormat bool
}

// reader collects settings and findings about one IngressController.
type reader struct {
	ref      api.ObjectRef
	spec     *operatorv1.IngressControllerSpec
	flags    Flags
	out      Settings
	findings []api.Finding
}

// From returns the settings of an IngressController, which may be nil, under a
// command line.
func From(ic *operatorv1.IngressController, flags Flags) (Settings, []api.Finding) {
	r := &reader{flags: flags}
	r.out.Ingest = door.Settings{RouterName: flags.RouterName, Domain: flags.Domain, Agent: flags.AgentDir != "", Firewall: flags.FirewallDir != "", RedirectPort: flags.RedirectPort, SystemCA: flags.SystemCA}
	r.out.Ingest.GatewayPorts = flags.HTTPSlots.Count+flags.HTTPSSlots.Count > 0
	r.out.Render = render.Settings{
		AgentDir: flags.AgentDir, FirewallDir: flags.FirewallDir,
		HTTPPort: flags.HTTPPort, HTTPSPort: flags.HTTPSPort, HTTPSlots: flags.HTTPSlots, HTTPSSlots: flags.HTTPSSlots, FallbackSlots: flags.FallbackSlots, TLSSlots: flags.TLSSlots, TCPSlots: flags.TCPSlots, Listen: flags.Listen, IPv6: flags.IPv6,
		MaxConn: flags.MaxConn, Files: flags.Files, Threads: flags.Threads,
	}
	r.destinationCA()
	if ic == nil {
		return r.out, r.findings
	}
	r.ref = api.ObjectRef{Group: operatorv1.GroupName, Kind: "IngressController", Namespace: ic.Namespace, Name: ic.Name}
	r.spec = &ic.Spec
	if r.out.Ingest.Domain == "" {
		r.out.Ingest.Domain = ic.Status.Domain
	}
	r.out.Ingest.HTTP2 = http2(ic.Annotations)
	r.hardStop(ic.Annotations)
	r.series(ic.Annotations[api.AnnotationMetricsSeries])
	r.gatewayPermissions(ic.Annotations)
	r.processor(ic.Annotations)
	r.admission()
	r.tuning()
	r.publishing(ic.Status.EndpointPublishingStrategy)
	r.overrides()
	r.anyProxySource()
	r.withoutEffect()
	r.http()
	r.pages()
	r.logging()
	r.tracing(ic.Annotations)
	r.sample(ic.Annotations)
	r.keep(ic.Annotations)
	r.tlsProfile(ic.Status.TLSProfile)
	r.clientTLS()
	r.out.Ingest.AsksClients = r.out.Render.ClientTLS.Verify != "" || r.out.Render.ClientTLS.Closed
	r.out.Ingest.Tunnel, r.out.Render.SharedAddress = r.out.Render.Timeouts.Tunnel, r.out.Ingest.SharedAddress
	return r.out, r.findings
}

// destinationCA reads the CA of pods whose routes bring none. Where it cannot
// be read such routes are refused, so that pods that were verified are not trusted.
func (r *reader) destinationCA() {
	if r.flags.DestinationCA == "" {
		return
	}
	ca, err := certificate.DestinationCA(r.flags.DestinationCA)
	if err != nil {
		r.find("--destination-ca", err.Error(), "re-encrypt routes without a CA of their own are not served")
		ca = &model.CA{}
	}
	r.out.Ingest.DestinationCA = ca
}

// admission reads what decides about routes.
func (r *reader) admission() {
	s := &r.out.Ingest
	if a := r.spec.RouteAdmission; a != nil {
		s.InterNamespace = a.NamespaceOwnership == operatorv1.InterNamespaceAllowedOwnershipCheck
		s.WildcardsAllowed = a.WildcardPolicy == operatorv1.WildcardPolicyAllowed
		r.out.Render.AnyHost = s.WildcardsAllowed
	}
	if h := r.spec.HTTPHeaders; h != nil {
		switch h.ForwardedHeaderPolicy {
		case operatorv1.AppendHTTPHeaderPolicy, "":
		case operatorv1.ReplaceHTTPHeaderPolicy:
			s.Forwarded = model.ForwardedReplace
		case operatorv1.IfNoneHTTPHeaderPolicy:
			s.Forwarded = model.ForwardedIfNone
		case operatorv1.NeverHTTPHeaderPolicy:
			s.Forwarded = model.ForwardedNever
		default:
			r.find("spec.httpHeaders.forwardedHeaderPolicy", "must be Append, Replace, IfNone or Never", "Append is used")
		}
	}
}

func (r *reader) find(field, message, effect string) {
	r.findReason(field, api.ReasonInvalidField, message, effect)
}

func (r *reader) findReason(field string, reason api.Reason, message, effect string) {
	r.findings = append(r.findings, api.Finding{
		Object: r.ref, Field: field, Reason: reason, Severity: api.SeverityWarning, Message: message, Effect: effect,
	})
}

// refuse is a finding about a value that is not used.
func (r *reader) refuse(field, format string, args ...any) {
	r.find(field, fmt.Sprintf(format, args...), "the value is not used")
}
