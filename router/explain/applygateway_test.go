package explain_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/manifest"
)

const appliedGateways = `
apiVersion: v1
kind: Service
metadata: {name: one, namespace: web}
spec: {ports: [{port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: web}
spec: {gatewayClassName: fairlead, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: web}
spec: {parentRefs: [{name: gw}], hostnames: [a.test], rules: [{backendRefs: [{name: one, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: other, namespace: web}
spec: {parentRefs: [{name: gw}], hostnames: [b.test], rules: [{backendRefs: [{name: one, port: 80}]}]}
`

// TestApplyGateways: manifests of the Gateway API are put upon those of a cluster, which keep
// their identity, and prune removes what they do not have.
func TestApplyGateways(t *testing.T) {
	t.Parallel()
	read := func(text string) *explain.Objects {
		r := manifest.NewReader("web")
		r.Read("x", []byte(text))
		return r.Objects()
	}
	cluster := read(appliedGateways)
	for key, o := range cluster.Gateways {
		o.SetUID(types.UID(key.String()))
		o.SetCreationTimestamp(metav1.NewTime(applyNow))
	}
	changed := strings.Replace(appliedGateways[:strings.LastIndex(appliedGateways, "---")], "a.test", "c.test", 1)
	for _, test := range []struct {
		prune      bool
		lost, kept int
	}{{false, 1, 1}, {true, 2, 0}} {
		before, after := cluster.Apply(read(changed), test.prune)
		for key, o := range after.Gateways {
			if o.GetUID() != types.UID(key.String()) {
				t.Errorf("%s has UID %q", key, o.GetUID())
			}
		}
		was, err := explain.NewSnapshot(before, explain.Options{Router: "default", Now: applyNow})
		if err != nil {
			t.Fatal(err)
		}
		is, err := explain.NewSnapshot(after, explain.Options{Router: "default", Now: applyNow})
		if err != nil {
			t.Fatal(err)
		}
		d, lost, gained := explain.Compare(was, is), 0, 0
		for _, c := range d.Changes {
			switch c.Kind {
			case explain.ChangeLost:
				lost++
			case explain.ChangeGained:
				gained++
			default:
			}
		}
		if lost != test.lost || gained != 1 || d.Unchanged != test.kept {
			t.Errorf("prune %t: %+v, unchanged %d", test.prune, d.Changes, d.Unchanged)
		}
	}
}
