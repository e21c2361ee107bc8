package cases

import (
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// judge is what the router itself answers by the policy of the route that takes a
// request, as package match computes it. The cases send the same to HAProxy.
func (c *core) judge(d decision, r *request) (match.Answer, bool) {
	for _, key := range c.cluster.All() {
		_, served := c.pipeline.Claims(key)
		for _, claim := range served {
			if !claim.Closed && claim.Backend.Name() == d.value {
				if r.tls && r.stranger(claim.Backend.Policy().Certificate) {
					return match.Answer{Status: match.StatusForbidden, Why: "the certificate has no name that is let in"}, true
				}
				return match.Judge(claim.Backend.Policy(), r.client())
			}
		}
	}
	return match.Answer{}, false
}

func (r *request) client() *match.Client {
	path, query, asked := strings.Cut(r.target, "?")
	if asked {
		query = "?" + query
	}
	c := &match.Client{
		Address: netip.MustParseAddr("127.0.0.1"), Method: r.method, Host: strings.ToLower(r.host), Path: path, Query: query,
		Body: match.BodyLength{Bytes: int64(r.body), Unknown: r.untold},
	}
	c.Value, c.Now = r.named, time.Now()
	c.Shows = match.ShowsCertificate
	if r.cert == "" || !r.tls {
		c.Shows = match.ShowsNone
	}
	for _, h := range r.header {
		switch name, value, _ := strings.Cut(h, ": "); name {
		case "Origin":
			c.Origin = value
		case "Access-Control-Request-Method":
			c.RequestMethod = value
		case "Content-Length":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				n = math.MaxInt64
			}
			c.Body.Bytes = n
		}
	}
	return c
}

// named returns what a request has of a name, as rules of faults see it.
func (r *request) named(source model.CanarySource, name string) (value string, has bool) {
	if source == model.CanaryQuery {
		u, err := url.Parse(r.target)
		return u.Query().Get(name), err == nil && u.Query().Has(name)
	}
	for _, h := range r.header {
		if n, v, _ := strings.Cut(h, ": "); source == model.CanaryHeader && strings.EqualFold(n, name) {
			value, has = v, true
		}
	}
	return value, has
}

// byPolicy are the statuses that only the policy of a route gives to a request that
// the route takes.
var byPolicy = []int{204, 301, 302, 303, 307, 308, 403, 411, 413, 414}

// judged compares a line with what the policy answers, and reports whether there is
// nothing else to compare.
func (e *expectation) judged(d decision, a match.Answer, answered bool) (bool, error) {
	switch {
	case !answered && d.backend != nil && !d.asksAgent() && slices.Contains(byPolicy, e.status):
		return true, fmt.Errorf("the policy lets it through")
	case !answered:
		return false, nil
	case e.closed && a.Status == match.StatusForbidden:
		return true, nil
	case a.Status != e.status:
		return true, fmt.Errorf("the policy answers %d: %s", a.Status, a.Why)
	}
	for _, w := range e.want {
		if w[0] == "location" && w[1] != a.Location {
			return true, fmt.Errorf("the policy redirects to %s", a.Location)
		}
	}
	return true, nil
}

// asksAgent reports whether the policy agent has a say, which this test does not ask.
func (d decision) asksAgent() bool {
	_, record, _ := strings.Cut(d.target, "|")
	return model.RecordField(record, model.FieldAsk) != ""
}
