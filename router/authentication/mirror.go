package authentication

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

const groupMirror = "mirror"

// CompileMirror returns what copies of requests a route asks for, or nil, and what is
// wrong. Of in, it reads neither Spec nor Rules. A target that cannot be used gets no
// copies, and nothing closes: copies protect nothing.
func CompileMirror(in Input, m *v1alpha1.Mirror) (*model.Mirror, []Problem) {
	c := &compiler{in: in, group: groupMirror, out: snapshot.Policy{Namespace: in.Route.Namespace}}
	out := &model.Mirror{}
	for i := range m.Targets {
		t := &m.Targets[i]
		field := fmt.Sprintf("targets[%d]", i)
		to := model.MirrorTarget{Body: int(t.BodyBytes)}
		var err error
		if to.Share, _, err = policy.MirrorShare(t); err != nil {
			continue // which policy.Compile says
		}
		target, ok := c.mirrorTarget(field, t)
		if !ok || to.Share == 0 {
			continue
		}
		to.To = target.URL
		if t.Service != nil {
			to.To = "Service " + in.Namespace + "/" + string(t.Service.Name)
		}
		out.Targets = append(out.Targets, to)
		c.out.Mirrors = append(c.out.Mirrors, *target)
	}
	for i := range c.problems {
		c.problems[i].Closes = false
	}
	if len(out.Targets) == 0 {
		return nil, c.problems
	}
	c.methods = []string{out.String()}
	agent, err := c.finish()
	if err != nil {
		c.warn("", "%s", err)
		return nil, c.problems
	}
	out.Agent = agent
	return out, c.problems
}

// mirrorTarget reads where copies go, which policy.MirrorShare has checked but for what
// is named.
func (c *compiler) mirrorTarget(field string, t *v1alpha1.MirrorTarget) (*snapshot.Mirror, bool) {
	// One router has two workers.
	out := &snapshot.Mirror{Host: t.HostHeader, MaxInFlight: (policy.MirrorInFlight(t) + 1) / 2}
	if h := t.Headers; h != nil {
		for _, s := range h.Set {
			out.Set = append(out.Set, snapshot.Header{Name: string(s.Name), Value: s.Value})
		}
		for _, n := range h.Remove {
			out.Remove = append(out.Remove, string(n))
		}
		out.Keep = h.Keep
	}
	before := len(c.problems)
	if t.Service == nil {
		if c.address(field+".url", t.URL, "http", "https") {
			out.URL = strings.TrimSuffix(t.URL, "/")
			if u, err := url.Parse(t.URL); err == nil && out.Host == "" {
				out.Host = u.Host
			}
		}
		return out, len(c.problems) == before
	}
	var at snapshot.External
	_, ok := c.pods(field+".service", &at, &v1alpha1.AuthService{Name: t.Service.Name, Port: t.Service.Port})
	out.URL, out.Endpoints, out.ByEndpoints = strings.TrimSuffix(at.URL, "/"), at.Endpoints, true
	return out, ok
}
