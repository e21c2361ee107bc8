//go:build tools

// Package helm names the command that tests the chart, so that the module's requirements stay complete.
package helm

import _ "helm.sh/helm/v3/cmd/helm"
