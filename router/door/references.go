package door

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// References are the objects that a policy may name (authentication.References): those of
// one namespace, and as NAMESPACE/NAME those of others that permit it. What it names the
// result depends on.
type References struct {
	Result    *Result
	Source    Source
	Namespace string
	// From is the policy. Without one, as for annotations, nothing of another namespace may be
	// named.
	From model.Object
	// Pending is true while a Secret is still being fetched.
	Pending bool
	// Idle is a Service without ready pods, or empty.
	Idle string
}

// named returns the object that a text names. An error says why it may not be named, and is
// the same whether the object exists or not: nothing of it is read, nor waited for.
func (r *References) named(kind model.Kind, text string) (model.Object, error) {
	namespace, name := r.parts(text)
	key := model.Object{Kind: kind, Namespace: namespace, Name: name}
	if namespace == r.Namespace {
		r.depend(key)
		return key, nil
	}
	if !policy.IsKind(r.From.Kind) {
		return key, &notPermittedError{fmt.Sprintf("%s %s/%s is of another namespace; only a RoutePolicy can name it, and needs a ReferenceGrant there", kind, namespace, name)}
	}
	r.depend(GrantsOf(namespace))
	if !Permitted(GrantsFrom(r.Source)(namespace), Reference{FromGroup: v1alpha1.Group, FromKind: string(r.From.Kind), FromNamespace: r.Namespace, ToKind: string(kind), Namespace: namespace, Name: name}) {
		if some, ok := r.Source.(UnknownGrants); ok {
			if gap := some.GrantGap(namespace); gap != nil {
				return key, gap //nolint:wrapcheck // it says what, for the owner of the route
			}
		}
		return key, &notPermittedError{fmt.Sprintf("no ReferenceGrant of namespace %s permits %s %s/%s; create one there with from {group: %s, kind: %s, namespace: %s} and to {group: \"\", kind: %s}",
			namespace, kind, namespace, name, v1alpha1.Group, r.From.Kind, r.Namespace, kind)}
	}
	r.depend(key)
	return key, nil
}

// parts returns the namespace and the name of what a text names.
func (r *References) parts(text string) (namespace, name string) {
	if namespace, name, other := strings.Cut(text, "/"); other {
		return namespace, name
	}
	return r.Namespace, text
}

func (r *References) depend(key model.Object) {
	if !slices.Contains(r.Result.Depends, key) {
		r.Result.Depends = append(r.Result.Depends, key)
	}
}

// notPermittedError is why an object of another namespace may not be named.
type notPermittedError struct{ message string }

// Error implements error.
func (e *notPermittedError) Error() string { return e.message }

// Reason is that of findings.
func (e *notPermittedError) Reason() api.Reason { return api.ReasonRefNotPermitted }

// Secret returns what a Secret holds.
func (r *References) Secret(name string) (map[string][]byte, error) {
	key, err := r.named(KindSecret, name)
	if err != nil {
		return nil, err
	}
	secret, err := r.Source.Secret(key)
	if err != nil {
		var p interface{ Pending() bool }
		r.Pending = r.Pending || errors.As(err, &p) && p.Pending()
		return nil, err //nolint:wrapcheck // it says what, for the owner of the route
	}
	if secret == nil {
		return nil, fmt.Errorf("Secret %q does not exist in namespace %s", key.Name, key.Namespace)
	}
	return secret.Data, nil
}

// Endpoints returns the ready pods of a Service at a port: by its name or by the number of
// the pods' port, or by the only one if it is empty.
func (r *References) Endpoints(service, port string) ([]netip.AddrPort, error) {
	key, err := r.named(KindService, service)
	if err != nil {
		return nil, err
	}
	s := r.Source.Service(key)
	if s == nil {
		return nil, fmt.Errorf("Service %q does not exist in namespace %s", key.Name, key.Namespace) //nolint:staticcheck // it begins with the name of a kind
	}
	all := s.Endpoints(r.Source.Slices(key))
	if len(all) == 0 {
		r.Idle = service
		return nil, nil
	}
	if port == "" {
		names := backend.PortNames(all)
		if len(names) > 1 {
			return nil, fmt.Errorf("Service %q has several ports; name one of %s", service, strings.Join(names, ", ")) //nolint:staticcheck // it begins with the name of a kind
		}
	} else if all = backend.WithPort(all, port); len(all) == 0 {
		return nil, fmt.Errorf("no pod of Service %q has a port with the name or number %s", service, port)
	}
	out := make([]netip.AddrPort, 0, min(len(all), mostAuthPods))
	for _, e := range all {
		if len(out) < mostAuthPods {
			out = append(out, e.Address)
		}
	}
	return out, nil
}

// ConfigMap returns what a ConfigMap holds, or nil if it does not exist.
func (r *References) ConfigMap(name string) (*policy.ConfigMap, error) {
	key, err := r.named(KindConfigMap, name)
	if err != nil {
		return nil, err
	}
	c, err := r.Source.ConfigMap(key)
	var p interface{ Pending() bool }
	r.Result.Pending = r.Result.Pending || errors.As(err, &p) && p.Pending()
	return c, err //nolint:wrapcheck // it says what, for the owner of the route
}

// Authorities returns the text under the key ca.crt of a ConfigMap.
func (r *References) Authorities(configMap string) (string, error) {
	c, err := r.ConfigMap(configMap)
	switch {
	case err != nil:
		return "", err
	case c == nil:
		namespace, name := r.parts(configMap)
		return "", fmt.Errorf("ConfigMap %q does not exist in namespace %s", name, namespace)
	}
	return c.Authorities, nil
}

// mostAuthPods bounds the pods of an auth server that the agent is told.
const mostAuthPods = 32
