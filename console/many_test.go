package console

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// manyGatewayRoutes are so many HTTPRoutes and a tenth of that of TCPRoutes of one Gateway.
func manyGatewayRoutes(n int) string {
	var b strings.Builder
	b.WriteString(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: infra}
spec:
  gatewayClassName: fairlead
  listeners:
  - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
  - {name: tcp, port: 1883, protocol: TCP, allowedRoutes: {namespaces: {from: All}}}
`)
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r%05d, namespace: n%d}
spec: {parentRefs: [{name: gw, namespace: infra, sectionName: http}], hostnames: [h%d.test], rules: [{backendRefs: [{name: s, port: 80}]}]}
`, i, i%100, i)
		if i%10 == 0 {
			fmt.Fprintf(&b, `---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: t%05d, namespace: n%d}
spec: {parentRefs: [{name: gw, namespace: infra, sectionName: tcp}], rules: [{backendRefs: [{name: s, port: 80}]}]}
`, i, i%100)
		}
	}
	return b.String()
}

// TestManyGatewayRoutes: what a list costs does not grow with the square of the routes.
func TestManyGatewayRoutes(t *testing.T) {
	few, many := snapshotOf(t, manyGatewayRoutes(500)), snapshotOf(t, manyGatewayRoutes(4000))
	few.Rows()
	many.Rows() // decides about Gateways, once
	began := time.Now()
	few.Rows()
	small := time.Since(began)
	began = time.Now()
	rows := many.Rows()
	large := time.Since(began)
	t.Logf("%d rows: %s; 550 rows: %s", len(rows), large, small)
	if large > 30*small+50*time.Millisecond {
		t.Errorf("%d rows took %s, 550 took %s", len(rows), large, small)
	}
}
