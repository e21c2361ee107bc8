package aws_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestForeign: what is not ours is never touched.
func TestForeign(t *testing.T) {
	b := newBed(t, fakeaws.Options{})
	spec := routerSpec(4)
	spec.Annotations[prefix+"name"] = "theirs"
	other := routerSpec(4)
	other.Ref = hook.Ref{Cluster: "test", Namespace: "other", Name: "service", UID: "another-uid"}
	other.Annotations[prefix+"name"] = "theirs"
	b.ensure(other)
	before := b.cloud.Balancers()
	mark := b.cloud.Mark()
	_, err := b.settle(t.Context(), spec)
	if hook.ClassOf(err) != hook.ClassConflict || !strings.Contains(err.Error(), "other/service") {
		t.Errorf("got %v", err)
	}
	if len(b.cloud.Balancers()) != len(before) {
		t.Error("a load balancer came or went")
	}
	if got := fakeaws.Changes(b.cloud.Since(mark)); len(got) > 0 {
		t.Errorf("changes: %v", got)
	}
	b.delete(spec.Ref)
	if len(b.cloud.Balancers()) != 1 {
		t.Error("somebody else's load balancer was deleted")
	}
}

// TestStolenTags: without its tags a load balancer is not ours any more, and
// stays as it is, also when the Service goes.
func TestStolenTags(t *testing.T) {
	for _, kind := range kinds() {
		for _, restarted := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, restarted %v", kind, restarted), func(t *testing.T) {
				b := newBed(t, fakeaws.Options{})
				spec := b.specOf(kind, 4)
				r := b.ensure(spec)
				spec.Ref.Handle = r.Handle
				b.cloud.StealTags("fairlead.dev/resource", map[string]string{"owner": "somebody"})
				if restarted {
					b.restart()
				}
				mark := b.cloud.Mark()
				var err error
				for range 20 { // who goes on sees it when the tags' turn comes
					if _, err = b.hook.Ensure(t.Context(), spec); err != nil {
						break
					}
					b.clock.ahead += 10 * time.Minute
				}
				if hook.ClassOf(err) != hook.ClassConflict {
					t.Errorf("got %v", err)
				}
				if _, err := b.hook.Delete(t.Context(), &hook.Deletion{Ref: spec.Ref}); hook.ClassOf(err) != hook.ClassConflict {
					t.Errorf("deletion: %v", err)
				}
				if got := fakeaws.Changes(b.cloud.Since(mark)); len(got) > 0 || len(b.one().Listeners) != 2 {
					t.Errorf("changes: %v", got)
				}
			})
		}
	}
}
