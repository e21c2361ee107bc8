package authentication

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
)

// CompileCounted returns what the policy agent counts for a route: limits over all
// replicas, or nil for none.
func CompileCounted(route model.Object, rule string, limits []model.RateLimit) (*model.Agent, error) {
	if len(limits) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to count
	}
	c := &compiler{in: Input{Route: route, Rule: rule}, out: snapshot.Policy{Namespace: route.Namespace}}
	for i := range limits {
		c.out.Counted = append(c.out.Counted, counted(route, rule, i, &limits[i]))
		c.methods = append(c.methods, "limit "+limits[i].Name)
	}
	return c.finish()
}

// counted is what the agent has of a limit.
func counted(route model.Object, rule string, at int, l *model.RateLimit) snapshot.Counted {
	var match *model.RequestMatch
	if !l.Match.Any() {
		match = &l.Match
	}
	return snapshot.Counted{
		Match: match,
		ID:    countedID(route, rule, at, l), Requests: int64(l.Requests), Per: l.Per, Burst: int64(l.Burst), By: string(l.Key.Kind), Name: l.Key.Name, Bits: l.Key.IPv6Prefix,
		Exempt: l.Exempt, Status: l.Status, Headers: string(l.Headers), Title: l.Name, DryRun: l.DryRun,
	}
}

// countedID is the same on all replicas. It changes with what is counted and how much, so
// that each key is counted by one limit only.
func countedID(route model.Object, rule string, at int, l *model.RateLimit) string {
	text := strings.Join([]string{
		route.String(), rule, strconv.Itoa(at), strconv.Itoa(l.Requests), l.Per.String(), strconv.Itoa(l.Burst),
		string(l.Key.Kind), l.Key.Name, strconv.Itoa(l.Key.IPv6Prefix), strconv.FormatBool(l.DryRun),
		l.Match.Record(),
	}, "\x00")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:idBytes])
}
