package check

import (
	"net/netip"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/api"
)

// Name is a name that should lead to the routers of an IngressController.
type Name struct {
	Router, Host string
	// Want are the addresses of the routers.
	Want []string
}

// anyHost is the first label of a name that only a wildcard record answers.
const anyHost = "fairlead-status-check"

// Names returns what to look up: a name of the domain of each IngressController that has
// an address.
func (s *Snapshot) Names() []Name {
	var all []Name
	for i := range s.Controllers {
		ic := &s.Controllers[i]
		n := Name{Router: ic.Name, Host: anyHost + "." + ic.Status.Domain}
		for _, a := range s.addressesOf(ic.Name) {
			n.Want = append(n.Want, a.String())
		}
		if ic.Status.Domain != "" && len(n.Want) > 0 && len(all) < maxTargets {
			all = append(all, n)
		}
	}
	return all
}

func names() []Rule {
	return []Rule{
		{ID: "FL401", Title: "A name is not published", State: Fail, Remedy: "kubectl -n " + api.OperatorNamespace + " get dnsrecords -o yaml", Needs: []Source{SourceControllers}, Judge: notPublished},
		{ID: "FL402", Title: "A name does not exist", State: Warn, Remedy: "publish *.DOMAIN, or let the operator do it: docs/cloud/dns.md", Needs: []Source{SourceControllers, SourceServices, SourceLookups}, Judge: unknownNames},
		{ID: "FL403", Title: "A name leads elsewhere", State: Warn, Remedy: "correct the record of *.DOMAIN", Needs: []Source{SourceControllers, SourceServices, SourceLookups}, Judge: namesElsewhere},
	}
}

func notPublished(s *Snapshot) []Finding {
	managed := map[string]bool{}
	for i := range s.Controllers {
		c := condition(&s.Controllers[i], "DNSManaged")
		managed[object("ingresscontroller", &s.Controllers[i])] = c != nil && c.Status == operatorv1.ConditionTrue
	}
	return slices.DeleteFunc(s.conditions("DNSReady", operatorv1.ConditionFalse), func(f Finding) bool { return !managed[f.Object] })
}

// eachLookup calls judge for the names that were looked up.
func (s *Snapshot) eachLookup(judge func(*Lookup) string) []Finding {
	var all []Finding
	for i := range s.Lookups {
		l := &s.Lookups[i]
		if text := judge(l); text != "" {
			all = append(all, Finding{
				Object:  "ingresscontroller/" + api.OperatorNamespace + "/" + l.Router,
				Summary: "*" + strings.TrimPrefix(l.Host, anyHost) + ", asked from this machine, " + text,
			})
		}
	}
	return all
}

func unknownNames(s *Snapshot) []Finding {
	return s.eachLookup(func(l *Lookup) string {
		if !l.NotFound {
			return ""
		}
		return "does not exist; clients that use the same DNS find no router " + l.Router
	})
}

func namesElsewhere(s *Snapshot) []Finding {
	return s.eachLookup(func(l *Lookup) string {
		if l.Error != "" || l.NotFound || leadsHere(l) {
			return ""
		}
		return "leads to " + most(l.Addresses, 3) + "; router " + l.Router + " is at " + most(l.Want, 3)
	})
}

// leadsHere says whether a name has an address of the routers. A device that passes
// connections on to them may have another one in front, so a private address of a
// router beside a public one of the name says nothing.
func leadsHere(l *Lookup) bool {
	for _, a := range l.Addresses {
		if slices.Contains(l.Want, a) {
			return true
		}
		if addr, err := netip.ParseAddr(a); err == nil && !addr.IsPrivate() && allPrivate(l.Want) {
			return true
		}
	}
	return false
}

func allPrivate(list []string) bool {
	return !slices.ContainsFunc(list, func(a string) bool {
		addr, err := netip.ParseAddr(a)
		return err != nil || !addr.IsPrivate()
	})
}
