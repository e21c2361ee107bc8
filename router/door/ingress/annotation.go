package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/policy"
)

// ownAnnotations are those that say what a Route of an Ingress is.
var ownAnnotations = []string{api.AnnotationPathType, api.AnnotationAnyHost, api.AnnotationIngressController, api.AnnotationIngressLabels, api.AnnotationIngressPolicy}

// annotationAllowHost lets labels of a host be long, for the API server's policy.
const annotationAllowHost = "route.openshift.io/allow-non-dns-compliant-host"

// meaningful returns the annotations of an Ingress that mean something on a
// Route: those that routers read or warn of, and those of OpenShift for Ingresses.
func meaningful(annotations map[string]string) map[string]string {
	read := map[string]bool{annotationTermination: true, annotationDestinationCA: true, annotationReconcileLabels: true, annotationAllowHost: true}
	for _, a := range policy.Annotations() {
		read[a.Key] = true
	}
	others := map[string]bool{api.AnnotationCertificates: true}
	for _, k := range ownAnnotations {
		delete(read, k)
		others[k] = true
	}
	found := map[string]string{}
	for k, v := range annotations {
		prefix, _, _ := strings.Cut(k, "/")
		// A key that the API server would not take makes no list of keys that it takes.
		// What is misspelt may have been meant to protect, so the router has to see it.
		ours := (prefix == "haproxy.router.openshift.io" || prefix == "router.openshift.io" || prefix == "fairlead.dev" && !others[k]) && len(validation.IsQualifiedName(strings.ToLower(k))) == 0
		if read[k] || ours {
			found[k] = v
		}
	}
	return found
}

// routeAnnotations are the annotations of the Ingress that mean something, what
// says which Route it is, what its canary gets, and the list of them.
func (c *conversion) routeAnnotations(key hostPath, canary string) map[string]string {
	annotations := meaningful(c.in.Ingress.Annotations)
	if _, own := annotations[policy.AnnotationCanary]; !own && canary != "" {
		annotations[policy.AnnotationCanary] = canary
	}
	rewrite := policy.AnnotationRewrite
	if c.moves {
		rewrite = policy.AnnotationRedirectPattern
	}
	_, own := annotations[rewrite]
	if text := c.rewrites[rulePath{key.path, key.exact, key.kind}]; !own && text != "" && !key.fallback {
		annotations[rewrite] = text
	}
	switch {
	case key.exact:
		annotations[api.AnnotationPathType] = "Exact"
	case key.fallback:
		annotations[api.AnnotationPathType] = "Default"
	case key.kind != "":
		annotations[api.AnnotationPathType] = key.kind
	}
	if key.host == "" {
		annotations[api.AnnotationAnyHost] = "true"
	}
	if c.only != "" {
		annotations[api.AnnotationIngressController] = c.only
	}
	if labels := c.in.Ingress.Labels; len(labels) > 0 {
		annotations[api.AnnotationIngressLabels] = joinLabels(labels)
	}
	if text := c.policyFor(key.host); text != "" {
		annotations[api.AnnotationIngressPolicy] = text
	}
	if len(annotations) > 0 {
		annotations[api.AnnotationFromIngress] = joinKeys(annotations)
	}
	return annotations
}

// joinLabels writes labels as policies read them (api.AnnotationIngressLabels).
func joinLabels(labels map[string]string) string {
	items := make([]string, 0, len(labels))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		items = append(items, k+"="+labels[k])
	}
	return strings.Join(items, ",")
}

// Copies reports whether certificates are copied into the Routes, keys included,
// in place of being referred to: only where the Ingress says so.
func Copies(i *networkingv1.Ingress) bool {
	return i.Annotations[api.AnnotationCertificates] == copyCertificates
}

const copyCertificates = "copy"

func (c *conversion) checkCertificates() {
	if value, set := c.in.Ingress.Annotations[api.AnnotationCertificates]; set && value != copyCertificates && value != "reference" {
		c.warn("metadata.annotations["+api.AnnotationCertificates+"]", api.ReasonInvalidAnnotation,
			"unknown value "+strconv.Quote(value)+"; use one of: copy, reference", "the Routes refer to the Secrets of the certificates")
	}
}

func (c *conversion) checkLabels() {
	if _, err := reconcileLabels(c.in.Ingress); err != nil {
		c.warn("metadata.annotations["+annotationReconcileLabels+"]", api.ReasonInvalidAnnotation, err.Error(), "labels are copied at creation only")
	}
}

// reconcileLabels reports whether labels of the Routes follow those of the
// Ingress after creation.
func reconcileLabels(i *networkingv1.Ingress) (bool, error) {
	value, ok := i.Annotations[annotationReconcileLabels]
	if !ok {
		return false, nil
	}
	follow, err := strconv.ParseBool(strings.TrimSpace(value))
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", value)
	}
	return follow, nil
}
