//go:build tools

// Package etcd names the etcd command that the test cluster runs, so that the module's requirements stay complete.
package etcd

import _ "go.etcd.io/etcd/server/v3"
