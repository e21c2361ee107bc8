package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// Annotations of the group authentication.
const (
	AnnotationBasicSecret         = "fairlead.dev/basic-secret" //nolint:gosec // the name of an annotation
	AnnotationBasicRealm          = "fairlead.dev/basic-realm"
	AnnotationAuthURL             = "fairlead.dev/auth-url"
	AnnotationAuthSignIn          = "fairlead.dev/auth-signin"
	AnnotationAuthResponseHeaders = "fairlead.dev/auth-response-headers"
	AnnotationAuthCache           = "fairlead.dev/auth-cache"
	AnnotationSatisfy             = "fairlead.dev/satisfy"
)

var (
	authURLText = regex.Later(`^([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)(?::([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?))?(/[!-~]{0,999})?$`)
	realmText   = regex.Later(`^[ -~]{1,256}$`)
	signInText  = regex.Later(`^https?://[!-~]{1,1000}$`)
)

const (
	maxAuthHeaders = 16
	maxAuthCache   = time.Hour
)

// setAuthentication changes a copy of the group, because Specs share groups.
func (s *Spec) setAuthentication(change func(*v1alpha1.Authentication)) {
	var a v1alpha1.Authentication
	if s.Groups.Authentication != nil {
		a = *s.Groups.Authentication
	}
	change(&a)
	a.None = false // of what another annotation says
	s.Groups.Authentication = &a
}

func setBasicSecret(s *Spec, v string) error {
	if len(validation.IsDNS1123Subdomain(v)) > 0 {
		return errors.New("must be the name of a Secret of the namespace")
	}
	s.setAuthentication(func(a *v1alpha1.Authentication) {
		a.Basic = &v1alpha1.BasicAuthentication{Secret: v1alpha1.ObjectReference(v)}
	})
	return nil
}

// The setters of what says more about a method come after that of the method, and do
// nothing without it.

func setBasicRealm(s *Spec, v string) error {
	if !realmText().MatchString(v) {
		return errors.New("must be 1 to 256 visible ASCII characters and spaces")
	}
	if a := s.Groups.Authentication; a != nil && a.Basic != nil {
		basic := *a.Basic
		basic.Realm = v
		s.setAuthentication(func(a *v1alpha1.Authentication) { a.Basic = &basic })
	}
	return nil
}

func setAuthURL(s *Spec, v string) error {
	if signInText().MatchString(v) {
		s.setAuthentication(func(a *v1alpha1.Authentication) { a.External = &v1alpha1.ExternalAuthentication{URL: v} })
		return nil
	}
	m := authURLText().FindStringSubmatch(v)
	if m == nil {
		return errors.New("must be SERVICE/PATH or SERVICE:PORT/PATH of a Service of the namespace, or an address with http:// or https://")
	}
	service := v1alpha1.AuthService{Name: v1alpha1.ObjectName(m[1]), Path: m[3]}
	if m[2] != "" {
		port := intstr.Parse(m[2])
		service.Port = &port
	}
	s.setAuthentication(func(a *v1alpha1.Authentication) { a.External = &v1alpha1.ExternalAuthentication{Service: &service} })
	return nil
}

// external reports whether an auth server is asked, for rows that say more about it.
func (s *Spec) external() bool {
	return s.Groups.Authentication != nil && s.Groups.Authentication.External != nil
}

func (s *Spec) setExternal(change func(*v1alpha1.ExternalAuthentication)) {
	if !s.external() {
		return
	}
	x := *s.Groups.Authentication.External
	change(&x)
	s.setAuthentication(func(a *v1alpha1.Authentication) { a.External = &x })
}

func setAuthSignIn(s *Spec, v string) error {
	if !signInText().MatchString(v) {
		return errors.New("must be an address that begins with http:// or https://")
	}
	s.setExternal(func(x *v1alpha1.ExternalAuthentication) { x.SignIn = &v1alpha1.SignIn{URL: v} })
	return nil
}

// setAuthResponseHeaders reads names that pods will trust: what cannot be read closes,
// because the client's own headers of these names would reach the pods.
func setAuthResponseHeaders(s *Spec, v string) error {
	list := items(v)
	if len(list) == 0 || len(list) > maxAuthHeaders {
		return fmt.Errorf("must hold 1 to %d names of headers", maxAuthHeaders)
	}
	var names []v1alpha1.HeaderName
	for _, name := range list {
		if !model.HeaderName(name) {
			return fmt.Errorf("%q is not the name of a header", name)
		}
		names = append(names, v1alpha1.HeaderName(name))
	}
	s.setExternal(func(x *v1alpha1.ExternalAuthentication) { x.ResponseHeaders = names })
	return nil
}

func setAuthCache(s *Spec, v string) error {
	d, err := api.ParseTime(v)
	if err != nil || d <= 0 || d > maxAuthCache {
		return errors.New("must be a time such as 30s, 1h at most")
	}
	s.setExternal(func(x *v1alpha1.ExternalAuthentication) {
		x.Cache = &v1alpha1.AuthCache{TTL: v1alpha1.Duration(strings.TrimSpace(v))}
	})
	return nil
}

// Words of authentication.satisfy.
const (
	SatisfyAll = "All"
	SatisfyAny = "Any"
)

// setSatisfy comes after the rows of methods. What cannot be read leaves All, which is
// the stricter one.
func setSatisfy(s *Spec, v string) error {
	if v != SatisfyAll && v != SatisfyAny {
		return errors.New("must be All or Any")
	}
	if s.Groups.Authentication != nil {
		s.setAuthentication(func(a *v1alpha1.Authentication) { a.Satisfy = v })
	}
	return nil
}

func satisfiesAny(spec *v1alpha1.PolicySpec) bool {
	return spec.Authentication != nil && spec.Authentication.Satisfy == SatisfyAny
}

// Alone completes what annotations ask for where no policy is for the object.
func (s *Spec) Alone() {
	if a := s.Groups.Authentication; a != nil && a.None {
		s.Groups.Authentication = nil
	}
	if !satisfiesAny(&s.Groups) {
		return
	}
	s.Listed = s.takeAllow(s.Allow, s.Restricted)
	s.Restricted, s.Allow = false, nil
}

// applyEither takes in whom the source admits by address that also says how clients show
// who they are. Lists of other sources hold beside that: no tenant's policy opens what
// an administrator's keeps shut.
func (s *Spec) applyEither(e *Effective) {
	s.Listed = nil
	if e.Either == nil {
		return
	}
	var list []netip.Prefix
	restricted := false
	if a := e.Either.Access; a != nil {
		list, restricted = a.Allow, a.Restricted
	}
	if e.Either.Rank == RankAnnotations {
		list = s.takeAllow(list, restricted)
	}
	s.Listed = list
}

// takeAllow takes the list of fairlead.dev/allow out of what holds beside policies. With
// ip_allowlist, a client must be in both.
func (s *Spec) takeAllow(list []netip.Prefix, restricted bool) []netip.Prefix {
	a := s.Groups.Access
	if a == nil || len(a.Allow) == 0 {
		return list
	}
	own, _ := readPrefixes(a.Allow)
	if restricted {
		own = intersection(normal(list), own)
	}
	s.Groups.Access = nil
	if len(a.Deny) > 0 {
		s.Groups.Access = &v1alpha1.Access{Deny: a.Deny}
	}
	return own
}
