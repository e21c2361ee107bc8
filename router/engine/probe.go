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

// tellFetcher says which pages to ask Services for from now on.
func (e *Engine) tellFetcher() {
	if e.o.Pages == nil {
		return
	}
	if all, changed := e.pipeline.Fetches(); changed {
		e.o.Pages.Set(all)
	}
}

// fetched receives what Services answered, or never.
func (e *Engine) fetched() <-chan []pipeline.FetchResult {
	if e.o.Pages == nil {
		return nil
	}
	return e.o.Pages.Results()
}
