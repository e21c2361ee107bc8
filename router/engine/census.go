package engine

import (
	"slices"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// findingKind is a pair of labels: of reasons there is a table (package api), so there are at most some hundred.
type findingKind struct {
	reason   api.Reason
	severity api.Severity
}

// census counts routes that are served by their last good version, and findings about routes. It keeps only routes
// about which there is something to say.
type census struct {
	routes   map[model.Object]censusEntry
	findings map[findingKind]int
	lastGood int
}

type censusEntry struct {
	lastGood bool
	findings []findingKind
}

func newCensus() *census {
	return &census{routes: map[model.Object]censusEntry{}, findings: map[findingKind]int{}}
}

// set replaces what is known about a route.
func (c *census) set(key model.Object, lastGood bool, findings []api.Finding) {
	c.forget(key)
	if !lastGood && len(findings) == 0 {
		return
	}
	e := censusEntry{lastGood: lastGood}
	for _, f := range findings {
		kind := findingKind{f.Reason, f.Severity}
		if !slices.Contains(e.findings, kind) { // a route with the same fault ten times is one route to look at
			e.findings = append(e.findings, kind)
			c.findings[kind]++
		}
	}
	if lastGood {
		c.lastGood++
	}
	c.routes[key] = e
}

func (c *census) forget(key model.Object) {
	e := c.routes[key]
	for _, kind := range e.findings {
		c.findings[kind]-- // stays at 0, so that the series ends at 0
	}
	if e.lastGood {
		c.lastGood--
	}
	delete(c.routes, key)
}
