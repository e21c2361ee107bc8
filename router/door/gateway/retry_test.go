package gateway_test

import (
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, rule string
		profile    string
		total      time.Duration
		accepted   string
		findings   int
	}{
		{"none", "", "http_random", 0, "True Accepted", 0},
		{"codes", "retry: {codes: [503, 500], attempts: 2}", "http_random_repeat2_500_503", 0, "True Accepted", 0},
		{"without attempts", "retry: {codes: [504]}", "http_random_repeat3_504", 0, "True Accepted", 0},
		{"connections only", "retry: {attempts: 100}", "http_random_repeat100", 0, "True Accepted", 0},
		{"never", "retry: {codes: [500], attempts: 0}", "http_random_retry0", 0, "True Accepted", 0},
		{"reduced", "retry: {attempts: 99}", "http_random_repeat10", 0, "True Accepted", 1},
		{"reduced to the most", "retry: {attempts: 1000000}", "http_random_repeat100", 0, "True Accepted", 1},
		{"backendRequest", "retry: {attempts: 1}\ntimeouts: {backendRequest: 1s}", "http_random_repeat1_timeout", 0, "True Accepted", 0},
		{"request", "retry: {attempts: 1}\ntimeouts: {request: 2s}", "http_random_repeat1", 2 * time.Second, "True Accepted", 0},
		{"both", "retry: {attempts: 1}\ntimeouts: {request: 2s, backendRequest: 1s}", "http_random_repeat1_timeout", 2 * time.Second, "True Accepted", 0},
		{"no timeouts", "retry: {attempts: 1}\ntimeouts: {request: 0s, backendRequest: 0s}", "http_random_repeat1", 0, "True Accepted", 0},
		{"no pause", "retry: {attempts: 1, backoff: 0s}", "http_random_repeat1", 0, "True Accepted", 0},
		{"pause", "retry: {backoff: 1ms}", "", 0, "False UnsupportedValue", 1},
		{"unreadable pause", "retry: {backoff: soon}", "", 0, "False UnsupportedValue", 1},
		{"code", "retry: {codes: [500, 501, 404]}", "", 0, "False UnsupportedValue", 2},
		{"negative", "retry: {attempts: -1}", "", 0, "False UnsupportedValue", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, manifests(web, plainGateway, rule("backendRefs: [{name: web, port: 80}]\n"+test.rule)))
			v := c.objects[model.Object{Kind: gateway.KindHTTPRoute, Namespace: "ns", Name: "r"}]
			res := gateway.HTTPRoutes{}.Ingest(v, c, door.Settings{GatewayPorts: true}, door.Past{})
			if got := condition(res.Parents[0].Conditions, "Accepted"); got != test.accepted || len(res.Findings) != test.findings {
				t.Fatalf("accepted %s, findings %v", got, res.Findings)
			}
			if test.profile == "" {
				return
			}
			b := res.Claims[0].Backend
			if b.Profile.Name() != test.profile || b.Policy().Timeouts.Total != test.total {
				t.Errorf("profile %s, total %v", b.Profile.Name(), b.Policy().Timeouts.Total)
			}
			for _, s := range []door.Settings{{}, {GatewayPorts: true, PortsUnbound: true}} {
				if p := (gateway.HTTPRoutes{}).Ingest(v, c, s, door.Past{}).Claims[0].Backend.Profile; p.Repeat != (model.Repeat{}) {
					t.Errorf("profile %s, and HAProxy has no ports for Gateways", p.Name())
				}
			}
		})
	}
}

// TestRetryMethods: methods that may do something twice are tried again where the match names
// them.
func TestRetryMethods(t *testing.T) {
	t.Parallel()
	c := newCluster(t, manifests(web, plainGateway, rule("matches: [{method: POST}, {path: {value: /a}}, {headers: [{name: x, value: y}]}]\nbackendRefs: [{name: web, port: 80}]\nretry: {codes: [503]}")))
	v := c.objects[model.Object{Kind: gateway.KindHTTPRoute, Namespace: "ns", Name: "r"}]
	res := gateway.HTTPRoutes{}.Ingest(v, c, door.Settings{GatewayPorts: true}, door.Past{})
	for i, want := range []bool{true, false, false} {
		if got := res.Claims[i].Backend.Policy().RetryAll; got != want {
			t.Errorf("match %d: %t, want %t", i, got, want)
		}
	}
}
