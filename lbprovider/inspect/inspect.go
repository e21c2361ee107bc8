// Package inspect says which node announces an address and why: `kubectl fairlead lb`.
// It is pure. What Kubernetes knows comes from objects; what only speakers
// know, which other speakers they reach and whose probes fail, they report
// themselves (package cluster asks them). Without their reports, package election
// decides here from the objects alone.
package inspect

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// Objects are what the API server knows.
type Objects struct {
	Services           []corev1.Service
	Slices             []discoveryv1.EndpointSlice
	Nodes              []corev1.Node
	Speakers           []corev1.Pod
	Config             config.Resources
	L2                 []v1beta1.ServiceL2Status
	BGP                []v1beta1.ServiceBGPStatus
	Sessions           []v1beta1.BGPSessionState
	Reported           map[string][]Row  // what speakers say, by node
	Unreachable        map[string]string // why a speaker could not be asked, by node
	Unreadable         []string          // kinds that the user may not read
	Classes            service.Classes
	IgnoreExcludeLabel bool // speakers ignore the exclude label
}

// Row is what a speaker says of a Service, at /debug/l2.
type Row struct {
	Service       string            `json:"service"`
	Addresses     []netip.Addr      `json:"addresses"`
	Decision      election.Decision `json:"decision"`
	Since         *time.Time        `json:"since,omitempty"`
	Waits         bool              `json:"waits,omitempty"`
	LastAnnounced *time.Time        `json:"lastAnnounced,omitempty"`
}

// Answer is about one Service's addresses.
type Answer struct {
	Addresses []string `json:"addresses"`
	Service   string   `json:"service"`
	Pool      string   `json:"pool,omitempty"`
	// Owner is the node that answers by ARP or NDP; empty if none does, and
	// Reason says why.
	Owner  string `json:"owner,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Since and LastAnnounced are when the owner began and last announced itself.
	Since         *time.Time `json:"since,omitempty"`
	LastAnnounced *time.Time `json:"lastAnnounced,omitempty"`
	Interfaces    []string   `json:"interfaces,omitempty"`
	// Candidates are in order, the owner first.
	Candidates []string                      `json:"candidates,omitempty"`
	Excluded   map[string]election.Exclusion `json:"excluded,omitempty"`
	// BGP are the sessions of the nodes that announce by BGP.
	BGP []Session `json:"bgp,omitempty"`
	// Reported are the speakers that report this; Unreachable are the others, and
	// why. Disagree says what some say differently.
	Reported    []string          `json:"heard,omitempty"`
	Unreachable map[string]string `json:"unheard,omitempty"`
	Disagree    map[string]string `json:"disagree,omitempty"`
}

// Session is one by which the addresses are announced.
type Session struct {
	Node  string     `json:"node"`
	Peer  string     `json:"peer"`
	State string     `json:"state,omitempty"`
	BFD   string     `json:"bfd,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	Error string     `json:"error,omitempty"`
}

// Announced says whether some node announces the addresses.
func (a *Answer) Announced() bool {
	up := slices.ContainsFunc(a.BGP, func(s Session) bool { return s.State == "Established" })
	return a.Owner != "" && len(a.Disagree) == 0 || up
}

// Look answers for every Service with an address, or those that have the given
// one, sorted by address.
func Look(o *Objects, only netip.Addr) []Answer {
	cfg, _ := config.Parse(o.Config, nil)
	var all []Answer
	for i := range o.Services {
		svc := &o.Services[i]
		addrs, _ := service.StatusAddresses(svc)
		if !o.Classes.Ours(svc) || len(addrs) == 0 || only.IsValid() && !slices.Contains(addrs, only) {
			continue
		}
		all = append(all, o.look(svc, addrs, cfg))
	}
	slices.SortFunc(all, func(a, b Answer) int {
		x, _ := netip.ParseAddr(a.Addresses[0])
		y, _ := netip.ParseAddr(b.Addresses[0])
		return cmp.Or(x.Compare(y), cmp.Compare(a.Service, b.Service))
	})
	return all
}

func (o *Objects) look(svc *corev1.Service, addrs []netip.Addr, cfg *config.Config) Answer {
	a := Answer{Service: svc.Namespace + "/" + svc.Name, Unreachable: o.Unreachable, Disagree: map[string]string{}}
	for _, addr := range addrs {
		a.Addresses = append(a.Addresses, addr.String())
	}
	pool := cfg.PoolOf(addrs)
	if pool != nil {
		a.Pool = pool.Name
	}
	a.BGP = o.sessions(svc)
	reports := o.reportsFor(a.Service)
	if len(reports) == 0 {
		a.take(election.Decide(o.request(svc, addrs, pool), o.nodes(), ""))
	} else {
		a.mergeReports(reports)
	}
	for _, s := range o.L2 {
		if s.Status.Node == a.Owner && s.Status.ServiceName == svc.Name && s.Status.ServiceNamespace == svc.Namespace && a.Since == nil && s.Status.Since != nil {
			at := s.Status.Since.Time
			a.Since = &at
		}
	}
	return a
}

// take fills in a decision of which it does not matter whose it is.
func (a *Answer) take(d election.Decision) {
	a.Candidates, a.Excluded, a.Interfaces = d.Order, d.Excluded, d.Interfaces
	if len(d.Order) > 0 {
		a.Owner = d.Order[0]
		return
	}
	a.Reason = string(d.Reason)
}

// mergeReports compares what the speakers say. A node that says that it is the owner is
// right about itself; of the others, the first counts.
func (a *Answer) mergeReports(rows map[string]Row) {
	names := sortedNames(rows)
	a.Reported = names
	said := names[0]
	for _, n := range names {
		if rows[n].Decision.Announce {
			said = n
			break
		}
	}
	own := rows[said]
	a.take(own.Decision)
	if own.Decision.Announce {
		a.Since, a.LastAnnounced = own.Since, own.LastAnnounced
	} else if a.Owner != "" {
		if _, ok := rows[a.Owner]; ok { // the node that all name does not announce
			a.Owner, a.Reason = "", string(rows[a.Owner].Decision.Reason)
		}
	}
	for _, n := range names {
		if got, want := ownerBy(rows[n].Decision), ownerBy(own.Decision); got != want {
			a.Disagree[n] = got
		}
	}
}

// ownerBy is who announces in a speaker's view.
func ownerBy(d election.Decision) string {
	if len(d.Order) > 0 {
		return d.Order[0]
	}
	return string(d.Reason)
}

func (o *Objects) reportsFor(svc string) map[string]Row {
	out := map[string]Row{}
	for node, rows := range o.Reported {
		for _, r := range rows {
			if r.Service == svc {
				out[node] = r
			}
		}
	}
	return out
}

// request is what a speaker would ask package election.
func (o *Objects) request(svc *corev1.Service, addrs []netip.Addr, pool *config.Pool) election.Request {
	var list []discoveryv1.EndpointSlice
	for _, s := range o.Slices {
		if s.Namespace == svc.Namespace && s.Labels[discoveryv1.LabelServiceName] == svc.Name {
			list = append(list, s)
		}
	}
	b := service.ReadBackends(list)
	doubts := map[string]election.Exclusion{}
	for node := range b.Leaving {
		doubts[node] = election.ExcludedLeaving
	}
	_, shared := service.Annotation(svc, api.AnnotationAllowSharedIP)
	return election.Request{
		Addr: addrs[0], Pool: pool, Labels: labels.Set(svc.Labels), Shared: shared,
		Local:     svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
		Endpoints: b.Nodes, Doubts: doubts,
	}
}

// nodes is what the API server knows of them. A speaker is taken for alive if
// its pod is ready.
func (o *Objects) nodes() []election.Node {
	alive := map[string]bool{}
	for i := range o.Speakers {
		for _, c := range o.Speakers[i].Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				alive[o.Speakers[i].Spec.NodeName] = true
			}
		}
	}
	var out []election.Node
	for i := range o.Nodes {
		n := service.ReadNode(&o.Nodes[i])
		n.Excluded = n.Excluded && !o.IgnoreExcludeLabel
		out = append(out, election.Node{
			Name: n.Name, Labels: n.Labels, Ready: n.Ready, NetworkUnavailable: n.NetworkUnavailable,
			Excluded: n.Excluded, Drained: n.Drained, Alive: alive[n.Name],
		})
	}
	return out
}

func (o *Objects) sessions(svc *corev1.Service) []Session {
	var all []Session
	for _, s := range o.BGP {
		if s.Status.ServiceName != svc.Name || s.Status.ServiceNamespace != svc.Namespace {
			continue
		}
		for _, peer := range s.Status.Peers {
			all = append(all, o.session(s.Status.Node, peer))
		}
	}
	slices.SortFunc(all, func(a, b Session) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Peer, b.Peer)) })
	return all
}

func (o *Objects) session(node, peer string) Session {
	s := Session{Node: node, Peer: peer}
	for _, state := range o.Sessions {
		if state.Status.Node == node && state.Status.Peer == peer {
			s.State, s.BFD, s.Error = state.Status.BGPStatus, state.Status.BFDStatus, state.Status.LastError
			if at := state.Status.EstablishedAt; at != nil {
				s.Since = &at.Time
			}
		}
	}
	return s
}
