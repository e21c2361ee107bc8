package ingress

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/policy"
)

// redirectKeys are the annotations that answer with another address.
type redirectKeys struct {
	// Of both, ingress-nginx takes the temporary one.
	temporary, permanent redirectKey
	// port stands in redirects to https.
	port int32
}

type redirectKey struct {
	rule  *v1alpha1.RedirectRule
	code  int32
	field string
}

func temporary(k *redirectKeys) *redirectKey { return &k.temporary }
func permanent(k *redirectKeys) *redirectKey { return &k.permanent }

// redirectTo reads the address, which holds for all requests of the Ingress.
func redirectTo(key func(*redirectKeys) *redirectKey, read func(string) (v1alpha1.RedirectRule, error)) func(string, *carried) error {
	return func(value string, into *carried) error {
		rule, err := read(value)
		if err != nil {
			return err
		}
		if err := policy.Usable(&v1alpha1.PolicySpec{Redirects: &v1alpha1.Redirects{Rules: []v1alpha1.RedirectRule{rule}}}); err != nil {
			return fmt.Errorf("%q cannot be redirected to: %w", value, err)
		}
		k := key(&into.redirects)
		k.rule, k.field = &rule, into.field
		return nil
	}
}

// site is the part of an address before the path.
var site = regexp.MustCompile(`^(?:(https?)://)?([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)(?::([0-9]{1,5}))?$`)

// wholeAddress reads an address that ingress-nginx redirects to. Of its variables only
// a $request_uri at the end has an equivalent.
func wholeAddress(value string) (v1alpha1.RedirectRule, error) {
	before, kept := strings.CutSuffix(value, "$request_uri")
	if !kept {
		return v1alpha1.RedirectRule{To: v1alpha1.RedirectTarget{URL: value}}, nil
	}
	rule, err := sameAddress(before)
	if err == nil && rule.To.Scheme == "" {
		err = errors.New("the address has no scheme")
	}
	return rule, err
}

// sameAddress reads the site that path and query are asked for at.
func sameAddress(value string) (v1alpha1.RedirectRule, error) {
	m := site.FindStringSubmatch(value)
	if m == nil {
		return v1alpha1.RedirectRule{}, fmt.Errorf("%q is not the site of an address, with host and port", value)
	}
	to := v1alpha1.RedirectTarget{Scheme: m[1], Host: m[2]}
	if m[3] != "" {
		port, err := strconv.ParseUint(m[3], 10, 16)
		if err != nil {
			return v1alpha1.RedirectRule{}, fmt.Errorf("%q has no port: %w", value, err)
		}
		to.Port = int32(port)
	}
	return v1alpha1.RedirectRule{To: to}, nil
}

// redirectCode reads a status. Those without an equivalent are the nearest one.
func redirectCode(key func(*redirectKeys) *redirectKey, usual int32) func(string, *carried) error {
	return func(value string, into *carried) error {
		code, err := strconv.ParseUint(value, 10, 10)
		switch {
		case err != nil || code < 300 || code > 308:
			return fmt.Errorf("%q is not the status of a redirect; it is one of 301, 302, 303, 307 and 308", value)
		case slices.Contains(match.RedirectStatuses, int(code)):
			key(&into.redirects).code = int32(code)
		default:
			into.differs = fmt.Sprintf("%d is no redirect to an address; %d is used", code, usual)
		}
		return nil
	}
}

// finishRedirects asks for the redirect.
func (c *conversion) finishRedirects(into *carried) {
	k, usual := into.redirects.temporary, int32(302)
	if k.rule == nil {
		k, usual = into.redirects.permanent, 301
	}
	if port := into.redirects.port; port != 0 {
		into.groups.Redirects = &v1alpha1.Redirects{HTTPS: &v1alpha1.RedirectHTTPS{Port: port}}
	}
	if _, own := c.in.Ingress.Annotations[policy.AnnotationRedirect]; k.rule == nil || own {
		return
	}
	if k.code == 0 {
		k.code = usual
	}
	if url := k.rule.To.URL; url != "" {
		into.set(policy.AnnotationRedirect, url, nil)
		into.set(policy.AnnotationRedirectCode, strconv.Itoa(int(k.code)), nil)
		return
	}
	k.rule.Code = k.code
	c.shape(into, k.field, func(s *v1alpha1.PolicySpec) {
		redirects := &v1alpha1.Redirects{Rules: []v1alpha1.RedirectRule{*k.rule}}
		if s.Redirects != nil {
			redirects.HTTPS = s.Redirects.HTTPS
		}
		s.Redirects = redirects
	})
}

// otherName asks for the second name of the hosts, which all have www. or all have not.
func otherName(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	switch {
	case err != nil:
		return fmt.Errorf("%q is neither true nor false", value)
	case !on:
		return nil
	}
	with, without := 0, 0
	for _, r := range into.ingress.Spec.Rules {
		switch {
		case r.Host == "" || strings.HasPrefix(r.Host, "*"): // has no other name
		case strings.HasPrefix(r.Host, "www."):
			with++
		default:
			without++
		}
	}
	switch {
	case with > 0 && without > 0:
		return errors.New("some hosts begin with www. and others do not; write an Ingress for each kind, with " + policy.AnnotationWWW)
	case with > 0:
		into.set(policy.AnnotationWWW, "Add", nil)
	case without > 0:
		into.set(policy.AnnotationWWW, "Strip", nil)
	}
	return nil
}

func appRoot(value string, into *carried) error {
	if err := policy.Usable(&v1alpha1.PolicySpec{Redirects: &v1alpha1.Redirects{AppRoot: value}}); err != nil {
		return fmt.Errorf("%q cannot be redirected to: %w", value, err)
	}
	into.set(policy.AnnotationAppRoot, value, nil)
	return nil
}

// redirect is about plain HTTP where the Ingress has TLS.
func redirect(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	switch {
	case err != nil:
		return fmt.Errorf("%q is neither true nor false", value)
	case on:
		into.insecure = routev1.InsecureEdgeTerminationPolicyRedirect
	case into.insecure == "":
		into.insecure = routev1.InsecureEdgeTerminationPolicyAllow
	}
	return nil
}

// redirect308 is redirect with the status of ingress-nginx.
func redirect308(value string, into *carried) error {
	if err := redirect(value, into); err != nil {
		return err
	}
	if on, err := strconv.ParseBool(value); err == nil && on && into.tls() {
		into.set(policy.RedirectStatus, "308", nil)
	}
	return nil
}

// forceRedirect is for Ingresses without TLS, too, which ends in front of the
// controller then. That is unknown here.
func forceRedirect(value string, into *carried) error {
	if on, err := strconv.ParseBool(value); err == nil && on && !into.tls() {
		return errors.New("plain HTTP is redirected where the Ingress has TLS; add spec.tls")
	}
	return redirect308(value, into)
}

// httpsCode is the status of the redirect to https.
func httpsCode(value string, into *carried) error {
	if n, err := strconv.Atoi(value); err != nil || !slices.Contains(match.RedirectStatuses, n) {
		return fmt.Errorf("unknown status %q; use one of: 301, 302, 303, 307, 308", value)
	}
	if into.tls() {
		into.set(policy.RedirectStatus, value, nil)
	}
	return nil
}

// httpsPort is the port of the redirect to https.
func httpsPort(value string, into *carried) error {
	n, err := strconv.ParseUint(value, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is not a port", value)
	}
	if n != 443 && into.tls() {
		into.redirects.port = int32(n)
	}
	return nil
}
