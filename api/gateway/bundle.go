package gateway

import (
	"strconv"
	"strings"
)

// BundleAnnotation is on the CRDs of the Gateway API and has their version.
const BundleAnnotation = "gateway.networking.k8s.io/bundle-version"

// ChannelAnnotation has their channel: "standard" or "experimental".
const ChannelAnnotation = "gateway.networking.k8s.io/channel"

// The minor versions of the CRDs, of major version 1, that are served.
const (
	LeastBundleMinor = 5
	MostBundleMinor  = 7
)

// BundleServed reports whether CRDs of this version are served. CRDs without a version may
// be those of a vendor, who knows what they are.
func BundleServed(bundle string) bool {
	if bundle == "" {
		return true
	}
	minor, ok := minorOf(bundle)
	return ok && minor >= LeastBundleMinor && minor <= MostBundleMinor
}

// minorOf returns the minor version of CRDs of major version 1.
func minorOf(bundle string) (minor int, ok bool) {
	rest, first := strings.CutPrefix(bundle, "v1.")
	text, _, _ := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(text)
	return minor, first && err == nil
}
