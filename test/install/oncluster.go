package install

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
)

// startLimit is how long a cluster may take to start, with all that prepare does.
const startLimit = 10 * time.Minute

// OnCluster runs the tests of a package on one cluster, which it starts and removes, and returns the exit code. It calls prepare before
// the tests. Where no cluster can run, skipped gets the reason, and the tests run without one to report it.
func OnCluster(m *testing.M, o cluster.Options, skipped *string, prepare func(context.Context, *cluster.Cluster) error) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if o.Images, *skipped = Ready(); *skipped != "" {
		return m.Run()
	}
	o.Log = os.Stderr
	c, err := cluster.Up(ctx, o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", o.Name, err)
		return 1
	}
	defer func() {
		if err := c.Down(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", o.Name, err)
		}
	}()
	if err := prepare(ctx, c); err != nil {
		fmt.Fprintf(os.Stderr, "%s: prepare the cluster (logs in %s): %v\n", o.Name, c.SaveLogs(), err)
		return 1
	}
	if code = m.Run(); code != 0 {
		fmt.Fprintf(os.Stderr, "%s: logs of the cluster's programs: %s\n", o.Name, c.SaveLogs())
	}
	return code
}
