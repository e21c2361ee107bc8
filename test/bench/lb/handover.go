package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/test/netmonitor"
)

// handover is one planned handover. Times are milliseconds.
type handover struct {
	// Lost are the requests around it that got no answer, or one only after
	// their first packet had been sent again.
	Lost int `json:"lost"`
	// Silence is the longest time in which none was answered.
	Silence float64 `json:"silence"`
	// Moved is from the order to the API server until the client's packets go
	// to the new owner.
	Moved float64 `json:"moved"`
	// Rate is how many requests per second there really were.
	Rate float64 `json:"rate"`
}

// leastRate is when requests count as 1,000 per second.
const leastRate = 980

const (
	// before and after bound the time around a handover that counts as its own.
	before = 200 * time.Millisecond
	after  = 2 * time.Second
)

// order is a handover that was asked for.
type order struct {
	at    time.Time
	owner string // of the address, before the first order
	back  bool
}

// handOver drains the owner and takes that back, again and again, at 1,000
// requests per second. Nothing else runs on the machine while an address moves
// but the cluster and the client.
func (b *bench) handOver(ctx context.Context) error {
	second, err := b.secondSource(ctx)
	if err != nil {
		return err
	}
	restConfig, err := b.Cluster.RESTConfig()
	if err != nil {
		return err
	}
	c, err := client.New(restConfig, client.Options{})
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	w, err := netmonitor.Start(ctx, b.Cluster, netmonitor.Options{
		Addresses: []string{b.address}, Target: b.address + ":80", Path: "/text", Host: "echo", Every: b.every,
		Sources: []string{b.Cluster.Address("client"), second},
	})
	if err != nil {
		return err
	}
	if err := b.prefer(ctx, w.PID()); err != nil {
		return err
	}
	var orders []order
	for len(orders) < b.handovers {
		owner, err := b.owner(ctx, anyone)
		if err != nil {
			return err
		}
		pause(ctx, after)
		for _, back := range []bool{false, true} {
			o := order{at: time.Now(), owner: owner, back: back}
			if err := drain(ctx, c, owner, !back); err != nil {
				return err
			}
			pause(ctx, after)
			if _, err := b.owner(ctx, func(now string) bool { return (now == owner) == back }); err != nil {
				return err
			}
			orders = append(orders, o)
		}
		b.progress("%d handovers", len(orders))
	}
	r, err := w.Stop()
	if err != nil {
		return err
	}
	return b.assess(r, orders)
}

// secondSource gives the client another address: 1,000 requests per second use up
// the ports of one sooner than nodes forget them.
func (b *bench) secondSource(ctx context.Context) (string, error) {
	const free = ".102"
	first := b.Cluster.Address("client")
	second := first[:strings.LastIndexByte(first, '.')] + free
	out, err := exec.CommandContext(ctx, "ip", "-n", b.Cluster.Name()+"-client", "addr", "replace", second+"/24", "dev", "eth0").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("give the client an address: %w: %s", err, out)
	}
	return second, nil
}

// drain orders a node to hand its addresses over, or allows it to take them back.
func drain(ctx context.Context, c client.Client, node string, away bool) error {
	value := "null"
	if away {
		value = `"bench"`
	}
	target := &corev1.Node{}
	target.Name = node
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, api.AnnotationDrain, value)
	if err := c.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("drain %s: %w", node, err)
	}
	return nil
}

// assess adds to the results what the monitor saw of each handover.
func (b *bench) assess(r *netmonitor.Report, orders []order) error {
	for _, q := range r.Affected() {
		b.progress("lost at %s: %s", q.At.Format(time.StampMilli), q.Error)
	}
	for i, o := range orders {
		h, err := around(r, o.at)
		if err != nil {
			return fmt.Errorf("handover %d of %s: %w", i+1, o.owner, err)
		}
		b.progress("handover %d at %s: %+v", i+1, o.at.Format(time.StampMilli), h)
		b.results.Handovers = append(b.results.Handovers, h)
	}
	return nil
}

// around returns what belongs to the handover that was ordered at a time.
func around(r *netmonitor.Report, at time.Time) (handover, error) {
	own := netmonitor.Report{}
	for _, q := range r.Requests {
		if q.At.After(at.Add(-before)) && q.At.Before(at.Add(after)) {
			own.Requests = append(own.Requests, q)
		}
	}
	moved := time.Duration(-1)
	for _, s := range r.Sent {
		if s.At.After(at) && s.At.Before(at.Add(after)) {
			moved = s.At.Sub(at)
		}
	}
	if moved < 0 {
		return handover{}, fmt.Errorf("the client did not turn to another node within %v", after)
	}
	silence, _ := own.Silence()
	return handover{
		Lost: len(own.Affected()), Silence: milliseconds(silence), Moved: milliseconds(moved),
		Rate: float64(len(own.Requests)) / (before + after).Seconds(),
	}, nil
}

// handovers is what several come to.
type handovers struct {
	times, lost, worst int
	silence, moved     [3]float64 // p50, p95 and the largest
	slowest            float64    // requests per second
}

func sum(all []handover) handovers {
	out := handovers{times: len(all)}
	var silences, moves, rates []float64
	for _, h := range all {
		silences, moves, rates = append(silences, h.Silence), append(moves, h.Moved), append(rates, h.Rate)
		out.lost, out.worst = out.lost+h.Lost, max(out.worst, h.Lost)
	}
	if len(all) > 0 {
		out.slowest = slices.Min(rates)
	}
	out.silence[0], out.silence[1], out.silence[2] = spread(silences)
	out.moved[0], out.moved[1], out.moved[2] = spread(moves)
	return out
}
