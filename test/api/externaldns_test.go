package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns/externaldns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// TestExternalDNS writes the objects that external-dns reads.
func TestExternalDNS(t *testing.T) {
	t.Parallel()
	newClient(t)
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	// A client as the operator has it: it must learn of the kind by itself.
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := externaldns.New(c)
	zone, err := p.ResolveZone(t.Context(), hook.ZoneSelector{Suffix: "*.apps.example.com."})
	if err != nil {
		t.Fatal(err)
	}
	r := &hook.Record{
		Name: "*.apps.example.com.", Type: hook.RecordA, Targets: []string{"198.18.0.1"}, TTL: 30,
		Owner: "fairlead-c1", Resource: "dnsrecord/" + names.OperatorNamespace + "/outside-wildcard",
	}
	_, err = p.EnsureRecord(t.Context(), r, zone)
	if hook.ClassOf(err) != hook.ClassInvalidConfig || !strings.Contains(err.Error(), "--source=crd") {
		t.Fatalf("without the kind: %v", err)
	}
	installExternalDNSKind(t)
	eventually(t, func() error {
		got, err := p.EnsureRecord(t.Context(), r, zone)
		if err == nil && !got.Changed {
			err = errors.New("nothing changed")
		}
		return err
	})
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(schema.GroupVersionKind{Group: "externaldns.k8s.io", Version: "v1alpha1", Kind: "DNSEndpoint"})
	wantEndpoints := func(want ...any) {
		t.Helper()
		if err := get(t, c, icKey("outside-wildcard"), live); err != nil {
			t.Fatal(err)
		}
		got, _, err := unstructured.NestedSlice(live.Object, "spec", "endpoints")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	wantEndpoints(map[string]any{"dnsName": "*.apps.example.com", "recordType": "A", "recordTTL": int64(30), "targets": []any{"198.18.0.1"}})
	// Until external-dns says that it has read the object, as step 1 and 4 do
	// in its place, the name is pending.
	steps := []struct{ change, read, changed, pending bool }{{pending: true}, {read: true}, {change: true, changed: true, pending: true}, {pending: true}, {read: true}}
	for i, step := range steps {
		if step.change {
			r.Type, r.Targets = hook.RecordCNAME, []string{"lb.example.net."}
		}
		if step.read {
			readByExternalDNS(t, c, live)
		}
		got, err := p.EnsureRecord(t.Context(), r, zone)
		if err != nil || got.Changed != step.changed || got.Pending != step.pending || step.pending && got.Message == "" {
			t.Fatalf("step %d: %+v, %v", i, got, err)
		}
	}
	wantEndpoints(map[string]any{"dnsName": "*.apps.example.com", "recordType": "CNAME", "recordTTL": int64(30), "targets": []any{"lb.example.net"}})

	other := *r
	other.Owner = "another-cluster"
	if _, err := p.EnsureRecord(t.Context(), &other, zone); hook.ClassOf(err) != hook.ClassConflict {
		t.Errorf("another owner: %v", err)
	}
	if err := p.DeleteRecord(t.Context(), &other, zone); err != nil {
		t.Error(err)
	}
	if err := get(t, c, icKey("outside-wildcard"), live); err != nil {
		t.Error(fmt.Errorf("another owner deleted it: %w", err))
	}
	if err := p.DeleteRecord(t.Context(), r, zone); err != nil {
		t.Error(err)
	}
	if err := get(t, c, icKey("outside-wildcard"), live); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("still there: %v", err)
	}
}

// readByExternalDNS writes the status that external-dns does.
func readByExternalDNS(t *testing.T, c client.Client, live *unstructured.Unstructured) {
	t.Helper()
	if err := get(t, c, icKey("outside-wildcard"), live); err != nil {
		t.Fatal(err)
	}
	live.Object["status"] = map[string]any{"observedGeneration": live.GetGeneration()}
	if err := c.Status().Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
}
