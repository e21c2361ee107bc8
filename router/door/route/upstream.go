package route

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// upstream is how the router speaks to the pods of a route.
type upstream struct {
	// protocol is one of policy.Protocol…, or empty.
	protocol string
	// verifyHost is the name that certificates of pods must be for, or empty.
	verifyHost string
	// client is the certificate that pods are shown, or nil.
	client *model.Certificate
	// more is what few servers have, or nil.
	more *model.MoreOptions
}

// clientHost stands for the host of certificates that pods are shown. No route has it.
const clientHost = "\x00client"

// readUpstream reads what the group upstream asks for, and returns why nothing may get
// through, if a part that protects cannot be used; e may be nil.
func (b *builder) readUpstream(c *model.Claim, spec *policy.Spec, e *policy.Effective) []policy.Closing {
	if spec.Groups.Upstream == nil {
		return nil
	}
	more := model.MoreOptions{ProxyProtocol: spec.ProxyProtocol()}
	var closings []policy.Closing
	if t := spec.UpstreamTLS(); t != nil && c.Termination != model.Passthrough { // which is closed already
		u := &upstreamReader{b: b, effective: e, references: b.references(e, policy.GroupUpstreamTLS, spec.UpstreamIn)}
		u.read(c, spec, t, &more)
		b.result.Pending = b.result.Pending || u.references.Pending
		closings = u.closings
	}
	b.upstream.protocol = b.protocol(c, spec.Groups.Upstream.Protocol)
	more.OnlyHTTP2 = b.upstream.protocol == policy.ProtocolH2
	if more != (model.MoreOptions{}) {
		b.upstream.more = &more
	}
	return closings
}

// protocol returns what is spoken to pods, unless the route's termination cannot.
func (b *builder) protocol(c *model.Claim, asked string) string {
	needs := map[string]string{policy.ProtocolH2C: "H2C is for plain and edge termination", policy.ProtocolH2: "H2 is for re-encrypt termination"}[asked]
	reencrypt := c.Termination == model.Reencrypt
	if c.Termination == model.Passthrough || needs == "" || (asked == policy.ProtocolH2) == reencrypt {
		return asked
	}
	b.upstreamFinding(b.result.Effective, policy.GroupUpstream, "protocol", api.SeverityWarning, api.ReasonPolicyNotApplicable, needs, effectDefault)
	return ""
}

// upstreamFinding reports about a field of the group.
func (b *builder) upstreamFinding(e *policy.Effective, g policy.Group, part string, severity api.Severity, reason api.Reason, message, effect string) {
	field, text := "metadata.annotations["+api.AnnotationIngressPolicy+"]", "upstream."+strings.TrimPrefix(string(g), "upstream.")+"."+part+": "+message
	if g == policy.GroupUpstream {
		text = "upstream." + part + ": " + message
	}
	if from := e.Origin(g); from != nil && policy.IsKind(from.Key.Kind) {
		field, text = "", from.Title()+" "+strings.TrimSuffix(from.Field(g)+"."+part, ".")+": "+message
	}
	b.find(severity, field, reason, text, effect)
}

// upstreamReader reads upstream.tls.
type upstreamReader struct {
	b          *builder
	effective  *policy.Effective
	references *door.References
	closings   []policy.Closing
}

func (u *upstreamReader) close(field string, reason api.Reason, message string) {
	key, at := u.b.result.Object, "metadata.annotations["+api.AnnotationIngressPolicy+"]"
	if o := u.effective.Origin(policy.GroupUpstreamTLS); o != nil && policy.IsKind(o.Key.Kind) {
		key, at = o.Key, strings.TrimSuffix(o.Field(policy.GroupUpstreamTLS)+"."+field, ".")
	}
	u.closings = append(u.closings, policy.Closing{Key: key, Field: at, Reason: reason, Message: message})
}

func (u *upstreamReader) read(c *model.Claim, spec *policy.Spec, t *v1alpha1.UpstreamTLS, more *model.MoreOptions) {
	if c.Termination != model.Reencrypt {
		u.close("", api.ReasonPolicyNotApplicable, "needs re-encrypt termination: the router speaks no TLS to the pods of other Routes")
		return
	}
	switch insecure := policy.Insecure(t); {
	case !insecure:
		u.verify(spec, t)
	case u.insecure():
		more.SNI = t.SNI
	}
	if t.ClientCertificate == "" {
		return
	}
	data := u.secret("clientCertificate", string(t.ClientCertificate))
	if data == nil {
		return
	}
	if t.ClientCertificate == t.CA && len(data[corev1.TLSCertKey])+len(data[corev1.TLSPrivateKeyKey]) == 0 {
		return // a Secret for both that has a CA only, as those of ingress-nginx may
	}
	cert, err := u.b.read(c.Owner, clientHost, certificate.Texts{Chain: string(data[corev1.TLSCertKey]), Key: string(data[corev1.TLSPrivateKeyKey])})
	if err != nil {
		u.close("clientCertificate", api.ReasonSecretInvalid, "Secret "+string(t.ClientCertificate)+": "+err.Error())
		return
	}
	u.b.upstream.client, more.ClientCert = cert, cert.ID
}

// insecure trusts all pods, unless the Route itself says whom to trust; then it reports
// false.
func (u *upstreamReader) insecure() bool {
	b := u.b
	if b.ca != nil && !b.serviceCA {
		b.upstreamFinding(u.effective, policy.GroupUpstreamTLS, "mode", api.SeverityWarning, api.ReasonPolicyNotApplicable, "the Route verifies pods by its destinationCACertificate", "they are verified")
		return false
	}
	b.ca, b.serviceCA = nil, false
	b.withoutUnverified()
	b.upstreamFinding(u.effective, policy.GroupUpstreamTLS, "mode", api.SeverityInfo, api.ReasonUnverifiedBackend, "is Insecure, so certificates of pods are not verified",
		"traffic to the pod is encrypted, but anyone between could answer")
	return true
}

// withoutUnverified takes back what was said before the policy was read.
func (b *builder) withoutUnverified() {
	b.result.Findings = slices.DeleteFunc(b.result.Findings, func(f api.Finding) bool { return f.Reason == api.ReasonUnverifiedBackend })
}

func (u *upstreamReader) verify(spec *policy.Spec, t *v1alpha1.UpstreamTLS) {
	b := u.b
	switch {
	case t.CA != "" && b.ca != nil && !b.serviceCA:
		u.close("ca", api.ReasonPolicyConflict, "the Route has a destinationCACertificate, and pods can be verified by one of both only")
	case t.CA != "":
		u.authorities(string(t.CA))
	case b.ca == nil:
		u.close("ca", api.ReasonPolicyClosed, "is needed: the Route has no destinationCACertificate, and the router no CA of its own for pods")
	}
	name, field := t.SNI, "sni"
	if len(t.Names) > 0 {
		name, field = t.Names[0], "names"
	}
	if name != "" && spec.ServerName != "" && spec.ServerName != name {
		u.close(field, api.ReasonPolicyConflict, "the Route has "+api.AnnotationServerName+": "+spec.ServerName+", and certificates of pods are checked for one name")
		return
	}
	b.upstream.verifyHost = name
}

// authorities reads those that pods must be signed by.
func (u *upstreamReader) authorities(name string) {
	data := u.secret("ca", name)
	if data == nil {
		return
	}
	text := strings.TrimSpace(string(data[corev1.ServiceAccountRootCAKey]))
	if text == "" {
		u.close("ca", api.ReasonSecretInvalid, "Secret "+name+" has no key ca.crt")
		return
	}
	ca, err := u.b.past.Material.Bundle(u.b.result.Object, text)
	if err != nil {
		u.close("ca", api.ReasonSecretInvalid, "Secret "+name+": ca.crt: "+err.Error())
		return
	}
	u.b.ca, u.b.serviceCA = ca, false
	u.b.withoutUnverified()
}

// secret returns the content of a Secret, or nil if it cannot be used, or cannot be known.
func (u *upstreamReader) secret(field, name string) map[string][]byte {
	data, err := u.references.Secret(name)
	if err != nil {
		var unknown interface{ Unknown() bool }
		if !errors.As(err, &unknown) || !unknown.Unknown() {
			u.close(field, policy.ReasonOf(err, api.ReasonSecretNotFound), err.Error())
		}
		return nil
	}
	if data == nil {
		data = map[string][]byte{}
	}
	return data
}
