package cases

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

// TestMaintenanceEnds: maintenance ends by HAProxy's clock. Until then Retry-After says how
// long that is, and nothing is changed in HAProxy when it ends.
func TestMaintenanceEnds(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.start()
		var end time.Time
		for last := 10 * time.Second; ; last *= 2 { // longer than this machine takes to apply it
			end = time.Now().Add(last).Truncate(time.Second)
			b.apply(parseStep(t, map[string]string{
				"services": "me/web http=8080 web@198.18.250.60",
				"in.yaml": fmt.Sprintf("kind: Route\nmetadata: {namespace: me, name: ends, annotations: {fairlead.dev/maintenance: %q}}\nspec: {host: ends.me.test, to: {kind: Service, name: web}}\n",
					end.UTC().Format(time.RFC3339)),
			}))
			if time.Until(end) > 3*time.Second {
				break
			}
		}
		ask := func() response {
			q := &request{method: http.MethodGet, host: "ends.me.test", target: "/"}
			return q.do(b.http, b.https)
		}
		refused := 0
		wait.Poll{Limit: 5 * time.Minute}.For(t, "the end of maintenance", func() error {
			before := time.Now()
			got := ask()
			switch {
			case got.status == http.StatusOK && before.Before(end.Add(-time.Second)):
				return wait.GiveUp(fmt.Errorf("it ended at %v, not at %v", before, end))
			case got.status == http.StatusOK:
				return nil
			case got.status != http.StatusServiceUnavailable:
				return fmt.Errorf("status %d, %w", got.status, got.err)
			}
			refused++
			left, err := strconv.Atoi(got.header.Get("Retry-After"))
			if most := int(end.Sub(before)/time.Second) + 2; err != nil || left < 1 || left > most {
				return wait.GiveUp(fmt.Errorf("Retry-After %q, %d at most", got.header.Get("Retry-After"), most))
			}
			return errors.New("maintenance goes on")
		})
		if refused == 0 {
			t.Error("it had ended before the first request")
		}
	})
}
