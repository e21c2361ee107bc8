package dns

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
)

// TestBackOff: what goes on failing is tried less and less often, until it
// succeeds or the wish is another one.
func TestBackOff(t *testing.T) {
	t.Parallel()
	r := &reconciler{options: Options{}.withDefaults()}
	d := &iov1.DNSRecord{}
	d.UID, d.Generation = "1", 1
	failed := []outcome{{status: operatorv1.ConditionTrue}, {status: operatorv1.ConditionFalse}}
	well := failed[:1]
	var got []time.Duration
	look := func(outcomes []outcome) { got = append(got, r.again(d, outcomes)) }
	for range 6 {
		look(failed)
	}
	d.Generation = 2
	look(failed)
	look(failed)
	look(well)
	look(failed)
	look([]outcome{{status: operatorv1.ConditionFalse}, {status: operatorv1.ConditionUnknown, retry: 5 * time.Second}})
	const s = time.Second
	want := []time.Duration{30 * s, 60 * s, 120 * s, 240 * s, 300 * s, 300 * s, 30 * s, 60 * s, 600 * s, 30 * s, 5 * s}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
