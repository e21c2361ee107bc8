package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/inspect"
	"github.com/fairlead/fairlead/router/certificate"
)

// row is a line of the screen: facts about one part of the product.
type row struct{ head, text string }

// maxRows is how many IngressControllers and pools are shown.
const maxRows = 8

// rows are what is known, whether good or bad.
func (s *Snapshot) rows() []row {
	all := []row{{"version", s.versions()}, {"operator", s.operatorRow()}}
	for i := range s.Controllers[:min(len(s.Controllers), maxRows)] {
		all = append(all, s.routerRows(&s.Controllers[i])...)
	}
	if rest := len(s.Controllers) - maxRows; rest > 0 {
		all = append(all, row{"", fmt.Sprintf("%d more (--router NAME shows one)", rest)})
	}
	all = append(all, row{"certs", s.certificateRow()})
	if text := s.addressRow(); text != "" {
		all = append(all, row{"addresses", text})
	}
	return slices.DeleteFunc(all, func(r row) bool { return r.text == "" })
}

// versions ends the first line.
func (s *Snapshot) versions() string {
	var parts []string
	if d := operator(s); d != nil {
		for _, c := range d.Spec.Template.Spec.Containers {
			if _, tag, ok := strings.Cut(c.Image[strings.LastIndexByte(c.Image, '/')+1:], ":"); ok && !strings.Contains(c.Image, "@") {
				parts = append(parts, "Fairlead "+tag)
				break
			}
		}
	}
	if s.Kubernetes != "" {
		parts = append(parts, "Kubernetes "+strings.TrimPrefix(s.Kubernetes, "v"))
	}
	return strings.Join(parts, ", ")
}

func (s *Snapshot) operatorRow() string {
	d := operator(s)
	if d == nil {
		return ""
	}
	text := fmt.Sprintf("%d/%d ready", d.Status.ReadyReplicas, wanted(d))
	i := slices.IndexFunc(s.OperatorLeases, func(l coordinationv1.Lease) bool { return l.Name == operatorLease })
	if i < 0 {
		return text
	}
	// The identity is the pod's name, "_" and a random part.
	if holder, _, _ := strings.Cut(current(&s.OperatorLeases[i], s.Now), "_"); holder != "" {
		text += "   leader " + holder
	}
	return text
}

func (s *Snapshot) routerRows(ic *operatorv1.IngressController) []row {
	text := fmt.Sprintf("%-15s", ic.Name)
	if d := s.deployment(ic.Name); d != nil {
		text += fmt.Sprintf(" %d/%d ready", d.Status.ReadyReplicas, wanted(d))
	}
	if v := ic.Status.EffectiveHAProxyVersion; v != "" {
		text += ", HAProxy " + string(v)
	}
	if routes := s.routeCounts(ic.Name); routes != "" {
		text += "   " + routes
	}
	all := []row{{"router", text}}
	for _, a := range s.addressesOf(ic.Name) {
		all = append(all, row{"", fmt.Sprintf("%-15s %s", a, s.announcement(a.String(), ic.Name))})
	}
	for _, p := range s.Probes {
		if p.Router == ic.Name {
			all = append(all, row{"", fmt.Sprintf("%-15s %s", "probe", p.line())})
		}
	}
	for i := range s.Traffic {
		if t := &s.Traffic[i]; t.Router == ic.Name {
			all = append(all, row{"", fmt.Sprintf("%-15s %s", "traffic", t.line())})
		}
	}
	return all
}

// line says what is served.
func (t *Traffic) line() string {
	text := fmt.Sprintf("%.1f requests/s   %.2f %% answered 5xx   %.0f under way at %d replicas", t.Requests, t.ErrorPercent, t.Connections, t.Replicas)
	if t.Replicas == 1 {
		text = strings.TrimSuffix(text, "s")
	}
	if t.Silent > 0 {
		text += fmt.Sprintf(", %d did not answer", t.Silent)
	}
	return text
}

// line says how a probe went.
func (p Probe) line() string {
	head := fmt.Sprintf("%s through %s: ", p.Scheme, p.Address)
	if p.Error != "" {
		return head + p.Error
	}
	return head + fmt.Sprintf("%d in %d ms (from this machine)", p.Status, p.Took.Milliseconds())
}

// routeCounts counts what a router says about Routes.
func (s *Snapshot) routeCounts(ic string) string {
	if s.gap(SourceRoutes) != "" {
		return ""
	}
	of := &Snapshot{Router: ic}
	count := map[verdictOf]int{}
	for i := range s.Routes {
		v, _ := of.verdict(&s.Routes[i])
		count[v]++
	}
	parts := []string{fmt.Sprintf("%d routes served", count[served])}
	for _, other := range []struct {
		v    verdictOf
		name string
	}{{refused, "refused"}, {lastGood, "on the last good version"}, {closed, "closed"}} {
		if n := count[other.v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, other.name))
		}
	}
	return strings.Join(parts, ", ")
}

// announcement says which node answers for an address, and whether the name leads there.
func (s *Snapshot) announcement(address, ic string) string {
	var parts []string
	for i := range s.Addresses {
		if a := &s.Addresses[i]; slices.Contains(a.Addresses, address) && a.Service == api.OperandNamespace+"/"+api.RouterName(ic) {
			parts = append(parts, by(a))
		}
	}
	for i := range s.Lookups {
		l := &s.Lookups[i]
		if l.Router != ic || !slices.Contains(l.Want, address) {
			continue
		}
		answer := "yes"
		switch {
		case l.Error != "":
			answer = "not known"
		case l.NotFound || !leadsHere(l):
			answer = "no"
		}
		parts = append(parts, "*"+strings.TrimPrefix(l.Host, anyHost)+" leads here: "+answer)
	}
	return strings.Join(parts, "   ")
}

func by(a *inspect.Answer) string {
	var parts []string
	if a.Owner != "" {
		parts = append(parts, "answered by "+a.Owner+" (ARP)")
	}
	if len(a.Candidates) > 1 {
		parts = append(parts, "next "+a.Candidates[1])
	}
	up := 0
	for _, b := range a.BGP {
		if b.State == "Established" {
			up++
		}
	}
	if up > 0 {
		parts = append(parts, fmt.Sprintf("by BGP in %d sessions", up))
	}
	return cmp.Or(strings.Join(parts, ", "), "announced by no node")
}

// certificateRow counts, and names the first to end.
func (s *Snapshot) certificateRow() string {
	list := s.served()
	if len(list) == 0 {
		return ""
	}
	first, distinct := &list[0], map[string]bool{}
	for i := range list {
		distinct[string(list[i].leaf().Raw)] = true
		if list[i].leaf().NotAfter.Before(first.leaf().NotAfter) {
			first = &list[i]
		}
	}
	end := first.leaf().NotAfter
	when := "ended"
	if left := end.Sub(s.Now); left > 0 {
		when = certificate.In(left)
	}
	return fmt.Sprintf("%-15s first to end: %s, %s, %s", fmt.Sprintf("%d served", len(distinct)), first.name, certificate.Day(end), when)
}

func (s *Snapshot) addressRow() string {
	var parts []string
	if n := len(s.SpeakerPods); n > 0 {
		say := "agree"
		if len(disagreeing(s)) > 0 {
			say = "answer, and disagree"
		}
		parts = append(parts, fmt.Sprintf("%d/%d speakers %s", len(s.Reported), n, say))
	}
	if n := len(s.Sessions); n > 0 {
		parts = append(parts, fmt.Sprintf("%d/%d BGP sessions up", n-len(sessionsDown(s)), n))
	}
	for i := range s.Pools[:min(len(s.Pools), maxRows)] {
		p := &s.Pools[i]
		used := p.Status.AssignedIPv4 + p.Status.AssignedIPv6
		parts = append(parts, fmt.Sprintf("pool %s %d of %d used", p.Name, used, used+p.Status.AvailableIPv4+p.Status.AvailableIPv6))
	}
	return strings.Join(parts, "   ")
}
