package check

import (
	"slices"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/ingress"
)

// ingressGrace is how long the operator may take with an Ingress.
const ingressGrace = time.Minute

// defaultClass marks the IngressClass of Ingresses that name none.
const defaultClass = "ingressclass.kubernetes.io/is-default-class"

func ingresses() []Rule {
	why := "kubectl fairlead why ingress/NAME -n NAMESPACE"
	return []Rule{
		{ID: "FL501", Title: "An Ingress has no Route", State: Warn, Remedy: why, Needs: []Source{SourceIngresses, SourceClasses, SourceRoutes}, Judge: ingressesWithoutRoute},
		{ID: "FL502", Title: "An Ingress names a class that does not exist", State: Warn, Remedy: "correct spec.ingressClassName; kubectl get ingressclasses lists the classes", Needs: []Source{SourceIngresses, SourceClasses}, Judge: unknownClasses},
		{ID: "FL503", Title: "An Ingress names no class", State: Warn, Remedy: "set spec.ingressClassName", Needs: []Source{SourceIngresses, SourceRoutes}, Judge: withoutClass},
		{ID: "FL504", Title: "Several IngressClasses are the default", State: Warn, Remedy: "remove the annotation " + defaultClass + " of all but one", Needs: []Source{SourceClasses}, Judge: severalDefaults},
		{ID: "FL505", Title: "An IngressClass names an IngressController that does not exist", State: Warn, Remedy: "correct spec.parameters of the IngressClass, or create the IngressController", Needs: []Source{SourceClasses, SourceControllers}, Judge: classesAstray},
		{ID: "FL506", Title: "An Ingress is closed", State: Warn, Remedy: why, Needs: []Source{SourceRoutes}, Judge: closedIngresses},
	}
}

// byIngress counts the Routes of each Ingress, by "namespace/name".
func (s *Snapshot) byIngress() map[string]int {
	count := map[string]int{}
	for i := range s.Routes {
		for _, o := range s.Routes[i].OwnerReferences {
			if o.Kind == "Ingress" {
				count[s.Routes[i].Namespace+"/"+o.Name]++
			}
		}
	}
	return count
}

func (s *Snapshot) class(name string) *networkingv1.IngressClass {
	for i := range s.Classes {
		if s.Classes[i].Name == name {
			return &s.Classes[i]
		}
	}
	return nil
}

// eachIngress calls judge for each Ingress that the operator has had its time for.
func (s *Snapshot) eachIngress(judge func(*networkingv1.Ingress) string) []Finding {
	var all []Finding
	for i := range s.Ingresses {
		in := &s.Ingresses[i]
		if !s.older(in, ingressGrace) || in.DeletionTimestamp != nil {
			continue
		}
		if text := judge(in); text != "" {
			all = append(all, Finding{Object: object("ingress", in), Summary: "ingress " + in.Namespace + "/" + in.Name + " " + text})
		}
	}
	return all
}

func ingressesWithoutRoute(s *Snapshot) []Finding {
	routes := s.byIngress()
	return s.eachIngress(func(in *networkingv1.Ingress) string {
		if !ingress.Managed(in, s.class(ingress.ClassOf(in)), false) || routes[in.Namespace+"/"+in.Name] > 0 {
			return ""
		}
		if len(in.Spec.Rules) == 0 && in.Spec.DefaultBackend == nil {
			return ""
		}
		return "is of a class of Fairlead, and no Route was made of it; it is not served"
	})
}

func unknownClasses(s *Snapshot) []Finding {
	return s.eachIngress(func(in *networkingv1.Ingress) string {
		// The annotation of old names classes that need no object.
		if in.Spec.IngressClassName == nil || *in.Spec.IngressClassName == "" || s.class(*in.Spec.IngressClassName) != nil {
			return ""
		}
		return "names class " + *in.Spec.IngressClassName + ", which does not exist; no controller serves it"
	})
}

// withoutClass are the Ingresses that name no class, unless the operator takes them.
func withoutClass(s *Snapshot) []Finding {
	routes := s.byIngress()
	return s.eachIngress(func(in *networkingv1.Ingress) string {
		if ingress.ClassOf(in) != "" || routes[in.Namespace+"/"+in.Name] > 0 || len(in.Status.LoadBalancer.Ingress) > 0 {
			return ""
		}
		return "names no class, and no controller has given it an address"
	})
}

func severalDefaults(s *Snapshot) []Finding {
	var names []string
	for i := range s.Classes {
		if s.Classes[i].Annotations[defaultClass] == "true" {
			names = append(names, s.Classes[i].Name)
		}
	}
	if len(names) < 2 {
		return nil
	}
	return []Finding{{Summary: "the IngressClasses " + most(names, 5) + " are all marked as the default; the API server takes the newest for Ingresses that name none"}}
}

func classesAstray(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Classes {
		c := &s.Classes[i]
		p := c.Spec.Parameters
		if c.Spec.Controller != api.IngressClassController || p == nil || p.Kind != "IngressController" || p.APIGroup == nil || *p.APIGroup != operatorv1.GroupName {
			continue
		}
		// With a router to judge, the others are not known here.
		if s.Router == "" && !slices.Contains(s.controllerNames(), p.Name) {
			all = append(all, Finding{
				Object: object("ingressclass", c), Summary: "class " + c.Name + " is for IngressController " + p.Name + ", which does not exist; its Ingresses are not served",
			})
		}
	}
	return all
}

func closedIngresses(s *Snapshot) []Finding {
	var all []Finding
	for i := range s.Routes {
		r := &s.Routes[i]
		if r.Spec.Port == nil || r.Spec.Port.TargetPort.StrVal != api.ClosedPort {
			continue
		}
		f := Finding{Object: object("route", r), Summary: "route " + r.Namespace + "/" + r.Name + ", which is made of an Ingress, is closed: something that protects cannot be used"}
		for _, o := range r.OwnerReferences {
			if o.Kind == "Ingress" {
				f.Remedy = "kubectl -n " + r.Namespace + " describe ingress " + o.Name
			}
		}
		all = append(all, f)
	}
	return all
}
