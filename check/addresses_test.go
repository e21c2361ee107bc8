package check

import (
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/inspect"
)

func poolCondition(kind string, status metav1.ConditionStatus) scene {
	return func(_ *testing.T, s *Snapshot) {
		s.Pools[0].Status.Conditions = []metav1.Condition{{Type: kind, Status: status, Reason: "noAdvertisement", Message: "none selects it"}}
	}
}

func sessions(states ...string) scene {
	return func(_ *testing.T, s *Snapshot) {
		for i, state := range states {
			s.Sessions[i] = session("n"+string('1'+rune(i)), state)
			s.Sessions[i].Status.LastError = "connection refused"
		}
	}
}

func answer(change func(*inspect.Answer)) scene {
	return func(_ *testing.T, s *Snapshot) { change(&s.Addresses[0]) }
}

// waits adds a Service without an address.
func waits(age time.Duration, class string) scene {
	return func(_ *testing.T, s *Snapshot) {
		v := balancer("web", "db")
		v.CreationTimestamp = ago(age)
		v.Status.Conditions = []metav1.Condition{{Type: api.ConditionAllocated, Status: metav1.ConditionFalse, Reason: "NoFreeAddress", Message: "pool office is full"}}
		if class != "" {
			v.Spec.LoadBalancerClass = &class
		}
		s.Services = append(s.Services, v)
	}
}

func both(scenes ...scene) scene {
	return func(t *testing.T, s *Snapshot) {
		for _, x := range scenes {
			x(t, s)
		}
	}
}

func addressRulings() map[string]ruling {
	no := operatorv1.ConditionFalse
	lone := func(x election.Exclusion) scene {
		return answer(func(a *inspect.Answer) {
			a.Candidates, a.Excluded = a.Candidates[:1], map[string]election.Exclusion{"n1": x}
		})
	}
	noPools := func(_ *testing.T, s *Snapshot) { s.Pools = nil }
	return map[string]ruling{
		"FL301": {
			says("LoadBalancerReady", no, "LoadBalancerPending", "no address yet"), Fail, "no address yet",
			both(says("LoadBalancerReady", no, "LoadBalancerPending", "x"), says("LoadBalancerManaged", no, "x", "HostNetwork")),
		},
		"FL302": {
			answer(func(a *inspect.Answer) { a.Owner, a.Candidates, a.Reason = "", nil, "noReadyEndpoints" }), Fail, "198.18.0.200 of service openshift-ingress/router-default is announced by no node: noReadyEndpoints",
			answer(func(a *inspect.Answer) {
				a.Owner, a.Candidates, a.BGP = "", nil, []inspect.Session{{Node: "n1", Peer: "tor", State: "Established"}}
			}),
		},
		"FL303": {
			answer(func(a *inspect.Answer) { a.Disagree = map[string]string{"n1": "n1"} }), Fail, "the speaker of n1 says n1",
			answer(func(a *inspect.Answer) { a.Disagree = map[string]string{} }),
		},
		"FL304": {
			func(_ *testing.T, s *Snapshot) { s.Speakers[0].Status.NumberReady = 1 }, Warn, "1 of 2 speakers",
			func(_ *testing.T, s *Snapshot) { s.Speakers[0].Name = "other"; s.Speakers[0].Status.NumberReady = 0 },
		},
		"FL305": {
			func(_ *testing.T, s *Snapshot) { s.Unreachable["n2"] = "no answer in time" }, Warn, "speaker of node n2 is ready, and does not answer: no answer in time",
			func(_ *testing.T, s *Snapshot) { // FL304 has it
				s.Unreachable["n2"] = "x"
				s.SpeakerPods[1].Status.Conditions[0].Status = corev1.ConditionFalse
			},
		},
		"FL306": {
			func(_ *testing.T, s *Snapshot) {
				s.SpeakerPods[0].Status.ContainerStatuses[0] = waiting("ErrImagePull")
			}, Warn, "ErrImagePull",
			func(_ *testing.T, s *Snapshot) {
				s.SpeakerPods[0].Status.ContainerStatuses[0] = waiting("PodInitializing")
			},
		},
		"FL307": {sessions("Active", "Idle"), Fail, "node n1 with tor is Active: connection refused", sessions("Established")},
		"FL308": {
			func(_ *testing.T, s *Snapshot) { s.Sessions[0].Status.BFDStatus = "Down" }, Warn, "BFD of node n1 with tor is Down",
			func(_ *testing.T, s *Snapshot) { s.Sessions[0].Status.BFDStatus = "N/A" },
		},
		"FL309": {poolCondition("Valid", metav1.ConditionFalse), Warn, "pool office", poolCondition("Valid", metav1.ConditionTrue)},
		"FL310": {poolCondition("Advertised", metav1.ConditionFalse), Warn, "none selects it", poolCondition("Valid", metav1.ConditionFalse)},
		"FL311": {both(noPools, waits(time.Hour, "")), Warn, "1 Services of type LoadBalancer wait", noPools},
		"FL312": {waits(time.Hour, ""), Warn, "service web/db has no address: NoFreeAddress: pool office is full", both(waits(time.Second, ""), waits(time.Hour, "other.example.com/lb"))},
		"FL313": {
			func(_ *testing.T, s *Snapshot) {
				s.OtherMetalLB = []string{"deployment controller in namespace metallb"}
			}, Fail, "deployment controller in namespace metallb",
			func(_ *testing.T, s *Snapshot) { s.OtherMetalLB = []string{} },
		},
		"FL314": {
			func(_ *testing.T, s *Snapshot) {
				s.States[0].Labels = map[string]string{v1beta1.LabelComponentType: "speaker", v1beta1.LabelNodeName: "n1"}
				s.States[0].Status = v1beta1.ConfigurationStateStatus{Result: v1beta1.ConfigurationInvalid, ErrorSummary: "BGPPeer tor: x"}
			}, Warn, "the speaker of node n1 does not use all of it: BGPPeer tor: x",
			func(_ *testing.T, s *Snapshot) { s.States[0].Status.Result = v1beta1.ConfigurationUnknown },
		},
		"FL315": {lone(election.ExcludedUnreachable), Warn, "no other node could take over (n1: its speaker is not reachable)", lone(election.ExcludedLabel)},
	}
}

// TestUsersAddress: the Service of a user does not make the ingress unhealthy.
func TestUsersAddress(t *testing.T) {
	t.Parallel()
	s := healthy(t)
	s.Addresses = append(s.Addresses, inspect.Answer{Addresses: []string{"198.18.0.201"}, Service: "web/db", Reason: "noReadyEndpoints"})
	if r := Judge(s); r.Verdict != Healthy || r.Count(Warn) != 1 || r.Good(true) || !r.Good(false) {
		t.Errorf("%+v", r)
	}
}

func nameRulings() map[string]ruling {
	lookup := func(change func(*Lookup)) scene {
		return func(_ *testing.T, s *Snapshot) { change(&s.Lookups[0]) }
	}
	failed := says("DNSReady", operatorv1.ConditionFalse, "FailedZones", "refused by the server")
	return map[string]ruling{
		"FL401": {both(failed, says("DNSManaged", operatorv1.ConditionTrue, "Normal", "")), Fail, "refused by the server", failed},
		"FL402": {
			lookup(func(l *Lookup) { l.NotFound, l.Addresses = true, nil }), Warn, "*.apps.example.com, asked from this machine, does not exist",
			lookup(func(l *Lookup) { l.Error, l.Addresses = "no answer", nil }),
		},
		"FL403": {
			lookup(func(l *Lookup) { l.Addresses = []string{"198.18.0.9"} }), Warn, "leads to 198.18.0.9; router default is at 198.18.0.200",
			lookup(func(l *Lookup) { l.Addresses, l.Want = []string{"203.0.113.7"}, []string{"10.0.0.7"} }), // passed on by a device in front
		},
	}
}

func reachRulings() map[string]ruling {
	silent := func(scheme string) scene {
		return func(_ *testing.T, s *Snapshot) {
			for i := range s.Probes {
				if s.Probes[i].Scheme == scheme {
					s.Probes[i].Status, s.Probes[i].Error = 0, "connection refused"
				}
			}
		}
	}
	unknown := says("CanaryChecksSucceeding", operatorv1.ConditionUnknown, "CanaryChecksPending", "")
	status := func(code int) scene {
		return func(_ *testing.T, s *Snapshot) {
			for i := range s.Probes {
				if s.Probes[i].Scheme == secure {
					s.Probes[i].Status = code
				}
			}
		}
	}
	return map[string]ruling{
		"FL601": {says("CanaryChecksSucceeding", operatorv1.ConditionFalse, "CanaryChecksRepetitiveFailures", "no answer"), Fail, "no answer", unknown},
		"FL602": {both(silent(plain), unknown), Fail, "http://198.18.0.200:80 gives no answer to this machine: connection refused", silent(secure)},
		"FL603": {silent(secure), Warn, "the canary gets its answers within the cluster", silent(plain)},
		"FL604": {
			status(503), Fail, "https://198.18.0.200:443 answers 503 for the canary's host canary.apps.example.com",
			func(t *testing.T, s *Snapshot) { // a host that no Route names
				status(503)(t, s)
				for i := range s.Probes {
					s.Probes[i].Canary = false
				}
			},
		},
		"FL605": {
			func(_ *testing.T, s *Snapshot) { s.Probes[0].Took = 2500 * time.Millisecond }, Warn, "took 2.5s",
			func(_ *testing.T, s *Snapshot) { s.Probes[0].Took, s.Probes[0].Error = 3*time.Second, "no answer" },
		},
	}
}

// TestTargets: what is asked follows from how the routers are published.
func TestTargets(t *testing.T) {
	t.Parallel()
	s := healthy(t)
	want := func(what string, addresses ...string) {
		t.Helper()
		var got []string
		for _, target := range s.Targets() {
			got = append(got, target.Address)
		}
		if len(got) != len(addresses) {
			t.Fatalf("%s: %q, want %q", what, got, addresses)
		}
		for i := range got {
			if got[i] != addresses[i] {
				t.Errorf("%s: %q, want %q", what, got, addresses)
			}
		}
	}
	want("a load balancer", "198.18.0.200:80", "198.18.0.200:443")
	s.Services[0].Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.cloud.example"}}
	want("one of a cloud", "lb.cloud.example:80", "lb.cloud.example:443")
	strategy := s.Controllers[0].Status.EndpointPublishingStrategy
	strategy.Type, strategy.HostNetwork = operatorv1.HostNetworkStrategyType, &operatorv1.HostNetworkStrategy{HTTPPort: 8080}
	s.Pods[0].Status.HostIP, s.Pods[1].Status.HostIP = "fd00::1", "192.0.2.2"
	want("nodes", "[fd00::1]:8080", "[fd00::1]:443", "192.0.2.2:8080", "192.0.2.2:443")
	strategy.Type = operatorv1.PrivateStrategyType
	want("private routers")
}
