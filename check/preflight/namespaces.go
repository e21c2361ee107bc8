package preflight

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/check"
)

// enforceLabel is the level of Pod Security of a namespace.
const enforceLabel = "pod-security.kubernetes.io/enforce"

// namespacesExist says which namespaces are there, and whether they can be used.
func namespacesExist(f *Facts) (string, []finding) {
	var found []finding
	there := 0
	for _, name := range Namespaces() {
		ns := f.namespace(name)
		if ns == nil {
			continue
		}
		there++
		if ns.Status.Phase == corev1.NamespaceTerminating || ns.DeletionTimestamp != nil {
			found = append(found, finding{
				check.Fail, "namespace " + name + " is being deleted, with all in it; nothing can be made there",
				"kubectl get namespace " + name + " -o yaml says what it waits for", pageInstall,
			})
		}
	}
	if there == len(Namespaces()) {
		return fmt.Sprintf("all %d are there", there), found
	}
	return fmt.Sprintf("%d of %d are there, the others are installed", there, len(Namespaces())), found
}

// podSecurity compares the levels of namespaces that are there with what pods need. The
// manifests set the levels, but cannot replace a label that another program keeps.
func podSecurity(f *Facts) (string, []finding) {
	var found []finding
	if ns := f.namespace(api.ProviderNamespace); ns != nil {
		level := ns.Labels[enforceLabel]
		switch owner := labelOwner(ns); {
		case level == "privileged" || level == "" && owner == "":
		case owner == "" || strings.HasPrefix(owner, "kubectl"):
			// The apply sets it, or says that there is a conflict.
			found = append(found, finding{
				check.Warn, fmt.Sprintf("namespace %s enforces Pod Security %q, and speakers need the network of their node", ns.Name, level),
				"kubectl label --overwrite namespace " + ns.Name + " " + enforceLabel + "=privileged", pageInstall,
			})
		default:
			found = append(found, finding{
				check.Fail, fmt.Sprintf("namespace %s enforces Pod Security %q by %s, and speakers need the network of their node", ns.Name, level, owner),
				"let " + owner + " set " + enforceLabel + "=privileged", pageInstall,
			})
		}
	}
	if ns, routers := f.namespace(api.OperandNamespace), f.hostNetworked(); ns != nil && len(routers) > 0 {
		if level := ns.Labels[enforceLabel]; level != "privileged" && level != "" {
			found = append(found, finding{
				check.Fail, fmt.Sprintf("namespace %s enforces Pod Security %q, and IngressController %s publishes by HostNetwork", ns.Name, level, most(routers)),
				"kubectl label --overwrite namespace " + ns.Name + " " + enforceLabel + "=privileged, and config/host-network in your kustomization", pagePublishing,
			})
		}
	}
	return "no namespace keeps pods of Fairlead from starting", found
}

// labelOwner is the field manager that keeps the label, "" if there is none.
func labelOwner(ns *corev1.Namespace) string {
	for _, m := range ns.ManagedFields {
		if m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:`+enforceLabel+`"`) {
			return m.Manager
		}
	}
	return ""
}
