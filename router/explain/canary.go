package explain

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Branch is where a canary leads a request.
type Branch struct {
	// Backend is the name on HAProxy's statistics page; empty if chance decides.
	Backend string `json:"backend,omitempty"`
	// Canary is true if it is not the route's own backend.
	Canary bool `json:"canary"`
	// Why says what decided.
	Why string `json:"why"`
}

func (b *Branch) text() string {
	switch {
	case b.Backend == "":
		return b.Why
	case b.Canary:
		return "yes: " + b.Why
	}
	return "no: " + b.Why
}

// branch decides which backend of a route with a canary a request reaches; nil without a
// canary. The endpoints are those of the branch, or of the route's own backend where
// chance decides.
func branch(c *model.Claim, r *Request) (*Branch, *model.Backend) {
	k := c.Backend.Policy().Canary
	if k == nil {
		return nil, &c.Backend
	}
	d := match.Branch(k, r.value)
	if d.Chance {
		return &Branch{Why: "by chance: " + shares(k)}, &c.Backend
	}
	out, to := &Branch{Canary: d.To > 0, Why: "no condition is met"}, &c.Backend
	switch {
	case d.Held:
		out.Why = "by the client's cookie " + k.Cookie.Name
	case d.Rule != nil:
		out.Why = conditionText(d.Rule)
	}
	if d.To > 0 {
		to = &c.Split[d.To-1].Backend
	}
	out.Backend = to.Name()
	return out, to
}

// shares says what each backend gets of the requests that weights share out.
func shares(k *model.Canary) string {
	var parts []string
	for _, b := range k.Branches {
		if b.Weight > 0 {
			parts = append(parts, fmt.Sprintf("%.1f %% go to %s", percent(b.Weight, k.Total), b.Backend))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%.1f %% stay with the route's own backend", percent(k.Left(), k.Total))), ", ")
}

func conditionText(r *model.CanaryRule) string {
	source := map[model.CanarySource]string{model.CanaryHeader: "header", model.CanaryCookie: "cookie", model.CanaryQuery: "parameter"}[r.Source]
	switch r.Compare {
	case model.CanaryExact:
		return fmt.Sprintf("%s %s is %q", source, r.Name, r.Value)
	case model.CanaryPrefix:
		return fmt.Sprintf("%s %s begins with %q", source, r.Name, r.Value)
	case model.CanaryRegex:
		return fmt.Sprintf("%s %s matches %q", source, r.Name, r.Value)
	case model.CanaryPresent:
	}
	return fmt.Sprintf("there is a %s %s", source, r.Name)
}

// value returns what a request has of a name: the last header, the first cookie, the
// first parameter, as HAProxy does.
func (r *Request) value(source model.CanarySource, name string) (value string, has bool) {
	switch source {
	case model.CanaryHeader:
		if all := r.named(name); len(all) > 0 {
			return all[len(all)-1], true
		}
		return r.Host, strings.EqualFold(name, "Host")
	case model.CanaryCookie:
		return firstPair(strings.Join(r.named("Cookie"), ";"), ";", name)
	case model.CanaryQuery:
		value, has = firstPair(strings.TrimPrefix(r.Query, "?"), "&", name)
		if text, err := url.PathUnescape(value); err == nil && !strings.Contains(value, "%00") { // HAProxy decodes no NUL
			value = text
		}
	}
	return value, has
}

// named returns the values of the headers of a name.
func (r *Request) named(name string) (values []string) {
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, name) {
			values = append(values, h.Value)
		}
	}
	return values
}

// firstPair returns the value of the first "name=value" of a list.
func firstPair(list, separator, name string) (value string, has bool) {
	for pair := range strings.SplitSeq(list, separator) {
		if k, v, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && k == name {
			return v, true
		}
	}
	return "", false
}
