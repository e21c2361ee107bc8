package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/check"
)

const (
	rbacGroup      = "rbac.authorization.k8s.io"
	admissionGroup = "admissionregistration.k8s.io"
)

// RightsNeeded returns what a user has to have who installs config/default: an apply
// creates objects and patches those that are there. A test compares it with the manifests.
func RightsNeeded() []Right {
	var all []Right
	for _, o := range []struct {
		group, resource string
		namespaces      []string
	}{
		{"", "namespaces", nil},
		{"apiextensions.k8s.io", "customresourcedefinitions", nil},
		{rbacGroup, "clusterroles", nil},
		{rbacGroup, "clusterrolebindings", nil},
		{admissionGroup, "validatingadmissionpolicies", nil},
		{admissionGroup, "validatingadmissionpolicybindings", nil},
		{admissionGroup, "mutatingadmissionpolicies", nil},
		{admissionGroup, "mutatingadmissionpolicybindings", nil},
		{"apps", "deployments", []string{api.OperatorNamespace}},
		{"apps", "daemonsets", []string{api.ProviderNamespace}},
		{"", "serviceaccounts", []string{api.OperatorNamespace, api.OperandNamespace, api.ProviderNamespace}},
		{rbacGroup, "roles", Namespaces()},
		{rbacGroup, "rolebindings", Namespaces()},
		{"policy", "poddisruptionbudgets", []string{api.OperatorNamespace}},
		{"networking.k8s.io", "networkpolicies", []string{api.OperatorNamespace, api.OperandNamespace, api.CanaryNamespace, api.ProviderNamespace}},
	} {
		namespaces := o.namespaces
		if namespaces == nil {
			namespaces = []string{""}
		}
		for _, namespace := range namespaces {
			for _, verb := range []string{"create", "patch"} {
				all = append(all, Right{o.group, o.resource, verb, namespace})
			}
		}
	}
	// Without these the API server refuses roles with rights that the user has not.
	return append(all, Right{rbacGroup, "clusterroles", "escalate", ""}, Right{rbacGroup, "clusterroles", "bind", ""})
}

// rights compares what the user may do with what an installation needs.
func rights(f *Facts) (string, []finding) {
	good := fmt.Sprintf("you have the %d rights of an installation", len(RightsNeeded()))
	verbs := map[string][]string{}
	var names []string
	escalates := true
	for _, r := range f.Denied {
		if r.Verb == "escalate" || r.Verb == "bind" {
			escalates = false
			continue
		}
		name := r.Resource
		if r.Namespace != "" {
			name += " in namespace " + r.Namespace
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		verbs[name] = append(verbs[name], r.Verb)
	}
	var found []finding
	const remedy = "let a user with the ClusterRole cluster-admin install it"
	if len(names) > 0 {
		slices.Sort(names)
		var parts []string
		for _, name := range names {
			parts = append(parts, strings.Join(verbs[name], " or ")+" "+name)
		}
		found = append(found, finding{check.Fail, "you may not " + most(parts), remedy, pageRights})
	}
	if !escalates {
		found = append(found, finding{
			check.Warn, "you may not escalate and bind ClusterRoles: the API server refuses roles with rights that you lack yourself", remedy, pageRights,
		})
	}
	return good, found
}
