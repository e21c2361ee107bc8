package allocation

import (
	"context"
	"flag"
	"log/slog"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead/fairlead/test/metallbapi"
)

// count is a flag, which the go command hands over after -args.
var count = flag.Int("services", 200, "number of Services; 10000 is the figure of docs/benchmarks.md")

// TestRestartChangesNothing holds what does not depend on the machine: a restart
// changes no Service and writes nothing needless. The time is only told.
func TestRestartChangesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: takes an API server")
	}
	ctrl.SetLogger(logr.Discard())
	a := metallbapi.Start(t, "../../../..")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	result, err := Run(ctx, a.Server, a.Client, *count, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(result)
	if result.Changed > 0 || result.Writes > 0 {
		t.Errorf("a restart changed something: %v; written: %q", result, result.Written)
	}
}
