package ingress

import (
	"fmt"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// upstreamKeys are the annotations about what routers and pods say to each other.
type upstreamKeys struct {
	// ca and client are Secrets, name is that in certificates of pods, and sni what is
	// sent to them.
	ca, client, name, sni said
	// proxy and protocol are words of the group.
	proxy, protocol said
}

func nginxUpstream(t map[string]vendorAnnotation) {
	const tls = "termination `reencrypt` with `upstream.tls`"
	t["proxy-ssl-verify"] = vendorAnnotation{carry: verify, becomes: tls, differs: "needs backend-protocol HTTPS or GRPCS, and proxy-ssl-secret or `route.openshift.io/destination-ca-certificate-secret`; else the paths answer 503"}
	t["proxy-ssl-secret"] = vendorAnnotation{carry: upstreamSecrets, protects: always, becomes: "`upstream.tls.ca`, `.clientCertificate`", differs: "a Secret of the Ingress's namespace; its CA counts with proxy-ssl-verify"}
	t["proxy-ssl-name"] = vendorAnnotation{carry: upstreamName(func(k *upstreamKeys) *said { return &k.name }), protects: always, becomes: "`upstream.tls.names`, `.sni`"}
	t["proxy-ssl-server-name"] = vendorAnnotation{carry: serverName, becomes: "`upstream.tls.sni`", differs: "the name of proxy-ssl-name is always sent"}
	t["proxy-ssl-verify-depth"] = vendorAnnotation{carry: verifyDepth, becomes: "`upstream.tls`", differs: "chains may be as long as they are"}
}

// haproxyUpstream are those of HAProxy Technologies' controller.
func haproxyUpstream(t map[string]vendorAnnotation) {
	t["server-crt"] = vendorAnnotation{carry: upstreamSecret(func(k *upstreamKeys) *said { return &k.client }), protects: always, becomes: "`upstream.tls.clientCertificate`", differs: "a Secret of the Ingress's namespace, with server-ssl"}
	t["send-proxy-protocol"] = vendorAnnotation{carry: proxyVersion, becomes: "`upstream.proxyProtocol`", differs: "without fields about TLS"}
	t["server-proto"] = vendorAnnotation{carry: serverProtocol, becomes: "`upstream.protocol`", differs: "h2 only"}
}

// haproxyIngressUpstream are those of HAProxy Ingress.
func haproxyIngressUpstream(t map[string]vendorAnnotation) {
	const namespace = "a Secret of the Ingress's namespace, with a backend-protocol of TLS"
	t["secure-verify-ca-secret"] = vendorAnnotation{carry: verifying(upstreamSecret(func(k *upstreamKeys) *said { return &k.ca })), protects: always, becomes: "`upstream.tls.ca`", differs: namespace}
	t["secure-crt-secret"] = vendorAnnotation{carry: upstreamSecret(func(k *upstreamKeys) *said { return &k.client }), protects: always, becomes: "`upstream.tls.clientCertificate`", differs: namespace}
	t["secure-verify-hostname"] = vendorAnnotation{carry: verifying(upstreamName(func(k *upstreamKeys) *said { return &k.name })), protects: always, becomes: "`upstream.tls.names`"}
	t["secure-sni"] = vendorAnnotation{carry: upstreamName(func(k *upstreamKeys) *said { return &k.sni }), becomes: "`upstream.tls.sni`", differs: "names; not sni and host"}
	t["proxy-protocol"] = vendorAnnotation{carry: proxyVersion, becomes: "`upstream.proxyProtocol`", differs: "without fields about TLS"}
	t["backend-protocol"] = vendorAnnotation{carry: haproxyProtocol, becomes: "termination `reencrypt`, `upstream.protocol`", differs: "not fcgi"}
}

// verifying is for annotations of a controller that verifies pods where it has one of
// them.
func verifying(carry func(string, *carried) error) func(string, *carried) error {
	return func(value string, into *carried) error {
		err := carry(value, into)
		if err == nil {
			into.verifies = into.field
		}
		return err
	}
}

// upstreamSecret is a Secret of the Ingress's namespace.
func upstreamSecret(key func(*upstreamKeys) *said) func(string, *carried) error {
	return func(value string, into *carried) error { return ownSecret(key(&into.upstream), value, into) }
}

// upstreamSecrets reads a Secret with both. Where the Ingress has our annotation for the
// CA, only the certificate for pods may be lost, which they judge themselves.
func upstreamSecrets(value string, into *carried) error {
	namespace, _, other := strings.Cut(value, "/")
	if other && namespace != into.ingress.Namespace && into.ingress.Annotations[annotationDestinationCA] != "" {
		into.differs = "it is a Secret of another namespace, so routers show pods no certificate; copy it into this one"
		return nil
	}
	if err := upstreamSecret(func(k *upstreamKeys) *said { return &k.ca })(value, into); err != nil {
		return err
	}
	return upstreamSecret(func(k *upstreamKeys) *said { return &k.client })(value, into)
}

func upstreamName(key func(*upstreamKeys) *said) func(string, *carried) error {
	return func(value string, into *carried) error {
		if len(validation.IsDNS1123Subdomain(value)) > 0 || value == "sni" || value == "host" {
			return fmt.Errorf("%q is not a host name in lower case", value)
		}
		return one(key(&into.upstream), value, into)
	}
}

func serverName(value string, _ *carried) error {
	if value != "on" && value != "off" {
		return fmt.Errorf("%q is neither on nor off", value)
	}
	return nil
}

func verifyDepth(value string, into *carried) error {
	if value == "0" || value == "1" {
		into.differs = "HAProxy does not bound the length of chains"
	}
	return nil
}

// proxyVersion takes the words of both controllers.
func proxyVersion(value string, into *carried) error {
	switch strings.TrimPrefix(value, "proxy-") {
	case "no", "":
		return nil
	case "proxy", "v1":
		into.upstream.proxy = said{"V1", into.field}
	case "v2":
		into.upstream.proxy = said{"V2", into.field}
	case "v2-ssl", "v2-ssl-cn":
		into.upstream.proxy = said{"V2", into.field}
		into.differs = "the header has no fields about TLS"
	default:
		return fmt.Errorf("%q is not a version of the PROXY protocol", value)
	}
	return nil
}

func serverProtocol(value string, into *carried) error {
	if value != "h2" {
		return fmt.Errorf("%q has no equivalent; there is h2", value)
	}
	into.upstream.protocol = said{policy.ProtocolH2C, into.field}
	return nil
}

func haproxyProtocol(value string, into *carried) error {
	switch strings.ToLower(value) {
	case "h1":
		into.upstream.protocol = said{policy.ProtocolHTTP1, into.field}
	case "h2", "grpc":
		into.upstream.protocol = said{policy.ProtocolH2C, into.field}
	case "h1-ssl":
		into.upstream.protocol = said{policy.ProtocolHTTP1, into.field}
		return serverTLS("true", into)
	case "h2-ssl", "grpcs":
		into.upstream.protocol = said{policy.ProtocolH2, into.field}
		return serverTLS("true", into)
	default:
		return fmt.Errorf("%q has no equivalent; there are h1, h2, h1-ssl, h2-ssl, grpc and grpcs", value)
	}
	return nil
}

// reencrypts reports whether routers will speak TLS to the pods.
func (c *carried) reencrypts() bool {
	own, set := c.ingress.Annotations[annotationTermination]
	if !set {
		own = c.annotations[annotationTermination]
	}
	return own == string(routev1.TLSTerminationReencrypt)
}

// finishUpstream puts what the annotations say together into a group.
func (c *conversion) finishUpstream(into *carried) {
	k := &into.upstream
	if k.protocol.value == policy.ProtocolH2C && into.reencrypts() {
		k.protocol.value = policy.ProtocolH2
	}
	if k.protocol.field != "" {
		c.shape(into, k.protocol.field, func(s *v1alpha1.PolicySpec) { upstreamOf(s).Protocol = k.protocol.value })
	}
	if k.proxy.field != "" {
		c.shape(into, k.proxy.field, func(s *v1alpha1.PolicySpec) { upstreamOf(s).ProxyProtocol = k.proxy.value })
	}
	c.finishUpstreamTLS(into)
}

func upstreamOf(s *v1alpha1.PolicySpec) *v1alpha1.Upstream {
	if s.Upstream == nil {
		s.Upstream = &v1alpha1.Upstream{}
	}
	return s.Upstream
}

// finishUpstreamTLS says whom routers trust and what they show, as the annotations mean it.
// That of our own about the CA counts before theirs.
func (c *conversion) finishUpstreamTLS(into *carried) {
	k := &into.upstream
	fields := []string{k.client.field, k.ca.field, k.name.field, k.sni.field}
	field := fields[max(0, slices.IndexFunc(fields, func(f string) bool { return f != "" }))]
	switch {
	case field == "":
		return // verifies alone is judged at the end
	case !into.reencrypts() && into.verifies == "":
		// As the other controllers have it: there are no certificates without TLS.
		c.warn(field, api.ReasonForeignAnnotation, "it is for TLS to the pods, which no annotation asks for", effectNone)
		return
	case !into.reencrypts():
		into.verifies = ""
		c.protect(field, "pods were verified, which needs TLS to them; ask for that, by "+annotationTermination+": reencrypt or the annotation of the same controller", false)
		return
	}
	t := &v1alpha1.UpstreamTLS{SNI: k.sni.value, ClientCertificate: v1alpha1.ObjectReference(k.client.value)}
	switch own := into.ingress.Annotations[annotationDestinationCA] != ""; {
	case own:
	case into.verifies == "": // then the CA in the Secret of ingress-nginx counts for nothing
		t.Mode = "Insecure"
	case k.ca.field == "":
		return // judged at the end
	default:
		t.CA = v1alpha1.ObjectReference(k.ca.value)
	}
	switch name := k.name.value; {
	case name == "":
	case t.Mode == "":
		t.Names = []string{name}
	case t.SNI == "":
		t.SNI = name
	}
	into.verifies = ""
	c.guard(into, field, func(s *v1alpha1.PolicySpec) { upstreamOf(s).TLS = t })
}
