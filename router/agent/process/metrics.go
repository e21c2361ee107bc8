package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protodelim"
)

// gatherers are the metrics of the supervisor and of both workers, each with its name.
func (s *Supervisor) gatherers(own prometheus.Gatherer) prometheus.Gatherer {
	all := prometheus.Gatherers{own}
	for _, w := range Workers() {
		all = append(all, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			families, err := gather(filepath.Join(s.Dir, workerMetrics(w)))
			if err != nil {
				return nil, nil //nolint:nilerr // fairlead_agent_up says that it does not answer
			}
			for _, f := range families {
				for _, m := range f.Metric {
					m.Label = append(m.Label, &dto.LabelPair{Name: new("worker"), Value: new(w)})
					slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
				}
			}
			return families, nil
		}))
	}
	return all
}

// Gatherer returns the metrics of the agent whose sockets are in dir, for the router's
// own page of metrics. Of what the agent says only names of its own count, so that an
// agent that is taken over cannot speak for the router.
func Gatherer(dir string) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := gather(filepath.Join(dir, MetricsSocket))
		return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return !strings.HasPrefix(f.GetName(), "fairlead_agent_") }), err
	})
}

// Beside returns the metrics of own, and those of another process of the pod behind a socket. While that does not answer,
// they are own's alone: of the agent, fairlead_agent_up is missing then.
func Beside(own prometheus.Gatherer, socket string) prometheus.Gatherer {
	return prometheus.Gatherers{own, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := gather(socket)
		if err != nil {
			return nil, nil //nolint:nilerr // the router's own numbers must not depend on another process
		}
		return families, nil
	})}
}

// longestMetrics bounds what is read of a page of metrics.
const longestMetrics = 8 << 20

func gather(socket string) ([]*dto.MetricFamily, error) {
	var d net.Dialer
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", socket) },
	}}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://agent/metrics", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	r.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	answer, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	defer answer.Body.Close()
	in := bufio.NewReader(io.LimitReader(answer.Body, longestMetrics))
	var families []*dto.MetricFamily
	for {
		f := &dto.MetricFamily{}
		err := protodelim.UnmarshalFrom(in, f)
		switch {
		case errors.Is(err, io.EOF):
			return families, nil
		case err != nil:
			return nil, fmt.Errorf("read metrics: %w", err)
		}
		families = append(families, f)
	}
}

// RegisterMetrics registers what the supervisor counts, without workers: the reference of metrics is made of it.
func RegisterMetrics(r prometheus.Registerer) { (&Supervisor{}).register(r) }
