package check

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/inspect"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// addressGrace is how long an assignment of an address may take.
const addressGrace = time.Minute

func addresses() []Rule {
	pools := "kubectl -n " + api.ProviderNamespace + " get ipaddresspools -o yaml"
	speakers := "kubectl -n " + api.ProviderNamespace + " describe pods"
	return []Rule{
		{ID: "FL301", Title: "Routers have no address", State: Fail, Remedy: "kubectl -n " + api.OperandNamespace + " describe services", Needs: []Source{SourceControllers}, Judge: routersWithoutAddress},
		{ID: "FL302", Title: "An address is not announced", State: Fail, Remedy: "kubectl fairlead lb", Needs: []Source{SourceServices, SourceNodes, SourceSpeakerPods, SourceL2}, Judge: notAnnounced},
		{ID: "FL303", Title: "Speakers disagree", State: Fail, Remedy: "kubectl fairlead lb", Needs: []Source{SourceServices, SourceReports}, Judge: disagreeing},
		{ID: "FL304", Title: "A speaker is not ready", State: Warn, Remedy: speakers, Needs: []Source{SourceSpeakers}, Judge: speakersNotReady},
		{ID: "FL305", Title: "A speaker does not answer", State: Warn, Remedy: speakers, Needs: []Source{SourceSpeakerPods, SourceReports}, Judge: silentSpeakers},
		{ID: "FL306", Title: "A speaker pod does not start", State: Warn, Remedy: speakers, Needs: []Source{SourceSpeakerPods}, Judge: func(s *Snapshot) []Finding { return stuck(s.SpeakerPods) }},
		{ID: "FL307", Title: "A BGP session is down", State: Warn, Remedy: "kubectl -n " + api.ProviderNamespace + " get bgpsessionstates -o wide", Needs: []Source{SourceSessions}, Judge: sessionsDown},
		{ID: "FL308", Title: "A BFD session is down", State: Warn, Remedy: "kubectl -n " + api.ProviderNamespace + " get bgpsessionstates -o wide", Needs: []Source{SourceSessions}, Judge: bfdDown},
		{ID: "FL309", Title: "A pool is not valid", State: Warn, Remedy: pools, Needs: []Source{SourcePools}, Judge: func(s *Snapshot) []Finding { return s.poolsWithout(api.ConditionValid) }},
		{ID: "FL310", Title: "A pool is not advertised", State: Warn, Remedy: "create an L2Advertisement or a BGPAdvertisement that selects the pool", Needs: []Source{SourcePools}, Judge: func(s *Snapshot) []Finding { return s.poolsWithout(api.ConditionAdvertised) }},
		{ID: "FL311", Title: "There is no pool of addresses", State: Warn, Remedy: "create an IPAddressPool; docs/lb/pools.md has one", Needs: []Source{SourceServices, SourcePools}, Judge: noPool},
		{ID: "FL312", Title: "A Service has no address", State: Warn, Remedy: "kubectl describe service NAME -n NAMESPACE", Needs: []Source{SourceServices}, Judge: pendingServices},
		{ID: "FL313", Title: "Another MetalLB runs", State: Fail, Remedy: "scale it down, as docs/lb/migration.md says", Needs: []Source{SourceOtherMetalLB}, Judge: otherMetalLB},
		{ID: "FL314", Title: "The configuration of addresses is not used as it is written", State: Warn, Remedy: "kubectl -n " + api.ProviderNamespace + " get configurationstates -o wide", Needs: []Source{SourceStates}, Judge: invalidStates},
		{ID: "FL315", Title: "No other node can take over an address", State: Warn, Remedy: "kubectl fairlead lb ADDRESS", Needs: []Source{SourceServices, SourceNodes, SourceSpeakerPods}, Judge: noSuccessor},
	}
}

func routersWithoutAddress(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Controllers {
		ic := &s.Controllers[i]
		managed, c := condition(ic, "LoadBalancerManaged"), condition(ic, "LoadBalancerReady")
		if managed == nil || managed.Status != operatorv1.ConditionTrue || c == nil || c.Status == operatorv1.ConditionTrue || ic.DeletionTimestamp != nil {
			continue
		}
		all = append(all, Finding{
			Object: object("ingresscontroller", ic), Summary: "router " + ic.Name + " has no address: " + c.Message,
			Remedy: "kubectl -n " + api.OperandNamespace + " describe service " + api.RouterName(ic.Name),
		})
	}
	return all
}

// eachAddress calls judge for the addresses of each Service.
func (s *Snapshot) eachAddress(judge func(*inspect.Answer) string) []Finding {
	var all []Finding
	for i := range s.Addresses {
		a := &s.Addresses[i]
		if text := judge(a); text != "" {
			all = append(all, Finding{
				Object: "service/" + a.Service, Summary: strings.Join(a.Addresses, ", ") + " of service " + a.Service + " " + text,
				Remedy: "kubectl fairlead lb " + a.Addresses[0],
			})
		}
	}
	return all
}

func notAnnounced(s *Snapshot) []Finding {
	all := s.eachAddress(func(a *inspect.Answer) string {
		if a.Announced() || len(a.Disagree) > 0 {
			return ""
		}
		if a.Reason == "" {
			return "is announced by no node"
		}
		return "is announced by no node: " + a.Reason
	})
	for i := range all {
		// The pods of a user's Service may be down on purpose.
		if !strings.HasPrefix(all[i].Object, "service/"+api.OperandNamespace+"/") {
			all[i].State = Warn
		}
	}
	return all
}

func disagreeing(s *Snapshot) []Finding {
	return s.eachAddress(func(a *inspect.Answer) string {
		if len(a.Disagree) == 0 {
			return ""
		}
		parts := []string{"is announced by " + a.Owner}
		for _, node := range sorted(a.Disagree) {
			parts = append(parts, "the speaker of "+node+" says "+a.Disagree[node])
		}
		return strings.Join(parts, ", ")
	})
}

func (s *Snapshot) speakers() *appsv1.DaemonSet {
	for i := range s.Speakers {
		if s.Speakers[i].Name == speakerDaemonSet {
			return &s.Speakers[i]
		}
	}
	return nil
}

func speakersNotReady(s *Snapshot) []Finding {
	d := s.speakers()
	if d == nil || d.Status.NumberReady >= d.Status.DesiredNumberScheduled {
		return nil
	}
	f := Finding{Object: object("daemonset", d), Summary: fmt.Sprintf("%d of %d speakers are ready", d.Status.NumberReady, d.Status.DesiredNumberScheduled)}
	if d.Status.NumberReady == 0 {
		f.State = Fail
		f.Summary += "; no address is announced"
	}
	return []Finding{f}
}

func silentSpeakers(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.SpeakerPods {
		p := &s.SpeakerPods[i]
		if why, silent := s.Unreachable[p.Spec.NodeName]; silent && ready(p) {
			all = append(all, Finding{Object: object("pod", p), Summary: "the speaker of node " + p.Spec.NodeName + " is ready, and does not answer: " + why})
		}
	}
	return all
}

func sessionsDown(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Sessions {
		st := &s.Sessions[i].Status
		if st.BGPStatus == "Established" {
			continue
		}
		text := fmt.Sprintf("the session of node %s with %s is %s", st.Node, st.Peer, st.BGPStatus)
		if st.LastError != "" {
			text += ": " + st.LastError
		}
		all = append(all, Finding{Object: object("bgpsessionstate", &s.Sessions[i]), Summary: text})
	}
	if len(all) > 0 && len(all) == len(s.Sessions) {
		for i := range all {
			all[i].State = Fail // there is no other way for what is announced by BGP
		}
	}
	return all
}

func bfdDown(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Sessions {
		st := &s.Sessions[i].Status
		if st.BFDStatus == "Down" || st.BFDStatus == "AdminDown" {
			all = append(all, Finding{Object: object("bgpsessionstate", &s.Sessions[i]), Summary: fmt.Sprintf("BFD of node %s with %s is %s", st.Node, st.Peer, st.BFDStatus)})
		}
	}
	return all
}

// poolsWithout returns the pools of which a condition is False.
func (s *Snapshot) poolsWithout(kind string) []Finding {
	var all []Finding
	for i := range s.Pools {
		p := &s.Pools[i]
		for _, c := range p.Status.Conditions {
			if c.Type == kind && c.Status == metav1.ConditionFalse {
				f := Finding{Object: object("ipaddresspool", p), Summary: "pool " + p.Name + ": " + c.Reason + ": " + c.Message}
				if r, ok := api.RemedyOf(api.Reason(c.Reason)); ok {
					f.Remedy = r.Remedy
				}
				all = append(all, f)
			}
		}
	}
	return all
}

// pending returns the Services that wait for an address of ours.
func (s *Snapshot) pending() []*corev1.Service {
	var all []*corev1.Service
	for i := range s.Services {
		v := &s.Services[i]
		if addrs, _ := service.StatusAddresses(v); len(addrs) == 0 && service.DefaultClasses().Ours(v) && hostname(v) == "" && s.older(v, addressGrace) {
			all = append(all, v)
		}
	}
	return all
}

func hostname(v *corev1.Service) string {
	for _, i := range v.Status.LoadBalancer.Ingress {
		if i.Hostname != "" {
			return i.Hostname
		}
	}
	return ""
}

func noPool(s *Snapshot) []Finding {
	if waits := s.pending(); len(s.Pools) == 0 && len(waits) > 0 {
		return []Finding{{Summary: fmt.Sprintf("there is no IPAddressPool, and %d Services of type LoadBalancer wait for an address", len(waits))}}
	}
	return nil
}

func pendingServices(s *Snapshot) []Finding {
	var all []Finding
	for _, v := range s.pending() {
		text := "no condition says why; is the operator ready, and the Service of this provider?"
		for _, c := range v.Status.Conditions {
			if c.Type == api.ConditionAllocated {
				text = c.Reason + ": " + c.Message
			}
		}
		all = append(all, Finding{
			Object: object("service", v), Summary: "service " + v.Namespace + "/" + v.Name + " has no address: " + text,
			Remedy: "kubectl -n " + v.Namespace + " describe service " + v.Name,
		})
	}
	return all
}

func otherMetalLB(s *Snapshot) []Finding {
	var all []Finding
	for _, w := range s.OtherMetalLB {
		all = append(all, Finding{Summary: "another MetalLB runs, " + w + "; Fairlead gives and announces no address beside it"})
	}
	return all
}

func invalidStates(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.States {
		st := &s.States[i]
		if st.Status.Result != v1beta1.ConfigurationInvalid {
			continue
		}
		who := st.Labels[v1beta1.LabelComponentType]
		if node := st.Labels[v1beta1.LabelNodeName]; node != "" {
			who += " of node " + node
		}
		all = append(all, Finding{Object: object("configurationstate", st), Summary: "the " + who + " does not use all of it: " + st.Status.ErrorSummary})
	}
	return all
}

func noSuccessor(s *Snapshot) []Finding {
	return s.eachAddress(func(a *inspect.Answer) string {
		if !ofRouters(a) || a.Owner == "" || len(a.Candidates) > 1 || len(a.BGP) > 1 || len(a.Disagree) > 0 {
			return ""
		}
		var why []string
		for _, node := range sorted(a.Excluded) {
			// These two are on purpose: kubeadm excludes the nodes of the control plane.
			if x := a.Excluded[node]; x != election.ExcludedLabel && x != election.ExcludedAdvertisement {
				why = append(why, node+": "+string(x))
			}
		}
		if len(why) == 0 {
			return ""
		}
		return "is announced by " + a.Owner + ", and no other node could take over (" + most(why, 3) + ")"
	})
}

// ofRouters says whether an address is that of routers, not of a user's Service.
func ofRouters(a *inspect.Answer) bool {
	return strings.HasPrefix(a.Service, api.OperandNamespace+"/")
}

// addressesOf returns the addresses of an IngressController's Service.
func (s *Snapshot) addressesOf(ic string) []netip.Addr {
	v := s.service(ic)
	if v == nil {
		return nil
	}
	addrs, _ := service.StatusAddresses(v)
	return addrs
}
