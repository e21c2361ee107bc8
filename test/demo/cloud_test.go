package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// TestCloud plays `make demo CLOUD=aws`, each act as a test: the real SDK makes
// a network load balancer that really forwards to the routers on a cluster, by
// its own name and by that in Route 53; targets die and come back; and nothing
// is left in the end.
func TestCloud(t *testing.T) {
	if _, why := install.Ready(); why != "" {
		t.Skip(why)
	}
	root, err := toolset.Root()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	shown := &bytes.Buffer{}
	d := &demo{screen: newScreen(shown), root: root, cloud: "aws"}
	if err := d.startCluster(ctx, "democloud"); err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	defer d.cleanUp()
	for _, act := range d.acts() {
		passed := t.Run(act.title, func(t *testing.T) {
			if err := act.play(ctx); err != nil {
				t.Error(err)
			}
		})
		if !passed && act.required {
			break
		}
	}
	if t.Failed() {
		t.Logf("diagnosis in %s\n%s", d.diagnose(ctx), shown)
	}
}
