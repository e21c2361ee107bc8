package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
)

// Prefixes of the annotations of other Ingress controllers.
const (
	prefixNginx    = "nginx.ingress.kubernetes.io/"
	prefixHAProxy  = "haproxy.org/"
	prefixHAProxy2 = "haproxy-ingress.github.io/"
)

// annotationCanary makes an Ingress the second one for paths of another, which
// it must not take from that one.
const annotationCanary = prefixNginx + "canary"

// What findings about protection say happens now.
const (
	effectClosed = "all paths of the Ingress answer 503, with passthrough by closing the connection; remove the annotation to serve them without"
	effectCanary = "nothing of the Ingress is served, its paths are those of the Ingress whose canary it is"
)

// foreign is what becomes of an annotation of another controller.
type foreign struct {
	// carry says the same in our words. If it is nil, or fails, nothing does.
	carry func(value string, into *carried) error
	// instead is what to write where nothing is carried over; with carry it is
	// what differs, if anything.
	instead string
	// protects tells values whose loss would open what was closed. Then the
	// paths of the Ingress answer 503.
	protects func(value string) bool
	// harmless ones need no equivalent.
	harmless bool
}

// carried is what annotations of other controllers ask for in our words.
type carried struct {
	annotations map[string]string
	// insecure is what plain HTTP gets, or empty.
	insecure routev1.InsecureEdgeTerminationPolicyType
	// ingress is a copy of the Ingress, which paths may be changed of.
	ingress *networkingv1.Ingress
	// same is set where the last annotation means the same, although others of
	// its name do not; prefixes if patterns of paths became prefixes.
	same, prefixes bool
}

func (c *carried) tls() bool { return len(c.ingress.Spec.TLS) > 0 }

// set asks for an annotation. Of several values the better one counts: of
// times the longest, of limits the smallest.
func (c *carried) set(key, value string, better func(value, than string) bool) {
	if old, there := c.annotations[key]; !there || better != nil && better(value, old) {
		c.annotations[key] = value
	}
}

// foreign replaces the annotations of other controllers by ours, where there is
// a word for them and the Ingress does not say otherwise itself. It closes the
// Ingress if it must not be served without what they protect, and reports false
// if it has no paths of its own.
func (c *conversion) foreign() bool {
	original := c.in.Ingress
	into := &carried{annotations: map[string]string{}, ingress: original.DeepCopy()}
	canary := enabled(original.Annotations[annotationCanary])
	c.effect = effectClosed
	if canary {
		c.effect = effectCanary
	}
	for _, key := range slices.Sorted(maps.Keys(original.Annotations)) {
		prefix, name, ok := cutPrefix(key)
		if !ok {
			continue
		}
		f, known := foreignTable(prefix)[name]
		if !known {
			f.instead = "it is not known; look for a spelling mistake"
		}
		c.carry(key, original.Annotations[key], f, into)
	}
	c.insecure = into.insecure
	for key, value := range into.annotations {
		if _, own := original.Annotations[key]; !own {
			into.ingress.Annotations[key] = value
		}
	}
	c.in.Ingress = into.ingress
	return !canary
}

func (c *conversion) carry(key, value string, f foreign, into *carried) {
	if f.harmless || f.carry == nil && !enabled(value) {
		return
	}
	field := "metadata.annotations[" + key + "]"
	var err error
	if f.carry != nil {
		into.same = false
		if err = f.carry(value, into); err == nil {
			if f.instead != "" && !into.same {
				c.warn(field, api.ReasonForeignAnnotation, f.instead, "the nearest equivalent is used")
			}
			return
		}
	}
	if f.protects != nil && f.protects(value) {
		message := f.instead
		if err != nil {
			message = err.Error()
		}
		c.closed = true
		c.find(api.SeverityError, field, api.ReasonForeignProtection, message, c.effect)
		return
	}
	if err != nil {
		c.warn(field, api.ReasonInvalidAnnotation, err.Error(), "the annotation has no effect")
		return
	}
	c.warn(field, api.ReasonForeignAnnotation, f.instead, "the annotation has no effect")
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

func enabled(value string) bool { return value != "false" && value != "off" && value != "" }

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
