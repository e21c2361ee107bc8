package main

import (
	"log/slog"
	"time"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/plan"
)

const (
	// quietTime without a new connection means that load balancers have noticed.
	quietTime = time.Second
	// latestClients is how much longer than the delay a router waits for that: some send clients for as long as there is a listener.
	latestClients = 25 * time.Second
	acceptedPause = 250 * time.Millisecond
)

// lastClients waits for the last new connections after a stop signal.
//
// A fixed delay alone is too short where nothing else can serve: a node whose speaker is being replaced gives its addresses to no other,
// and kube-proxy sends to the only router there although it is about to stop. Once HAProxy has closed its listeners, each new connection
// is refused.
type lastClients struct {
	delay time.Duration
	// accepted is how many connections HAProxy has accepted.
	accepted func() (uint64, error)
}

func (l lastClients) wait(log *slog.Logger) {
	if l.delay <= 0 {
		return
	}
	began := time.Now()
	<-time.After(max(0, l.delay-quietTime))
	last, err := l.accepted()
	since := time.Now()
	for err == nil && time.Since(since) < quietTime && time.Since(began) < l.delay+latestClients {
		<-time.After(acceptedPause)
		var now uint64
		if now, err = l.accepted(); now != last {
			last, since = now, time.Now()
		}
	}
	if err != nil { // HAProxy has ended or is stuck: there is only the delay to go by
		log.Warn("cannot ask HAProxy whether clients still come", "err", err)
		<-time.After(time.Until(began.Add(l.delay)))
	}
	if took := time.Since(began); took > l.delay+quietTime {
		log.Info("clients came after the delay", "stopped after", took.Round(time.Second))
	}
}

// acceptedBy asks HAProxy.
func acceptedBy(c *config) func() (uint64, error) {
	runtime, err := haproxy.NewRuntime(c.layout(), plan.Capabilities{})
	if err != nil {
		return func() (uint64, error) { return 0, err }
	}
	return runtime.Accepted
}
