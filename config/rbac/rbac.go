// Package rbac hands the rights of the routers, as the manifests have them, to the
// operator, which restores them.
package rbac

import _ "embed"

// Router is router.yaml.
//
//go:embed router.yaml
var Router []byte
