package monitoring

import (
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/fairlead/fairlead/test/wait"
)

// broken is a Route whose only endpoint takes no connections.
const broken = `apiVersion: v1
kind: Service
metadata: {name: broken, namespace: demo, annotations: {fairlead.dev/endpoints: "127.0.0.1:1"}}
spec: {ports: [{port: 80}]}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: broken, namespace: demo}
spec: {host: broken.apps.localhost, to: {kind: Service, name: broken}}
`

// TestBudgetAlertsForReal: with a real router and a real Prometheus, the alerts about budgets are silent while pods answer,
// and those for fast losses fire once a Route's pods do not.
func TestBudgetAlertsForReal(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: builds a program and runs Prometheus")
	}
	file := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	admin, web := startRouter(t, "-f", file)
	server := startPrometheus(t, scrapeConfig("router-internal-default", "/metrics", admin))
	eventually := func(what, expr string) {
		t.Helper()
		wait.Poll{Limit: patience, Every: wait.Slowly}.For(t, what, func() error { return returnsData(t.Context(), server, expr) })
	}
	// Some requests may have come before the pods did.
	eventually("good answers are recorded", `job:fairlead_errors:ratio_rate1h < 0.0144 unless on() ALERTS{alertname="FairleadErrorBudgetGoneInTwoDays"}`)
	// A Route needs 100 requests in an hour. HAProxy tries each four times, in three seconds.
	const failing = 150
	var asking sync.WaitGroup
	for range failing {
		asking.Go(func() {
			if err := get(t.Context(), "http://"+web+"/", "broken.apps.localhost", http.StatusServiceUnavailable); err != nil {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	for _, alert := range []string{"FairleadErrorBudgetGoneInTwoDays", "FairleadErrorBudgetGoneInFiveDays", "FairleadErrorBudgetGoneInTenDays", "FairleadErrorBudgetGoneInThirtyDays"} {
		eventually(alert, `ALERTS{alertname="`+alert+`",alertstate="firing",job="router-internal-default"}`)
	}
	eventually("the Route's alert", `ALERTS{alertname="FairleadRouteErrorBudgetBurns",alertstate="firing",namespace="demo",route="broken"}`)
	if err := returnsData(t.Context(), server, `ALERTS{alertname="FairleadRouteErrorBudgetBurns",route!="broken"}`); err == nil {
		t.Error("the alert fires for a Route without errors")
	}
	eventually("the cause", `fairlead_route_router_errors_total{route="broken",cause="connect"} > 0`)
}
