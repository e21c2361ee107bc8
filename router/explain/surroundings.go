package explain

import (
	"cmp"
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/router/door/ingress"
)

// surroundings are what Ingresses of one namespace may depend on, found once for all of them.
type surroundings struct {
	ingresses []*networkingv1.Ingress // by name
	services  map[string]*corev1.Service
	secrets   map[string]*corev1.Secret
	// routes are those that were made of an Ingress, by its name.
	routes map[string]map[string]*routev1.Route
	// at are the Ingresses of a host, canaries the canaries among them, and closing those that
	// close all of the host: each by their names.
	at, canaries, closing map[string][]*networkingv1.Ingress
}

// surroundings returns those of each namespace with an Ingress that is asked for.
func (s *Snapshot) surroundings(of func(namespace string) bool) map[string]*surroundings {
	all := map[string]*surroundings{}
	for key, i := range s.objects.Ingresses {
		if !of(key.Namespace) {
			continue
		}
		if all[key.Namespace] == nil {
			all[key.Namespace] = newSurroundings()
		}
		all[key.Namespace].add(i)
	}
	for key, o := range s.objects.Services {
		if of := all[key.Namespace]; of != nil {
			of.services[key.Name] = o
		}
	}
	for key, o := range s.objects.Secrets {
		if of := all[key.Namespace]; of != nil {
			of.secrets[key.Name] = o
		}
	}
	for key, o := range s.objects.Routes {
		if of := all[key.Namespace]; of != nil {
			of.addRoute(ingress.Owner(o), o)
		}
	}
	for _, of := range all {
		of.sort()
	}
	return all
}

func newSurroundings() *surroundings {
	return &surroundings{
		services: map[string]*corev1.Service{}, secrets: map[string]*corev1.Secret{}, routes: map[string]map[string]*routev1.Route{},
		at: map[string][]*networkingv1.Ingress{}, canaries: map[string][]*networkingv1.Ingress{}, closing: map[string][]*networkingv1.Ingress{},
	}
}

// addRoute adds a Route that was made of an Ingress, if it was of one.
func (n *surroundings) addRoute(owner string, r *routev1.Route) {
	if owner == "" {
		return
	}
	if n.routes[owner] == nil {
		n.routes[owner] = map[string]*routev1.Route{}
	}
	n.routes[owner][r.Name] = r
}

func (n *surroundings) sort() {
	slices.SortFunc(n.ingresses, func(a, b *networkingv1.Ingress) int { return cmp.Compare(a.Name, b.Name) })
	for _, lists := range []map[string][]*networkingv1.Ingress{n.at, n.canaries, n.closing} {
		for _, list := range lists {
			slices.SortFunc(list, func(a, b *networkingv1.Ingress) int { return cmp.Compare(a.Name, b.Name) })
		}
	}
}

func (n *surroundings) add(i *networkingv1.Ingress) {
	n.ingresses = append(n.ingresses, i)
	for _, host := range ingress.Hosts(i) {
		n.at[host] = append(n.at[host], i)
		if ingress.IsCanary(i) {
			n.canaries[host] = append(n.canaries[host], i)
		}
	}
	for _, host := range ingress.ClosedHosts(i, ingress.Limits{}) {
		n.closing[host] = append(n.closing[host], i)
	}
}

// input gathers what an Ingress depends on, as the operator does.
func (n *surroundings) input(i *networkingv1.Ingress) ingress.Input {
	in := ingress.Input{Ingress: i, Services: n.services, Secrets: n.secrets, Routes: n.routes[i.Name], ClosedHosts: map[string]string{}}
	relatives := n.canaries
	if ingress.IsCanary(i) {
		relatives = n.at
	}
	for _, host := range ingress.Hosts(i) {
		for _, other := range relatives[host] {
			if other.Name != i.Name && !slices.Contains(in.Relatives, other) {
				in.Relatives = append(in.Relatives, other)
			}
		}
		for _, other := range n.closing[host] {
			if other.Name != i.Name && !ingress.SameClients(other, i, ingress.Limits{}) {
				in.ClosedHosts[host] = other.Name
			}
		}
	}
	return in
}
