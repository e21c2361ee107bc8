package check

import (
	"slices"
	"strings"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/terminal"
)

// statusGrace is how long a Route may be without status: routers take many at a time.
const statusGrace = 2 * time.Minute

// keeps ends the message of a Route of which an earlier version is served.
const keeps = "the last good version keeps serving"

func routes() []Rule {
	why := "kubectl fairlead why route/NAME -n NAMESPACE"
	return []Rule{
		{ID: "FL221", Title: "A Route is refused", State: Warn, Remedy: why, Needs: []Source{SourceRoutes}, Judge: refusedRoutes},
		{ID: "FL222", Title: "A Route is on its last good version", State: Warn, Remedy: why, Needs: []Source{SourceRoutes}, Judge: lastGoodRoutes},
		{ID: "FL223", Title: "A Route is closed", State: Warn, Remedy: why, Needs: []Source{SourceRoutes}, Judge: closedRoutes},
		{ID: "FL224", Title: "No router takes a Route", State: Warn, Remedy: why, Needs: []Source{SourceRoutes, SourceControllers}, Judge: untakenRoutes},
		{ID: "FL225", Title: "A Route has the status of a router that does not exist", State: Warn, Remedy: "delete the entry of status.ingress", Needs: []Source{SourceRoutes, SourceControllers}, Judge: leftRoutes},
	}
}

// verdictOf is what the routers say about a Route: the state, and the condition of the
// first router that does not serve it as it is written.
type verdictOf int

const (
	served verdictOf = iota
	refused
	lastGood
	closed
	untaken
)

func (s *Snapshot) verdict(r *routev1.Route) (verdictOf, routev1.RouteIngressCondition) {
	v, said := untaken, routev1.RouteIngressCondition{}
	for _, e := range r.Status.Ingress {
		if !s.own(e.RouterName) {
			continue
		}
		for _, c := range e.Conditions {
			if c.Type != routev1.RouteAdmitted {
				continue
			}
			is := served
			switch {
			case c.Status == corev1.ConditionTrue && c.Reason == string(api.ReasonPolicyClosed):
				is = closed
			case c.Status == corev1.ConditionTrue:
			case strings.HasSuffix(strings.TrimSuffix(c.Message, "."), keeps):
				is = lastGood
			default:
				is = refused
			}
			if v == untaken || v == served && is != served {
				v, said = is, c
			}
		}
	}
	return v, said
}

// routesThat returns a finding for each Route with a verdict.
func (s *Snapshot) routesThat(v verdictOf) []Finding {
	var all []Finding
	for i := range s.Routes {
		r := &s.Routes[i]
		is, c := s.verdict(r)
		if is != v {
			continue
		}
		all = append(all, Finding{
			Object: object("route", r), Summary: "route " + r.Namespace + "/" + r.Name + ": " + c.Reason + ": " + c.Message, Remedy: whyRoute(r),
		})
	}
	return all
}

func whyRoute(r *routev1.Route) string {
	return terminal.Command("kubectl", "fairlead", "why", "route/"+r.Name, "-n", r.Namespace)
}

func refusedRoutes(s *Snapshot) []Finding  { return s.routesThat(refused) }
func lastGoodRoutes(s *Snapshot) []Finding { return s.routesThat(lastGood) }
func closedRoutes(s *Snapshot) []Finding   { return s.routesThat(closed) }

// untakenRoutes are those without an entry. With a Router to judge, the others may have
// taken it.
func untakenRoutes(s *Snapshot) []Finding {
	if s.Router != "" || len(s.Controllers) == 0 {
		return nil
	}
	var all []Finding
	for i := range s.Routes {
		r := &s.Routes[i]
		if v, _ := s.verdict(r); v == untaken && s.older(r, statusGrace) {
			all = append(all, Finding{
				Object: object("route", r), Summary: "route " + r.Namespace + "/" + r.Name + ": no router has taken it; either none selects it, or none runs",
				Remedy: whyRoute(r),
			})
		}
	}
	return all
}

// leftRoutes have entries of routers that are gone: clients of the API take them for
// served. Routers without an IngressController may exist elsewhere, so only names that
// none of the cluster has are reported, and only if they say that they serve it.
func leftRoutes(s *Snapshot) []Finding {
	if s.Router != "" {
		return nil
	}
	var all []Finding
	for i := range s.Routes {
		r := &s.Routes[i]
		for _, name := range s.admitted(r) {
			if !slices.ContainsFunc(s.controllerNames(), func(n string) bool { return n == name }) {
				all = append(all, Finding{
					Object: object("route", r), Summary: "route " + r.Namespace + "/" + r.Name + ": its status says that router " + name + " serves it, and there is no such IngressController",
				})
			}
		}
	}
	return all
}

func (s *Snapshot) controllerNames() []string {
	var names []string
	for i := range s.Controllers {
		names = append(names, s.Controllers[i].Name)
	}
	return names
}
