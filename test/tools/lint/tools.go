//go:build tools

// Package lint names golangci-lint, so that the module's requirements stay complete.
package lint

import _ "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
