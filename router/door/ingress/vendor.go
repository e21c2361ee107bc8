package ingress

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// Prefixes of the annotations of other Ingress controllers.
const (
	prefixNginx    = "nginx.ingress.kubernetes.io/"
	prefixHAProxy  = "haproxy.org/"
	prefixHAProxy2 = "haproxy-ingress.github.io/"
)

// What findings about protection say happens now.
const (
	effectClosed = "all paths of the Ingress answer 503, with passthrough by closing the connection; remove the annotation to serve them without"
	effectHost   = "all paths of its hosts answer 503, with passthrough by closing the connection, those of other Ingresses of the namespace too; remove the annotation to serve them without"
)

// vendorAnnotation is what becomes of an annotation of another controller.
type vendorAnnotation struct {
	// carry says the same in our words. If it is nil, or fails, nothing does.
	carry func(value string, into *carried) error
	// becomes is what carry makes of it, for the reference. It is empty where carry
	// only judges.
	becomes string
	// differs is what is not the same then, for the reference; values for which that
	// matters have a finding, too.
	differs string
	// instead is what to write where nothing is carried over; with carry it is
	// what differs, if anything.
	instead string
	// protects reports values whose loss would open what was closed. Then the
	// paths of the Ingress answer 503.
	protects func(value string) bool
	// host is set if it protects all paths of its hosts, those of other
	// Ingresses too.
	host bool
	// harmless ones need no equivalent.
	harmless bool
}

// carried is what annotations of other controllers ask for in our words.
type carried struct {
	annotations map[string]string
	// insecure is what plain HTTP gets, or empty.
	insecure routev1.InsecureEdgeTerminationPolicyType
	// field is that of the annotation in hand.
	field string
	// ingress is a copy of the Ingress, which paths may be changed of.
	ingress *networkingv1.Ingress
	// same is set where the last annotation means the same, although others of
	// its name do not; prefixes if patterns of paths became prefixes.
	same, prefixes bool
	// nothing is set where the last annotation was read and has no equivalent.
	nothing bool
	// differs is set where the value of the last annotation has no exact equivalent.
	differs string
	// rewrites say what becomes of the paths of patterns that became rules, and further
	// which rules are further ones of a pattern, by their field with that of the first.
	rewrites map[rulePath]string
	further  map[string]string
	// moves says that the rewrites are addresses to which requests are redirected.
	moves bool
	// groups are what only a policy can say.
	groups v1alpha1.PolicySpec
	// These are what several annotations say together, and what is read when all of
	// them are known.
	redirects redirectKeys
	cors      corsKeys
	limits    limitKeys
	auth      authKeys
	clients   clientKeys
	headers   headerKeys
	cookies   cookieKeys
	answers   answerKeys
	upstream  upstreamKeys
	// standIn is the Service of default-backend, and errorPages for which statuses it has
	// pages.
	standIn    said
	errorPages errorPages
	mirror     mirrorKeys
	tracing    tracingKeys
	// detects is the field of an annotation that has requests judged.
	detects string
	// patterns is the field of an annotation by which paths are patterns that
	// have no equivalent; verifies is that of one by which pods are verified.
	patterns, verifies string
	// folded is the field of an annotation by which the case of letters in paths made
	// no difference; here it does.
	folded string
}

func (c *carried) tls() bool { return len(c.ingress.Spec.TLS) > 0 }

// passthrough reports whether routers will see no requests.
func (c *carried) passthrough() bool {
	return cmp.Or(c.ingress.Annotations[annotationTermination], c.annotations[annotationTermination]) == string(routev1.TLSTerminationPassthrough)
}

// said is the value of an annotation, with its field.
type said struct{ value, field string }

// wrong is a value that has no equivalent, and what happens now. Other errors mean
// that the annotation has no effect.
type wrong struct{ message, effect string }

func (w wrong) Error() string { return w.message }

// set asks for an annotation. Of several values the better one counts: of
// times the longest, of limits the smallest.
func (c *carried) set(key, value string, better func(value, than string) bool) {
	if old, there := c.annotations[key]; !there || better != nil && better(value, old) {
		c.annotations[key] = value
	}
}

// carryVendorAnnotations replaces the annotations of other controllers by ours, where there is
// a word for them and the Ingress does not say otherwise itself. It closes the
// Ingress if it must not be served without what they protect.
func (c *conversion) carryVendorAnnotations() {
	original := c.in.Ingress
	into := &carried{annotations: map[string]string{}, ingress: original.DeepCopy()}
	c.effect = effectClosed
	for _, key := range slices.Sorted(maps.Keys(original.Annotations)) {
		if f, ok := vendorAnnotationOf(key); ok {
			c.carry(key, original.Annotations[key], f, into)
		}
	}
	c.ownPatterns(into)
	c.finish(into)
	c.insecure, c.rewrites, c.moves = into.insecure, into.rewrites, into.moves
	for field, first := range into.further {
		if text, has := c.branches[first]; has {
			c.branches[field] = text
		}
	}
	for key, value := range into.annotations {
		if _, own := original.Annotations[key]; !own {
			into.ingress.Annotations[key] = value
		}
	}
	c.in.Ingress = into.ingress
	c.together(into)
	if _, set := original.Annotations[api.AnnotationIngressPolicy]; set {
		c.protect("metadata.annotations["+api.AnnotationIngressPolicy+"]", "only the operator writes it, into Routes; write a RoutePolicy in its place", false)
	}
	c.checkSize()
}

// together judges what annotations mean only together.
func (c *conversion) together(into *carried) {
	annotations := c.in.Ingress.Annotations
	if into.verifies != "" && (annotations[annotationTermination] != string(routev1.TLSTerminationReencrypt) || annotations[annotationDestinationCA] == "") {
		c.protect(into.verifies, "the certificates of the pods were verified; set "+annotationTermination+": reencrypt, and "+annotationDestinationCA+": a Secret with their CA in tls.crt", false)
	}
	if !c.closed && !c.keepsOut() {
		return
	}
	if into.folded != "" && !c.closed {
		c.warn(into.folded, api.ReasonForeignAnnotation, "ingress-nginx reads such paths without regard to the case of letters, which counts here",
			"a request for the same path in other letters is not kept away by this Ingress; it goes to what else serves the host")
	}
	if into.patterns == "" {
		into.patterns = patterns(c.in.Ingress)
	}
	if into.patterns != "" {
		c.protect(into.patterns, "the Ingress keeps requests away from paths that are patterns, and what these mean is not known here; write them with pathType Prefix or Exact", true)
	}
}

// keepsOut reports whether annotations keep clients away, of ours or converted.
func (c *conversion) keepsOut() bool {
	return keepsOut(c.in.Ingress.Annotations) || c.groups.Authentication != nil || c.groups.Limits != nil
}

// keepsOut reports whether annotations of ours keep clients away.
func keepsOut(annotations map[string]string) bool {
	for _, key := range []string{
		api.AnnotationAllowlist, api.AnnotationWhitelist, api.AnnotationLimit,
		policy.AnnotationAllow, policy.AnnotationDeny, policy.AnnotationLimit, policy.AnnotationBasicSecret, policy.AnnotationAuthURL, policy.AnnotationClientCA,
	} {
		if annotations[key] != "" && annotations[key] != "false" {
			return true
		}
	}
	return false
}

// protect closes the Ingress, or all of its hosts.
func (c *conversion) protect(field, message string, host bool) {
	c.closed = true
	effect := c.effect
	if host && c.hostwide == "" {
		c.hostwide = field
	}
	if host && effect == effectClosed {
		effect = effectHost
	}
	c.find(api.SeverityError, field, api.ReasonForeignProtection, message, effect)
}

func (c *conversion) carry(key, value string, f vendorAnnotation, into *carried) {
	if f.harmless || f.carry == nil && !enabled(value) {
		return
	}
	into.field = "metadata.annotations[" + key + "]"
	field := into.field
	var err error
	if f.carry != nil {
		into.same, into.nothing, into.differs = false, false, ""
		if err = f.carry(value, into); err == nil {
			c.differs(field, f.instead, into)
			return
		}
	}
	if f.protects != nil && f.protects(value) {
		message := f.instead
		if err != nil {
			message = err.Error()
		}
		c.protect(field, message, f.host)
		return
	}
	if err != nil {
		c.invalid(field, err)
		return
	}
	c.warn(field, api.ReasonForeignAnnotation, f.instead, effectNone)
}

const effectNone = "the annotation has no effect"

// invalid tells that the value of an annotation that protects nothing is not used.
func (c *conversion) invalid(field string, err error) {
	effect := effectNone
	if w := (wrong{}); errors.As(err, &w) {
		effect = w.effect
	}
	c.warn(field, api.ReasonInvalidAnnotation, err.Error(), effect)
}

// differs tells what is not quite as it was.
func (c *conversion) differs(field, always string, into *carried) {
	message, effect := into.differs, "the nearest equivalent is used"
	if always != "" && !into.same {
		message = always
	}
	if into.nothing {
		effect = effectNone
	}
	if message != "" {
		c.warn(field, api.ReasonForeignAnnotation, message, effect)
	}
}

func cutPrefix(key string) (prefix, name string, ok bool) {
	for _, prefix := range []string{prefixNginx, prefixHAProxy, prefixHAProxy2} {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			return prefix, name, true
		}
	}
	return "", "", false
}

// always and enabled say which values of an annotation protect something.
func always(string) bool { return true }

func enabled(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "false", "off", "none", "disabled":
		return false
	}
	return true
}

// to carries a value over as it is: the routers judge it.
func to(key string) func(string, *carried) error {
	return func(value string, into *carried) error {
		into.set(key, value, nil)
		return nil
	}
}

// oneOf carries over the values that have an equivalent.
func oneOf(key string, words map[string]string) func(string, *carried) error {
	return func(value string, into *carried) error {
		word, ok := words[value]
		if !ok {
			return fmt.Errorf("%q has no equivalent; there are %s", value, strings.Join(slices.Sorted(maps.Keys(words)), ", "))
		}
		into.set(key, word, nil)
		return nil
	}
}
