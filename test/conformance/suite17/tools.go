//go:build tools

package suite

// The echo server is what the suite's manifests run as pods.
import _ "sigs.k8s.io/gateway-api-conformance-images/echo-basic"
