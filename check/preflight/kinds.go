package preflight

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/check"
)

// Then is what becomes of a kind when Fairlead is installed.
type Then string

// What becomes of a kind.
const (
	// Install: it is not there.
	Install Then = "installed"
	// Keep: it is there as it would be installed.
	Keep Then = "kept"
	// Upgrade: what is installed has all of its fields, and more.
	Upgrade Then = "upgraded"
	// Leave: another program owns it, and what is installed would take fields away from it.
	Leave Then = "must stay as it is"
	// Wait: it cannot be used at present.
	Wait Then = "cannot be used"
)

// Decision is what becomes of a kind, and why.
type Decision struct {
	// Kind is the name of its definition, such as routes.route.openshift.io.
	Kind string `json:"kind"`
	// Owner is the program that keeps it, empty if there is none or it cannot be seen.
	Owner string `json:"owner"`
	// Here are its versions in the cluster, empty if it is not there.
	Here string `json:"here"`
	Then Then   `json:"then"`
	// Lost are fields of the cluster's kind that Fairlead's has not, Gained those the other
	// way round.
	Lost   []string `json:"lost"`
	Gained []string `json:"gained"`
	// Why is empty for kinds with which nothing is wrong.
	Why string `json:"why"`
}

// Decide says what becomes of a kind that Fairlead would install, where the cluster has it
// already or, with nil, has not. Of OpenShift's kinds the cluster's own program takes care.
func Decide(wanted, here *apiextensionsv1.CustomResourceDefinition, openShift bool) Decision {
	d := Decision{Kind: wanted.Name, Then: Install, Lost: []string{}, Gained: []string{}}
	if here == nil {
		if openShift && openShiftGroup(wanted.Spec.Group) {
			d.Owner, d.Here, d.Then, d.Why = "OpenShift", "served by its own API server", Leave, "OpenShift owns it"
		}
		return d
	}
	d.Owner, d.Here = Owner(here), versions(here)
	d.Lost, d.Gained = missing(here, wanted), missing(wanted, here)
	stored := slices.DeleteFunc(slices.Clone(here.Status.StoredVersions), func(v string) bool { return versionOf(wanted, v) != nil })
	switch {
	case here.DeletionTimestamp != nil:
		d.Then, d.Why = Wait, "it is being deleted, with all its objects"
	case refused(here) != "":
		d.Then, d.Why = Wait, "the API server does not accept its names: "+refused(here)
	case openShift && openShiftGroup(wanted.Spec.Group):
		d.Then, d.Why = Leave, "OpenShift owns it"
	case len(stored) > 0:
		d.Then, d.Why = Leave, "objects are stored in version "+strings.Join(stored, ", ")+", which Fairlead's has not"
	case len(d.Lost) > 0:
		d.Then, d.Why = Leave, "Fairlead's would drop what it has: "+most(d.Lost)
	case len(d.Gained) > 0:
		d.Then = Upgrade
	default:
		d.Then = Keep
	}
	return d
}

func openShiftGroup(group string) bool {
	return group == "openshift.io" || strings.HasSuffix(group, ".openshift.io")
}

// versions are those that are served, the stored one first.
func versions(k *apiextensionsv1.CustomResourceDefinition) string {
	var all []string
	for i := range k.Spec.Versions {
		switch v := &k.Spec.Versions[i]; {
		case v.Storage:
			all = append([]string{v.Name}, all...)
		case v.Served:
			all = append(all, v.Name)
		}
	}
	return strings.Join(all, ", ")
}

// refused says why the API server does not serve the kind.
func refused(k *apiextensionsv1.CustomResourceDefinition) string {
	for _, c := range k.Status.Conditions {
		if c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// mostNames is how many names a sentence has.
const mostNames = 5

// most joins the first few words of a list, and counts the others.
func most(list []string) string {
	if len(list) <= mostNames {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:mostNames], ", "), len(list)-mostNames)
}

// decisions are those about all kinds.
func decisions(f *Facts) []Decision {
	all := []Decision{}
	for i := range f.Wanted {
		all = append(all, Decide(&f.Wanted[i], f.Kinds[f.Wanted[i].Name], f.openShift() != ""))
	}
	slices.SortFunc(all, func(a, b Decision) int {
		if c := strings.Compare(groupOf(a.Kind), groupOf(b.Kind)); c != 0 {
			return c
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	return all
}

func groupOf(kind string) string {
	_, group, _ := strings.Cut(kind, ".")
	return group
}

// openShift says by what the cluster is OpenShift's, "" if it is not.
func (f *Facts) openShift() string {
	switch {
	case f.RouteAPI != "":
		return "Service " + f.RouteAPI + " answers for Routes"
	case slices.Contains(f.KindNames, "clusterversions.config.openshift.io"):
		return "it has the kind ClusterVersion"
	}
	return ""
}

func openShift(f *Facts) (string, []finding) {
	why := f.openShift()
	if why == "" {
		return "the cluster is not OpenShift's", nil
	}
	return "", []finding{{
		check.Fail, "the cluster is OpenShift's (" + why + "), whose own operator keeps Routes, IngressControllers and the namespaces " + strings.Join([]string{api.OperatorNamespace, api.OperandNamespace}, " and "),
		"keep OpenShift's router, or use another cluster: this version cannot run beside it", pageOpenShift,
	}}
}

func kinds(f *Facts) (string, []finding) {
	count := map[Then]int{}
	var found []finding
	for _, d := range decisions(f) {
		count[d.Then]++
		switch {
		case d.Why == "" || d.Why == "OpenShift owns it": // the check openshift says so
		case d.Then == Wait:
			found = append(found, finding{check.Fail, "kind " + d.Kind + ": " + d.Why, "kubectl describe crd " + d.Kind, pageKinds})
		default:
			owner := d.Owner
			if owner == "" {
				owner = "another program"
			}
			found = append(found, finding{check.Fail, fmt.Sprintf("kind %s, of %s: %s", d.Kind, owner, d.Why), remedyOf(d), pageKinds})
		}
	}
	found = append(found, converted(f)...)
	var parts []string
	for _, then := range []Then{Install, Upgrade, Keep, Leave} {
		if count[then] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[then], then))
		}
	}
	return strings.Join(parts, ", "), found
}

func remedyOf(d Decision) string {
	text := "install a version of Fairlead that has these fields, or leave this kind out and install with the chart and crds.install=false"
	if len(d.Gained) > 0 {
		text += "; then " + most(d.Gained) + " cannot be used"
	}
	return text
}

// converted are kinds whose versions another program's webhook converts: once that is
// gone, no object of them can be read.
func converted(f *Facts) []finding {
	var found []finding
	for i := range f.Wanted {
		k := f.Kinds[f.Wanted[i].Name]
		if k == nil || k.Spec.Conversion == nil || k.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter {
			continue
		}
		found = append(found, finding{
			check.Warn, "kind " + k.Name + ": a webhook converts its versions, and without its pods no object of the kind can be read",
			`kubectl patch crd ` + k.Name + ` --type=json -p='[{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}]'`, pageMetalLB,
		})
	}
	return found
}
