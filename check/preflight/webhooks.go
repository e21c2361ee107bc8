package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/check"
)

// written are what an installation writes, and then users, operators and Kubernetes for it.
func written() []Right {
	all := RightsNeeded()
	for _, name := range []string{api.OperatorNamespace, api.OperandNamespace, api.CanaryNamespace} {
		all = append(all, Right{"", "pods", "create", name}, Right{"", "services", "create", name})
	}
	return append(all,
		Right{"", "pods", "create", api.ProviderNamespace},
		Right{"operator.openshift.io", "ingresscontrollers", "create", api.OperatorNamespace},
		Right{"route.openshift.io", "routes", "create", "*"},
		Right{"metallb.io", "ipaddresspools", "create", api.ProviderNamespace},
		Right{"metallb.io", "bgppeers", "create", api.ProviderNamespace},
	)
}

// webhooks finds those that may refuse what an installation writes.
func webhooks(f *Facts) (string, []finding) {
	if f.gap(SourceNamespaces) != "" {
		return "", nil // their labels decide which webhooks are asked
	}
	var found []finding
	asked := []string{}
	for i := range f.Webhooks {
		w := &f.Webhooks[i]
		what := f.judged(w)
		if len(what) == 0 {
			continue
		}
		if !slices.Contains(asked, w.Configuration) {
			asked = append(asked, w.Configuration)
		}
		if w.FailurePolicy != nil && *w.FailurePolicy == admissionv1.Ignore {
			continue // without its pods it is passed over
		}
		if s := w.ClientConfig.Service; s != nil && !slices.Contains(f.ReadyServices, s.Namespace+"/"+s.Name) {
			found = append(found, finding{
				check.Fail, fmt.Sprintf("%s: webhook %s decides about %s, and no pod of its Service %s/%s is ready: the API server refuses all of them", w.Configuration, w.Name, most(what), s.Namespace, s.Name),
				"repair its program, or, if that is gone: kubectl delete " + strings.Replace(w.Configuration, "/", " ", 1), pageWebhooks,
			})
			continue
		}
		if slices.ContainsFunc(what, func(s string) bool { return strings.HasSuffix(s, ".metallb.io") }) {
			found = append(found, finding{
				check.Warn, fmt.Sprintf("%s: webhook %s of MetalLB decides about %s, and refuses every change once MetalLB is gone", w.Configuration, w.Name, most(what)),
				"kubectl delete " + strings.Replace(w.Configuration, "/", " ", 1), pageMetalLB,
			})
		}
	}
	if len(asked) == 0 {
		return "no webhook decides about objects of Fairlead", found
	}
	slices.Sort(asked)
	return "webhooks that decide about objects of Fairlead, and may refuse them: " + most(asked), found
}

// judged are the resources that a webhook is asked about.
func (f *Facts) judged(w *Webhook) []string {
	found := map[string]bool{}
	for _, r := range written() {
		if !f.selects(w.NamespaceSelector, r) {
			continue
		}
		for i := range w.Rules {
			if matches(&w.Rules[i], r) {
				found[strings.TrimSuffix(r.Resource+"."+r.Group, ".")] = true
			}
		}
	}
	return sorted(found)
}

func matches(rule *admissionv1.RuleWithOperations, r Right) bool {
	has := func(list []string, value string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, value)
	}
	operation := func(o admissionv1.OperationType) bool {
		return o == admissionv1.OperationAll || o == admissionv1.Create || o == admissionv1.Update
	}
	if rule.Scope != nil && (*rule.Scope == admissionv1.ClusterScope && r.Namespace != "" || *rule.Scope == admissionv1.NamespacedScope && r.Namespace == "") {
		return false
	}
	return slices.ContainsFunc(rule.Operations, operation) && has(rule.APIGroups, r.Group) && (has(rule.Resources, r.Resource) || slices.Contains(rule.Resources, "*/*"))
}

// selects reports whether a selector of namespaces takes one with its labels of now, or with
// none but its name if it is not there. Objects without namespace are always taken, except
// namespaces, which are judged by their own labels; these are taken here, too.
func (f *Facts) selects(selector *metav1.LabelSelector, r Right) bool {
	if selector == nil || r.Namespace == "" || r.Namespace == "*" {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return true
	}
	set := labels.Set{"kubernetes.io/metadata.name": r.Namespace}
	if ns := f.namespace(r.Namespace); ns != nil {
		maps.Copy(set, ns.Labels)
	}
	return s.Matches(set)
}
