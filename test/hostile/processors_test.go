package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

// processors are some of the machine's, by number. None means all.
type processors []int

// ours are those of the nodes, theirs those of the control plane, the attackers
// and the victim's client: elsewhere these are machines apart.
var ours, theirs processors

// with is the beginning of a command line that runs a program on them, as any
// other program, which this one is not (see prefer).
func (p processors) with() []string {
	plain := []string{"chrt", "--other", "0"}
	if len(p) == 0 {
		return plain
	}
	return append(plain, "taskset", "--cpu-list", p.String())
}

func (p processors) String() string {
	numbers := make([]string, len(p))
	for i, n := range p {
		numbers[i] = strconv.Itoa(n)
	}
	return strings.Join(numbers, ",")
}

const controlPlane = "cp"

// nodes is how many there are, each with a router.
const nodes = 2

// first puts the control plane before the attackers on the processors of both:
// it is not to lose its leases to what they compute. The kernel may group
// processes by session, and then weighs groups.
const first = `for p in /proc/[0-9]*; do { echo -10 >"$p/autogroup"; renice -n -10 -p "${p#/proc/}"; } >/dev/null 2>&1; done; true`

// halve divides the processors that this process may use. One alone cannot be.
func halve() error {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return fmt.Errorf("ask for the processors of this process: %w", err)
	}
	var all processors
	for n := 0; len(all) < may.Count(); n++ {
		if may.IsSet(n) {
			all = append(all, n)
		}
	}
	if half := len(all) / 2; half > 0 {
		ours, theirs = all[:len(all)-half], all[len(all)-half:]
	}
	return nil
}

// separate gives the nodes what they have elsewhere by being other machines than
// the control plane and the attackers: processors of their own. The client is not
// on them either: what it computes is not to be what its requests wait for.
func separate(ctx context.Context, c *cluster.Cluster) error {
	if err := halve(); err != nil || len(theirs) == 0 {
		return err
	}
	if _, err := c.Exec(ctx, controlPlane, "bash", "-c", first); err != nil {
		return err
	}
	places := map[string]processors{controlPlane: theirs, neighbour: theirs, "client": theirs}
	for _, node := range c.Nodes() {
		places[node] = ours
	}
	for host, place := range places {
		// What has ended since it was listed is no error.
		const all = `for p in /proc/[0-9]*; do taskset --all-tasks --cpu-list --pid "$0" "${p#/proc/}" || [ ! -e "$p" ]; done`
		if _, err := c.Exec(ctx, host, "bash", "-c", all, place.String()); err != nil {
			return err
		}
	}
	return forThreads(func(id int) error {
		var set unix.CPUSet
		for _, n := range theirs {
			set.Set(n)
		}
		return unix.SchedSetaffinity(id, &set)
	})
}

// preferVictim lets router pods, speakers and the victim's pods reserve processor time, as docs/hardening.md
// advises, and the victim's client, which is this process, go before what runs beside it.
func preferVictim(ctx context.Context, p *install.Product) error {
	for _, args := range [][]string{
		{"-n", "openshift-ingress-operator", "annotate", "ingresscontroller/default", names.AnnotationHAProxyCPU + "=500m", names.AnnotationRouterCPU + "=400m"},
		{
			"-n", "openshift-ingress", "wait", "deployment/router-default", "--timeout=60s", "--for",
			`jsonpath={.spec.template.spec.initContainers[?(@.name=="haproxy")].resources.requests.cpu}=500m`,
		},
		{"-n", "openshift-ingress", "rollout", "status", "deployment/router-default", "--timeout=180s"},
		{"-n", "metallb-system", "set", "resources", "daemonset/speaker", "--requests=cpu=200m"},
		{"-n", "metallb-system", "rollout", "status", "daemonset/speaker", "--timeout=180s"},
		{"-n", "demo", "set", "resources", "deployment/demo-v1", "--requests=cpu=400m"},
		{"-n", "demo", "rollout", "status", "deployment/demo-v1", "--timeout=120s"},
	} {
		if _, err := p.Kubectl(ctx, args...); err != nil {
			return err
		}
	}
	// Pods that end are not measured.
	err := wait.Poll{Limit: 3 * time.Minute, Every: wait.Slowly}.Until(ctx, "the end of the first router pods", func() error {
		out, err := p.Kubectl(ctx, "-n", "openshift-ingress", "get", "pods", "-l", routerPods, "-o", "jsonpath={.items[*].metadata.name}")
		if n := len(strings.Fields(out)); err == nil && n != nodes {
			err = fmt.Errorf("%d pods", n)
		}
		return err
	})
	if err != nil {
		return err
	}
	// A collection of garbage, which would go before all others as well, would be
	// seen as latency.
	runtime.GOMAXPROCS(max(len(theirs), 1))
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(1 << 30)
	return prefer()
}

// prefer puts this process before all others on its processors. A nice value
// would not: it only counts among the processes of one session, where the kernel
// groups processes by session. It is better than nothing, though, where the
// kernel keeps real-time policies from the control group.
func prefer() error {
	first := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	return forThreads(func(id int) error {
		err := unix.SchedSetAttr(id, &first, 0)
		if errors.Is(err, unix.EPERM) {
			err = unix.Setpriority(unix.PRIO_PROCESS, id, -20)
		}
		return err
	})
}

// forThreads does something to each thread of this process; new ones inherit it.
func forThreads(do func(id int) error) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("list the threads of this process: %w", err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err == nil {
			err = do(id)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("schedule the victim's client: %w", err)
		}
	}
	return nil
}
