package effective

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// defaultHAProxyVersion is that of the router's own image.
const defaultHAProxyVersion = "3.4"

// images are the router's images by the version of HAProxy that is in them.
func (o Defaults) images() map[string]string {
	all := maps.Clone(o.HAProxyImages)
	if all == nil {
		all = map[string]string{}
	}
	all[cmp.Or(o.HAProxyVersion, defaultHAProxyVersion)] = o.RouterImage
	return all
}

// haproxyOf returns the version of HAProxy that an IngressController asks for,
// else that of the cluster if there is an image of it, else the operator's, with
// its image. The image is empty if there is no image of that version.
func haproxyOf(ic *operatorv1.IngressController, clusterWide string, o Defaults) (version, image string) {
	images := o.images()
	if wanted := string(ic.Spec.HAProxyVersion); wanted != "" {
		return wanted, images[wanted]
	}
	if image, ok := images[clusterWide]; ok && clusterWide != "" {
		return clusterWide, image
	}
	version = cmp.Or(o.HAProxyVersion, defaultHAProxyVersion)
	return version, images[version]
}

// HaproxyFault says why the version cannot be had, or nothing.
func HaproxyFault(s Spec) string {
	if s.Image != "" || s.HAProxy == "" {
		return ""
	}
	return fmt.Sprintf("there is no image with HAProxy %s, only with %s; choose one of these, take the field out, or start the operator with --haproxy-image=%s=IMAGE",
		s.HAProxy, strings.Join(s.HAProxies, ", "), s.HAProxy)
}

func haproxies(o Defaults) []string { return slices.Sorted(maps.Keys(o.images())) }
