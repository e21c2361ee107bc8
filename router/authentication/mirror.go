package authentication

import (
	"cmp"
	"fmt"
	"net/netip"
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
		if in.Calls && to.Body == 0 {
			to.Body = policy.MostMirrorBody
		}
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
			to.To = "Service " + cmp.Or(string(t.Service.Namespace), in.Namespace) + "/" + string(t.Service.Name)
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

// Copies are those of requests that the pods of a Service get, which the caller has found.
type Copies struct {
	// Service and Port are those of the reference, for connections and for people.
	Namespace, Service string
	Port               int32
	Endpoints          []netip.AddrPort
	// HTTP2 says that the pods speak it.
	HTTP2 bool
	// Share is in hundredths of a percent.
	Share int
}

// MirrorTo returns what sends copies, with bodies of up to policy.MostMirrorBody bytes.
// Nothing that is not to be copied is in of.
func MirrorTo(route model.Object, rule string, of []Copies) (*model.Mirror, error) {
	c := &compiler{in: Input{Route: route, Rule: rule, Namespace: route.Namespace}, group: groupMirror, out: snapshot.Policy{Namespace: route.Namespace}}
	out := &model.Mirror{}
	for _, to := range of {
		out.Targets = append(out.Targets, model.MirrorTarget{Share: to.Share, Body: policy.MostMirrorBody, To: "Service " + to.Namespace + "/" + to.Service})
		c.out.Mirrors = append(c.out.Mirrors, snapshot.Mirror{
			URL:       fmt.Sprintf("http://%s.%s.svc:%d", to.Service, to.Namespace, to.Port),
			Endpoints: to.Endpoints, ByEndpoints: true, HTTP2: to.HTTP2, MaxInFlight: (policy.MirrorInFlight(&v1alpha1.MirrorTarget{}) + 1) / 2,
		})
	}
	c.methods = []string{out.String()}
	agent, err := c.finish()
	if err != nil {
		return nil, err
	}
	out.Agent = agent
	return out, nil
}

// mirrorTarget reads where copies go, which policy.MirrorShare has checked but for what
// is named.
func (c *compiler) mirrorTarget(field string, t *v1alpha1.MirrorTarget) (*snapshot.Mirror, bool) {
	// One router has two workers.
	out := &snapshot.Mirror{HTTP2: c.in.Calls, Host: t.HostHeader, MaxInFlight: (policy.MirrorInFlight(t) + 1) / 2}
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
	_, ok := c.pods(field+".service", &at, &v1alpha1.AuthService{Name: t.Service.Name, Namespace: t.Service.Namespace, Port: t.Service.Port})
	out.URL, out.Endpoints, out.ByEndpoints = strings.TrimSuffix(at.URL, "/"), at.Endpoints, true
	return out, ok
}
