//go:build tools

// Package helm4 names the command that tests the chart, so that the module's requirements stay complete.
package helm4

import _ "helm.sh/helm/v4/cmd/helm"
