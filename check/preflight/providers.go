package preflight

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/check"
)

// provider is another program that gives or announces addresses of Services.
type provider struct {
	name string
	// image is a part of the names of its images, label one of its labels, kind one of its
	// kinds; what is empty does not identify it.
	image, label, kind string
	remedy             string
}

var providers = []provider{
	{name: "ServiceLB of K3s", label: "svccontroller.k3s.cattle.io/svcname", remedy: "start K3s with --disable servicelb"},
	{name: "kube-vip", image: "kube-vip/", remedy: "switch its Services off (svc_enable=false); its control plane address may stay"},
	{name: "PureLB", image: "purelb/", remedy: "remove it, or set loadBalancerClass on Services"},
	{name: "OpenELB", image: "openelb", remedy: "remove it, or set loadBalancerClass on Services"},
	{name: "Cilium's LB IPAM", kind: "ciliumloadbalancerippools.cilium.io", remedy: "delete its pools (kubectl get ciliumloadbalancerippools), or set loadBalancerClass on Services"},
	{name: "a cloud's controller", image: "cloud-controller-manager", remedy: "leave Fairlead's speakers out (chart: speaker.enabled=false), or set loadBalancerClass on Services"},
}

// has reports whether a workload is the provider's.
func (p provider) has(o metav1.Object, spec *corev1.PodSpec) bool {
	if p.label != "" && o.GetLabels()[p.label] != "" {
		return true
	}
	return p.image != "" && slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool { return strings.Contains(c.Image, p.image) })
}

// addressProviders finds other programs that give addresses.
func addressProviders(f *Facts) (string, []finding) {
	var found []finding
	if len(f.OtherMetalLB) > 0 {
		found = append(found, finding{
			check.Warn, "another MetalLB runs (" + most(f.OtherMetalLB) + "); Fairlead can be installed, and gives and announces no address until it is gone",
			"follow the steps of the page; do not delete MetalLB's manifest, with which all pools would go", pageMetalLB,
		})
	}
	for _, p := range providers {
		var names []string
		each(f, func(kind string, o metav1.Object, spec *corev1.PodSpec) {
			if p.has(o, spec) {
				names = append(names, kind+"/"+o.GetNamespace()+"/"+o.GetName())
			}
		})
		if p.kind != "" && slices.Contains(f.KindNames, p.kind) {
			names = append(names, "kind "+p.kind)
		}
		if len(names) > 0 {
			slices.Sort(names)
			found = append(found, finding{
				check.Warn, fmt.Sprintf("%s is there (%s); two providers would give and announce addresses of the same Services", p.name, most(names)), p.remedy, pageProviders,
			})
		}
	}
	return "no other provider of addresses for Services was found", found
}

// each calls a function for each workload.
func each(f *Facts, do func(kind string, o metav1.Object, spec *corev1.PodSpec)) {
	for i := range f.Deployments {
		d := &f.Deployments[i]
		do("deployment", d, &d.Spec.Template.Spec)
	}
	for i := range f.DaemonSets {
		d := &f.DaemonSets[i]
		do("daemonset", d, &d.Spec.Template.Spec)
	}
}

// ingressClasses finds other Ingress controllers.
func ingressClasses(f *Facts) (string, []finding) {
	var found []finding
	var others, defaults []string
	own := api.IngressClassName(api.DefaultIngressController)
	for i := range f.Classes {
		c := &f.Classes[i]
		if c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			defaults = append(defaults, c.Name)
		}
		if c.Spec.Controller == api.IngressClassController {
			continue
		}
		others = append(others, fmt.Sprintf("%s of %s", c.Name, c.Spec.Controller))
		if c.Name == own {
			found = append(found, finding{
				check.Fail, fmt.Sprintf("IngressClass %s belongs to %s, and the operator cannot make its own of this name", own, c.Spec.Controller),
				"delete it, or give it another name", pageIngress,
			})
		}
	}
	if len(defaults) > 1 {
		found = append(found, finding{
			check.Warn, "several IngressClasses are the default: " + most(defaults) + "; which controller serves an Ingress without class is open",
			"leave the annotation " + networkingv1.AnnotationIsDefaultIngressClass + " on one of them", pageIngress,
		})
	}
	switch {
	case len(others) == 0:
		return "no other Ingress controller has a class", found
	case len(defaults) == 1:
		return "other classes: " + most(others) + "; the default is " + defaults[0] + ". Fairlead serves Ingresses of its own classes only", found
	}
	return "other classes: " + most(others) + ". Fairlead serves Ingresses of its own classes only", found
}

// gatewayClasses finds other implementations of the Gateway API.
func gatewayClasses(f *Facts) (string, []finding) {
	var others []string
	for _, c := range f.GatewayClasses {
		if c.Controller != string(gateway.ControllerName) {
			others = append(others, fmt.Sprintf("%s of %s", c.Name, c.Controller))
		}
	}
	if len(others) == 0 {
		return "no other program has a GatewayClass", nil
	}
	return "other classes: " + most(others) + ". Fairlead serves Gateways of its own classes only", nil
}
