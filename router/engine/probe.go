package engine

import "github.com/fairlead/fairlead/router/pipeline"

// tellProber says which endpoints to ask from now on.
func (e *Engine) tellProber() {
	if e.o.Prober == nil {
		return
	}
	if all, changed := e.pipeline.Probes(); changed {
		e.o.Prober.Set(all)
	}
}

// probed receives what has become of endpoints, or never.
func (e *Engine) probed() <-chan []pipeline.ProbeResult {
	if e.o.Prober == nil {
		return nil
	}
	return e.o.Prober.Results()
}
