package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

const (
	// failoverRoutes have as many rules each, all to one Service.
	failoverRoutes = 16
	// outages is how often the pod fails.
	outages = 5
)

// failover lets one of four pods refuse connections and come back, while a client asks 256
// rules of 16 routes in turn. The pod stays an endpoint of the Service all the while.
func (s *stage) failover(ctx context.Context) error {
	s.progress("failover: a pod fails %d times for %s", outages, s.failing)
	const name = "failover"
	host := rig.Host(name)
	if err := s.failoverRoutes(ctx, name, host); err != nil {
		return err
	}
	path := func(n int) string { return fmt.Sprintf("/%d/x", n%(failoverRoutes*failoverRoutes)) }
	var back []time.Duration
	v := visit(s.slot, host, 0, path)
	err := func() error {
		for range outages {
			if err := pause(ctx, s.failing); err != nil {
				return err
			}
			took, err := s.comesBack(host)
			if err != nil {
				return err
			}
			back = append(back, took)
		}
		return nil
	}()
	v.end()
	if err != nil {
		return err
	}
	row := report.NewLatency("pod back: first request to it", failoverRoutes, back, nil, nil)
	s.report.Latencies = append(s.report.Latencies, row)
	s.report.Require("failover: failed requests", float64(v.failed), "", report.AtMost(0), fmt.Sprintf("of %d; %s", v.asked, v.first))
	return s.removeRoutes(ctx)
}

// comesBack lets the failing pod work for a while, and returns how long it took until a
// request reached it.
func (s *stage) comesBack(host string) (time.Duration, error) {
	pods, err := rig.StartPods(failingPort)
	if err != nil {
		return 0, err
	}
	defer pods.Close()
	began := time.Now()
	p := rig.NewProbeAt(s.slot, false)
	defer p.Close()
	err = rig.Until(sampleLimit, "a request to the pod that came back", func() (bool, error) {
		a, err := p.Get(host, "/1/x")
		return a.Status == http.StatusOK && a.Body == rig.Address(failingAddress), err
	})
	took := time.Since(began)
	<-time.After(max(0, s.failing-took))
	return took, err
}

// failingAddress numbers the address of the pod that fails, after those of the others.
const failingAddress = 13

// failoverRoutes creates the Service, whose failing pod has a port and an EndpointSlice of its
// own, and the routes.
func (s *stage) failoverRoutes(ctx context.Context, name, host string) error {
	if err := s.service(ctx, rig.Namespace, name, rig.Address(10)); err != nil {
		return err
	}
	if err := s.rig.SetEndpoint(ctx, name, rig.Address(10), rig.Address(11), rig.Address(12)); err != nil {
		return err
	}
	_, failing := rig.Service(name, rig.Address(failingAddress))
	port := int32(failingPort)
	failing.Name, failing.Ports[0].Port = name+"-failing", &port
	if err := s.rig.Create(ctx, failing); err != nil {
		return err
	}
	for r := range failoverRoutes {
		route := rig.HTTPRoute(rig.Namespace, fmt.Sprintf("%s%d", name, r), theGateway, host)
		for n := range failoverRoutes {
			route.Spec.Rules = append(route.Spec.Rules, rig.PathRule(fmt.Sprintf("/%d", failoverRoutes*r+n), name))
		}
		if err := s.rig.Create(ctx, route); err != nil {
			return err
		}
	}
	return s.served(ctx, failoverRoutes)
}
