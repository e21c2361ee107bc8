package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/fairlead/fairlead/api"
)

const (
	operatorDeployment = "ingress-operator"
	operatorLease      = "fairlead-operator"
	speakerDaemonSet   = "speaker"
	// leaseGrace is how long after its end a Lease may be taken by another replica.
	leaseGrace = 30 * time.Second
	// skew is what two clocks may differ by.
	skew = time.Minute
	// oldest is the first version of Kubernetes with the admission policies.
	oldest = "1.30.0"
)

// neededPolicies are the admission policies without which users could do more than
// they may.
var neededPolicies = []string{
	"fairlead-operator-access", "fairlead-operator-cluster-access",
	"fairlead-route-custom-host-create", "fairlead-route-custom-host-update", "fairlead-route-external-certificate",
}

// KindsNeeded returns the kinds of an installation. Those with Needed routers cannot be
// without.
func KindsNeeded() []Kind {
	return []Kind{
		{"route.openshift.io", "Route"},
		{"operator.openshift.io", "IngressController"},
		{"fairlead.dev", "RoutePolicy"},
		{"fairlead.dev", "ClusterRoutePolicy"},
		{"metallb.io", "IPAddressPool"},
		{"metallb.io", "L2Advertisement"},
		{"metallb.io", "ServiceL2Status"},
	}
}

func installation() []Rule {
	return []Rule{
		{
			ID: "FL001", Title: "Kinds are missing", State: Fail, Remedy: "kubectl apply --server-side -k config/default",
			Needs: []Source{SourceKinds}, Judge: missingKinds,
		},
		{
			ID: "FL002", Title: "The operator is not installed", State: Fail, Remedy: "kubectl apply --server-side -k config/default",
			Needs: []Source{SourceOperatorDeployments}, Judge: noOperator,
		},
		{
			ID: "FL003", Title: "The operator is not ready", State: Warn, Remedy: "kubectl -n " + api.OperatorNamespace + " describe pods",
			Needs: []Source{SourceOperatorDeployments}, Judge: operatorNotReady,
		},
		{
			ID: "FL004", Title: "The operator has no leader", State: Fail, Remedy: "kubectl -n " + api.OperatorNamespace + " logs -l name=" + operatorDeployment + " --tail=50",
			Needs: []Source{SourceOperatorLeases, SourceOperatorDeployments}, Judge: noLeader,
		},
		{
			ID: "FL005", Title: "A pod of the operator does not start", State: Warn, Remedy: "kubectl -n " + api.OperatorNamespace + " describe pods",
			Needs: []Source{SourceOperatorPods}, Judge: func(s *Snapshot) []Finding { return stuck(s.OperatorPods) },
		},
		{
			ID: "FL006", Title: "Programs of different versions run", State: Warn, Remedy: "kubectl apply --server-side -k config/default, with all images of one version",
			Needs: []Source{SourceOperatorDeployments, SourceDeployments, SourceSpeakers}, Judge: versionsDiffer,
		},
		{
			ID: "FL007", Title: "Kubernetes is too old", State: Warn, Remedy: "update Kubernetes",
			Needs: []Source{SourceVersion}, Judge: oldKubernetes,
		},
		{
			ID: "FL008", Title: "Clocks differ", State: Warn, Remedy: "let this machine and the cluster take their time from NTP",
			Needs: []Source{SourceVersion}, Judge: clocksDiffer,
		},
		{
			ID: "FL009", Title: "Admission policies are missing", State: Warn, Remedy: "kubectl apply --server-side -k config/default",
			Needs: []Source{SourcePolicies}, Judge: missingPolicies,
		},
		{
			ID: "FL010", Title: "A node is not ready", State: Warn, Remedy: "kubectl describe node NAME",
			Needs: []Source{SourceNodes}, Judge: nodesNotReady,
		},
	}
}

func missingKinds(s *Snapshot) []Finding {
	var all []Finding
	for _, k := range s.MissingKinds {
		f := Finding{Summary: fmt.Sprintf("the API server has no kind %s of group %s", k.Name, k.Group)}
		if k.Group != "route.openshift.io" && k.Group != "operator.openshift.io" {
			f.State = Warn // a part of the product is not installed
		}
		all = append(all, f)
	}
	return all
}

func operator(s *Snapshot) *appsv1.Deployment {
	for i := range s.OperatorDeployments {
		if s.OperatorDeployments[i].Name == operatorDeployment {
			return &s.OperatorDeployments[i]
		}
	}
	return nil
}

func noOperator(s *Snapshot) []Finding {
	if operator(s) != nil {
		return nil
	}
	return []Finding{{
		Object:  "deployment/" + api.OperatorNamespace + "/" + operatorDeployment,
		Summary: "there is no operator: IngressControllers, Ingresses and addresses are not looked after",
	}}
}

func operatorNotReady(s *Snapshot) []Finding {
	d := operator(s)
	if d == nil || d.Status.ReadyReplicas >= wanted(d) && wanted(d) > 0 {
		return nil
	}
	f := Finding{
		Object:  object("deployment", d),
		Summary: fmt.Sprintf("%d of %d operator pods are ready; changes of Ingresses, new addresses and new IngressControllers wait", d.Status.ReadyReplicas, wanted(d)),
	}
	if d.Status.ReadyReplicas == 0 {
		f.State = Fail
	} else {
		f.Summary = fmt.Sprintf("%d of %d operator pods are ready; without the last one, changes wait", d.Status.ReadyReplicas, wanted(d))
	}
	return []Finding{f}
}

func noLeader(s *Snapshot) []Finding {
	d := operator(s)
	if d == nil || d.Status.ReadyReplicas == 0 {
		return nil // FL002 and FL003 say so
	}
	holder, since := "", ""
	for i := range s.OperatorLeases {
		if l := &s.OperatorLeases[i]; l.Name == operatorLease {
			if holder = current(l, s.Now); holder == "" && l.Spec.RenewTime != nil {
				since = " since " + l.Spec.RenewTime.UTC().Format(time.RFC3339)
			}
		}
	}
	if holder != "" {
		return nil
	}
	return []Finding{{
		Object:  "lease/" + api.OperatorNamespace + "/" + operatorLease,
		Summary: "no operator pod is the leader" + since + "; changes of Ingresses, new addresses and new IngressControllers wait",
	}}
}

// current returns the holder of a Lease, "" if there is none or its time is over.
func current(l *coordinationv1.Lease, now time.Time) string {
	spec := l.Spec
	if spec.HolderIdentity == nil || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return ""
	}
	if now.Sub(spec.RenewTime.Time) > time.Duration(*spec.LeaseDurationSeconds)*time.Second+leaseGrace {
		return ""
	}
	return *spec.HolderIdentity
}

// stuck returns the pods that cannot start.
func stuck(pods []corev1.Pod) []Finding {
	var all []Finding
	for i := range pods {
		p := &pods[i]
		if why := trouble(p); why != "" && p.DeletionTimestamp == nil {
			all = append(all, Finding{Object: object("pod", p), Summary: why})
		}
	}
	return all
}

// trouble says why a pod does not start, "" if it does, or may still.
func trouble(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "the pod cannot be scheduled: " + c.Message
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		w := c.State.Waiting
		if w == nil || w.Reason == "PodInitializing" || w.Reason == "ContainerCreating" || w.Reason == "" {
			continue
		}
		text := fmt.Sprintf("container %s does not start: %s", c.Name, w.Reason)
		if t := c.LastTerminationState.Terminated; t != nil {
			return fmt.Sprintf("%s; it ended with code %d: %s", text, t.ExitCode, lastLine(t.Message))
		}
		return strings.TrimSuffix(text+": "+w.Message, ": ")
	}
	return ""
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// versionsDiffer compares the tags of images; a digest says nothing about the version.
func versionsDiffer(s *Snapshot) []Finding {
	tags := map[string]string{}
	add := func(name string, spec corev1.PodSpec) {
		for _, c := range slices.Concat(spec.Containers, spec.InitContainers) {
			image := c.Image[strings.LastIndexByte(c.Image, '/')+1:]
			if base, tag, ok := strings.Cut(image, ":"); ok && !strings.Contains(image, "@") && slices.Contains([]string{"operator", "router", "speaker"}, base) {
				tags[name] = tag
			}
		}
	}
	if d := operator(s); d != nil {
		add("the operator", d.Spec.Template.Spec)
	}
	for i := range s.Deployments {
		add("deployment "+s.Deployments[i].Name, s.Deployments[i].Spec.Template.Spec)
	}
	for i := range s.Speakers {
		if s.Speakers[i].Name == speakerDaemonSet {
			add("the speakers", s.Speakers[i].Spec.Template.Spec)
		}
	}
	var parts []string
	distinct := map[string]bool{}
	for _, name := range sorted(tags) {
		parts = append(parts, name+" "+tags[name])
		distinct[tags[name]] = true
	}
	if len(distinct) < 2 {
		return nil
	}
	return []Finding{{Summary: "images of different versions run: " + strings.Join(parts, ", ")}}
}

func oldKubernetes(s *Snapshot) []Finding {
	v, err := version.ParseGeneric(s.Kubernetes)
	if err != nil || v.AtLeast(version.MustParseGeneric(oldest)) {
		return nil
	}
	return []Finding{{Summary: "Kubernetes is " + s.Kubernetes + "; the admission policies that protect hosts and Secrets need " + oldest}}
}

func clocksDiffer(s *Snapshot) []Finding {
	d := s.Here.Sub(s.Now)
	if d.Abs() <= skew {
		return nil
	}
	return []Finding{{Summary: fmt.Sprintf("this machine's clock and that of the API server differ by %s; times in this answer are those of the API server", d.Abs().Round(time.Second))}}
}

func missingPolicies(s *Snapshot) []Finding {
	var all []Finding
	for _, name := range neededPolicies {
		if !slices.Contains(s.Policies, name) {
			all = append(all, Finding{Object: "validatingadmissionpolicy/" + name, Summary: "the policy does not exist, so users may do what it forbids"})
		}
	}
	return all
}

func nodesNotReady(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				all = append(all, Finding{
					Object: "node/" + n.Name, Summary: "the node is not ready: " + c.Reason + ": " + c.Message,
					Remedy: "kubectl describe node " + n.Name,
				})
			}
		}
	}
	return all
}
