package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// Ports of pods beside that of all: one that the changed route has in turns, and one that fails.
const (
	otherPort   = 9001
	failingPort = 9002
)

// visitor asks one path after another until it is stopped, and counts what was not 200.
type visitor struct {
	asked, failed int
	// first is the first failure.
	first string

	stop    chan struct{}
	running sync.WaitGroup
}

// visit lets a client ask, each time for what next returns, with a pause or none.
func visit(port int, host string, every time.Duration, next func(n int) string) *visitor {
	v := &visitor{stop: make(chan struct{})}
	v.running.Go(func() {
		p := rig.NewProbeAt(port, false)
		defer p.Close()
		for {
			select {
			case <-v.stop:
				return
			case <-time.After(every):
			}
			a, err := p.Get(host, next(v.asked))
			v.asked++
			if err == nil && a.Status == http.StatusOK {
				continue
			}
			if v.failed++; v.failed == 1 {
				v.first = fmt.Sprintf("the first one: status %d, %v", a.Status, err)
			}
		}
	})
	return v
}

// end stops the client and waits until it is done.
func (v *visitor) end() {
	close(v.stop)
	v.running.Wait()
}

// change changes one route again and again while clients ask for it: it goes to another port
// of its Service and has a header added, and back.
func (s *stage) change(ctx context.Context) error {
	s.progress("change: one route changes %d times", s.changes)
	pods, err := rig.StartPods(otherPort)
	if err != nil {
		return err
	}
	defer pods.Close()
	const name, header = "change", "My-Added-Header"
	if err := s.twoPorts(ctx, name); err != nil {
		return err
	}
	host := rig.Host(name)
	route := rig.HTTPRoute(rig.Namespace, name, theGateway, host, rig.PathRule("/", name))
	a := newArrivals(rig.NewProbeAt(s.slot, false))
	defer a.probe.Close()
	if err := a.add(ctx, s.rig, route, "/"); err != nil {
		return err
	}
	v := visit(s.slot, host, 0, func(n int) string { return fmt.Sprintf("/%d", n) })
	seen := 0
	for i := range s.changes {
		other := i%2 == 0
		rule, port := &route.Spec.Rules[0], gatewayv1.PortNumber(80)
		rule.Filters = nil
		if other {
			port = 8080
			rule.Filters = []gatewayv1.HTTPRouteFilter{{Type: gatewayv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: addHeader(header)}}
		}
		rule.BackendRefs[0].Port = &port
		if err = s.rig.Replace(ctx, route); err == nil {
			err = rig.Until(sampleLimit, "the change", func() (bool, error) {
				answer, err := a.probe.Get(host, "/")
				return err == nil && (answer.Header.Get(header) != "") == other, err
			})
		}
		if err != nil {
			break
		}
		seen++
	}
	v.end()
	if err != nil {
		return err
	}
	s.report.Require("change: changes seen", float64(seen), "", report.AtLeast(float64(s.changes)), "each before the next")
	s.report.Require("change: failed requests meanwhile", float64(v.failed), "", report.AtMost(0), fmt.Sprintf("of %d; %s", v.asked, v.first))
	return s.removeRoutes(ctx)
}

// twoPorts creates a Service with ports 80 and 8080, which its pod answers at two ports.
func (s *stage) twoPorts(ctx context.Context, name string) error {
	svc, slice := rig.Service(name, rig.Address(1))
	port, portName := int32(otherPort), "http-alt"
	svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: portName, Port: 8080, TargetPort: intstr.FromInt32(otherPort)})
	slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &portName, Port: &port})
	return s.rig.Create(ctx, svc, slice)
}
