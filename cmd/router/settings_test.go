package main

import (
	"log/slog"
	"slices"
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/engine"
)

// TestFilesFailed: a full disk reaches the status of the IngressController, beside what
// is wrong with its settings, and leaves it when there is room again.
func TestFilesFailed(t *testing.T) {
	t.Parallel()
	var published [][]api.Finding
	c := &config{name: "default"}
	c.controllersSpace = "openshift-ingress-operator"
	r := newSettingsReporter(c, slog.New(slog.DiscardHandler), engine.NewMetrics(prometheus.NewRegistry()), func(f []api.Finding) { published = append(published, slices.Clone(f)) }, nil)
	r.found = []api.Finding{{Reason: api.ReasonAnyProxySource, Severity: api.SeverityInfo}}
	r.filesFailed(&api.Finding{Reason: api.ReasonFilesNotWritten, Message: "no space left on device"})
	r.filesFailed(nil)
	if len(published) != 2 {
		t.Fatalf("published %d times: %v", len(published), published)
	}
	if full := published[0]; len(full) != 2 || full[1].Reason != api.ReasonFilesNotWritten ||
		full[1].Object != (api.ObjectRef{Group: operatorv1.GroupName, Kind: "IngressController", Namespace: "openshift-ingress-operator", Name: "default"}) {
		t.Errorf("with a full disk: %+v", full)
	}
	if room := published[1]; len(room) != 1 || room[0].Reason != api.ReasonAnyProxySource {
		t.Errorf("with room again: %+v", room)
	}
}
