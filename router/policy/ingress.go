package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// What annotations of other Ingress controllers ask for is seldom a scalar: CORS has
// seven of them, an auth server ten. The operator puts it into one annotation of the
// Routes that it makes, as typed groups. An annotation of our own for each would be a
// further language beside that of policies, with a second reader of each field; and a
// RoutePolicy for each Ingress would be an object of the tenant's kind that the tenant
// did not write. What a tenant writes there by hand can do no more than a RoutePolicy
// of the namespace, and is read like one that the API server let through.

// maxIngressPolicy bounds the annotation. The largest list that a conversion writes
// has 100 addresses.
const maxIngressPolicy = 32 << 10

// convertible are the groups that the annotation may have.
func convertible(g Group) bool {
	return slices.Contains([]Group{GroupAuthentication, GroupRedirects, GroupCORS, GroupRewrite, GroupHeaders, GroupLimits, GroupAffinity, GroupCookies, GroupLocation, GroupUpstreamTLS, GroupUpstream, GroupPages, GroupMirror, GroupBandwidth, GroupTracing}, g)
}

// readIngressPolicy reads the annotation. Nothing of it holds unless all of it can be
// used.
func readIngressPolicy(text string) (*v1alpha1.PolicySpec, error) {
	if len(text) > maxIngressPolicy {
		return nil, fmt.Errorf("has %d bytes; at most %d are possible", len(text), maxIngressPolicy)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	spec := &v1alpha1.PolicySpec{}
	if err := d.Decode(spec); err != nil {
		return nil, fmt.Errorf("is not the JSON of groups of a policy: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has more than one JSON object")
	}
	s := Source{Spec: spec, Access: ReadAccess(spec.Access)}
	set := s.groups()
	if len(set) == 0 {
		return nil, errors.New("has no group")
	}
	for _, g := range set {
		if !convertible(g) {
			return nil, fmt.Errorf("has the group %s, which is not for Ingresses", g)
		}
	}
	return spec, Usable(spec)
}

// Usable returns what is wrong with groups, or nil if all of them can be applied as
// they are. What the group authentication names is not looked at.
func Usable(spec *v1alpha1.PolicySpec) error {
	for _, p := range Compile(spec, &model.Policy{}) {
		return fmt.Errorf("%s: %s", p.Key, p.Message)
	}
	return nil
}

// IngressSecrets returns the names of the Secrets that the annotation names for TLS to
// pods.
func IngressSecrets(annotation string) []string {
	if annotation == "" {
		return nil
	}
	spec, err := readIngressPolicy(annotation)
	if err != nil {
		return nil // no router can read it
	}
	return UpstreamSecrets(spec.Upstream)
}

// setIngressPolicy fills groups. Rows after it replace single fields of them.
func setIngressPolicy(s *Spec, v string) error {
	spec, err := readIngressPolicy(v)
	if err != nil {
		return err
	}
	g := &s.Groups
	g.Authentication, g.Redirects, g.CORS, g.Rewrite, g.Headers = spec.Authentication, spec.Redirects, spec.CORS, spec.Rewrite, spec.Headers
	g.Limits, g.Affinity, g.Cookies, g.Location, g.Upstream, g.Pages = spec.Limits, spec.Affinity, spec.Cookies, spec.Location, spec.Upstream, spec.Pages
	g.Mirror, g.Bandwidth, g.Tracing = spec.Mirror, spec.Bandwidth, spec.Tracing
	return nil
}
