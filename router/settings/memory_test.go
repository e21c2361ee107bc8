package settings

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// TestMemoryOf holds the numbers that docs/operator/resources.md states.
func TestMemoryOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                string
		connections, buffer int32
		routes              int
		want                Memory
	}{
		{"defaults", 0, 0, DefaultRoutes, Memory{HAProxy: 4346 * mib, Router: 945 * mib, Files: 376 * mib}},
		{"few routes and connections", 2000, 16384, 100, Memory{HAProxy: 350 * mib, Router: 323 * mib, Files: 65 * mib}},
		{"as many connections as files", -1, 0, 100, Memory{Router: 323 * mib, Files: 65 * mib}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			spec := &operatorv1.IngressControllerSpec{}
			spec.TuningOptions.MaxConnections, spec.TuningOptions.HeaderBufferBytes = test.connections, test.buffer
			got := MemoryOf(spec, test.routes)
			for _, n := range []struct {
				name      string
				got, want int64
			}{{"HAProxy", got.HAProxy, test.want.HAProxy}, {"router", got.Router, test.want.Router}, {"files", got.Files, test.want.Files}} {
				if n.got/mib != n.want/mib {
					t.Errorf("%s: %d MiB, want %d", n.name, n.got/mib, n.want/mib)
				}
			}
		})
	}
}
