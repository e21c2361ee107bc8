package agent

import (
	"context"
	"fmt"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
)

// groupKeys names the method in metrics.
const groupKeys = "apiKeys"

// apiKeys admits requests of which HAProxy has found the key.
type apiKeys struct{ header string }

func newAPIKeys(s *snapshot.APIKeys) (*apiKeys, error) {
	if s.Header != "" && !spop.ValidName(s.Header) {
		return nil, fmt.Errorf("apiKeys: %q is not the name of a header", s.Header)
	}
	return &apiKeys{s.Header}, nil
}

func (m *apiKeys) mapped() []string {
	if m.header == "" {
		return nil
	}
	return []string{m.header}
}

func (m *apiKeys) decide(_ context.Context, _ *Engine, _ *policy, q *Question, _ *identity) Answer {
	if q.Consumer == "" {
		a := refuse(unauthorized, groupKeys, "no API key")
		a.Body = "Unauthorized\n"
		return a
	}
	// HAProxy looks the key up for each request, so this bounds no other method's verdict.
	return Answer{Status: allowed, group: groupKeys, from: fromAgent, TTL: longestTTL, Consumer: q.Consumer}
}
