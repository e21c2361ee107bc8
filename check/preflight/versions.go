package preflight

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/check"
)

const (
	pageInstall    = "docs/install.md"
	pageRights     = "docs/preflight.md#rights"
	pageKinds      = "docs/preflight.md#kinds"
	pageOpenShift  = "docs/preflight.md#openshift"
	pageMetalLB    = "docs/lb/migration.md"
	pagePublishing = "docs/operator/publishing.md"
	pageGateway    = "docs/gateway/README.md"
	pageHelm       = "docs/operator/helm.md"
	pageIngress    = "docs/operator/ingress.md"
	pageProviders  = "docs/preflight.md#providers-of-addresses"
	pageWebhooks   = "docs/preflight.md#webhooks"
	pagePorts      = "docs/preflight.md#ports"

	// oldest is the first version of Kubernetes with the admission policies that protect
	// hosts and Secrets, mutating that with those that complete Routes.
	oldest   = "1.30.0"
	mutating = "1.36.0"
)

func kubernetes(f *Facts) (string, []finding) {
	if f.gap(SourceVersion) != "" {
		return "", nil
	}
	v, err := version.ParseGeneric(f.Kubernetes)
	if err != nil {
		return "", []finding{{check.Warn, fmt.Sprintf("the API server calls its version %q, which cannot be compared; needed is %s", f.Kubernetes, oldest), "kubectl version", pageInstall}}
	}
	if !v.AtLeast(version.MustParseGeneric(oldest)) {
		return "", []finding{{
			check.Fail, fmt.Sprintf("Kubernetes is %s; the admission policies that protect hosts and Secrets need %s", f.Kubernetes, oldest),
			"update Kubernetes", pageInstall,
		}}
	}
	return f.Kubernetes + " is new enough: needed is " + oldest, nil
}

func policyKinds(f *Facts) (string, []finding) {
	if f.gap(SourcePolicyKinds) != "" {
		return "", nil // what was not read is not missing
	}
	if !slices.Contains(f.PolicyKinds, "validatingadmissionpolicies") {
		return "", []finding{{
			check.Fail, "the API server does not serve ValidatingAdmissionPolicies (admissionregistration.k8s.io/v1), which protect hosts and Secrets",
			"remove the flag of the API server that switches them off, or update Kubernetes", pageInstall,
		}}
	}
	if slices.Contains(f.PolicyKinds, "mutatingadmissionpolicies") {
		return "ValidatingAdmissionPolicies and MutatingAdmissionPolicies are served: install.yaml fits", nil
	}
	if v, err := version.ParseGeneric(f.Kubernetes); err == nil && v.AtLeast(version.MustParseGeneric(mutating)) {
		return "", []finding{{
			check.Warn, "the API server does not serve MutatingAdmissionPolicies, although its version has them; install.yaml is refused",
			"apply install-compat.yaml, or switch them on", pageInstall,
		}}
	}
	return "MutatingAdmissionPolicies are not served: use install-compat.yaml, and Routes name their hosts", nil
}

// installed says what is upgraded, and in which way.
func installed(f *Facts) (string, []finding) {
	for i := range f.Deployments {
		d := &f.Deployments[i]
		if d.Namespace != api.OperatorNamespace || d.Name != "ingress-operator" {
			continue
		}
		image := ""
		for _, c := range d.Spec.Template.Spec.Containers {
			if c.Name == "operator" {
				image = c.Image
			}
		}
		if image == "" {
			return "", []finding{{
				check.Fail, "Deployment ingress-operator in namespace " + api.OperatorNamespace + " has no container operator, so it is another program's (" + Owner(d) + ")",
				"remove that program, or keep Fairlead out of this cluster", pageOpenShift,
			}}
		}
		owner := Owner(d)
		if owner == "" {
			owner = "kubectl"
		}
		return fmt.Sprintf("an upgrade: the operator runs %s, installed by %s; upgrade in the same way", image, owner), nil
	}
	return "Fairlead is not installed", nil
}

// gatewayAPI judges the version of its kinds, which Fairlead never installs by itself.
func gatewayAPI(f *Facts) (string, []finding) {
	versions := map[string][]string{}
	for name, k := range f.Kinds {
		if k.Spec.Group == "gateway.networking.k8s.io" {
			bundle := k.Annotations[gateway.BundleAnnotation]
			versions[bundle] = append(versions[bundle], name)
		}
	}
	switch len(versions) {
	case 0:
		return "not installed; Routes and Ingresses do not need it, and config/gateway installs it", nil
	case 1:
	default:
		return "", []finding{{
			check.Warn, "the kinds of the Gateway API are of different versions: " + strings.Join(sorted(versions), ", "),
			"install all of them from one version", pageGateway,
		}}
	}
	bundle := sorted(versions)[0]
	if !gateway.BundleServed(bundle) {
		return "", []finding{{
			check.Warn, fmt.Sprintf("the kinds of the Gateway API have version %s; served are v1.%d to v1.%d, so GatewayClasses are not accepted", bundle, gateway.LeastBundleMinor, gateway.MostBundleMinor),
			"update them if you want Gateways, with the other programs that use them; Routes and Ingresses are not concerned", pageGateway,
		}}
	}
	if bundle == "" {
		bundle = "of a vendor"
	}
	owner := ""
	for _, name := range versions[sorted(versions)[0]] {
		if owner = Owner(f.Kinds[name]); owner != "" {
			owner = ", of " + owner
			break
		}
	}
	return fmt.Sprintf("%d kinds, %s%s: used as they are", len(f.gatewayKinds()), bundle, owner), nil
}

func (f *Facts) gatewayKinds() []string {
	var all []string
	for _, name := range sorted(f.Kinds) {
		if f.Kinds[name].Spec.Group == "gateway.networking.k8s.io" {
			all = append(all, name)
		}
	}
	return all
}

// ofFairlead reports whether an object is one of the product's own.
func ofFairlead(o metav1.Object) bool {
	return o.GetLabels()["app.kubernetes.io/part-of"] == "fairlead" ||
		o.GetNamespace() == api.OperandNamespace && o.GetLabels()[api.LabelDeploymentIngressController] != ""
}
