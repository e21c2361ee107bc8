package door

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// References are the objects of one namespace that a policy may name
// (authentication.References). What it names the result depends on.
type References struct {
	Result    *Result
	Source    Source
	Namespace string
	// Pending is true while a Secret is still being fetched.
	Pending bool
	// Idle is a Service without ready pods, or empty.
	Idle string
}

func (r *References) depend(kind model.Kind, name string) model.Object {
	key := model.Object{Kind: kind, Namespace: r.Namespace, Name: name}
	if !slices.Contains(r.Result.Depends, key) {
		r.Result.Depends = append(r.Result.Depends, key)
	}
	return key
}

// Secret returns what a Secret holds.
func (r *References) Secret(name string) (map[string][]byte, error) {
	secret, err := r.Source.Secret(r.depend(KindSecret, name))
	if err != nil {
		var p interface{ Pending() bool }
		r.Pending = r.Pending || errors.As(err, &p) && p.Pending()
		return nil, err //nolint:wrapcheck // it says what, for the owner of the route
	}
	if secret == nil {
		return nil, fmt.Errorf("Secret %q does not exist in namespace %s", name, r.Namespace)
	}
	return secret.Data, nil
}

// Endpoints returns the ready pods of a Service at a port: by its name or by the number of
// the pods' port, or by the only one if it is empty.
func (r *References) Endpoints(service, port string) ([]netip.AddrPort, error) {
	key := r.depend(KindService, service)
	s := r.Source.Service(key)
	if s == nil {
		return nil, fmt.Errorf("Service %q does not exist in namespace %s", service, r.Namespace) //nolint:staticcheck // it begins with the name of a kind
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
	c, err := r.Source.ConfigMap(r.depend(KindConfigMap, name))
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
		return "", fmt.Errorf("ConfigMap %q does not exist in namespace %s", configMap, r.Namespace)
	}
	return c.Authorities, nil
}

// mostAuthPods bounds the pods of an auth server that the agent is told.
const mostAuthPods = 32
