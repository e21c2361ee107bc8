package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// outcome is what a client can notice of one answer, and what protected it.
type outcome struct {
	route string
	// text says what the client gets.
	text     string
	served   bool
	redirect bool
	// refused answers keep this client or request out; others answer for what is missing.
	refused bool
	// services have the percentage of requests that each gets.
	services map[string]float64
	// certificate is its identity, and shown describes it, if there is one.
	certificate string
	shown       func() string
	// record is what HAProxy reads of the claim that decides, but the name of its cookie,
	// which only the route's name changes. Equal records treat requests alike.
	record  string
	claim   *model.Claim
	podPath string
	// treated is what happens to requests of a Gateway on their way, nil of others.
	treated map[string]string
}

// outcome answers the request that stands for a class.
func (s *Snapshot) outcome(c *class) *outcome {
	if c.at != nil {
		return s.gatewayOutcome(c)
	}
	r := c.request
	d := s.decide(&r)
	claim := s.owner(d, &r)
	e := &Explanation{EndpointsKnown: true}
	switch {
	case c.written != "":
		if claim = s.expression(c); claim == nil {
			return &outcome{text: "no route has this expression"}
		}
		s.routed(e, &r, claim)
	case claim != nil && claim.IsShared() || isOwnAnswer(d.value):
		return s.sharedOutcome(e, d, &r, claim)
	default:
		s.answer(e, d, &r, claim)
	}
	o := &outcome{text: plainly(&r, e), served: e.Served, redirect: e.Result.Location != ""}
	if r.Secure && c.written == "" {
		o.certificate, o.shown = d.Certificate, func() string { return s.certificate(d, &r).text() }
		if e.Listener.Name == string(match.ListenerPassthrough) {
			o.certificate = "pod"
		}
	}
	if claim == nil {
		return o
	}
	o.route = claim.Owner.String()
	o.refused = e.Result.Location != "" && !r.Secure || slices.Contains([]int{400, 401, 403, 413, 429}, e.Result.Status) || d.value == match.Refuse
	if !d.routed() && c.written == "" {
		return o
	}
	o.claim = claim
	if e.PodPath != r.Path {
		o.podPath = strings.ReplaceAll(e.PodPath, otherSegment, "…")
	}
	o.record = fmt.Sprint(claim.Guard(), claim.Termination, claim.Backend.CA != nil)
	for b := range claim.Backends() {
		record := b.Record()
		if name := b.Cookie.Name; name != "" {
			record = strings.ReplaceAll(record, name, "")
		}
		o.record += fmt.Sprint("\x00", record, b.Profile, b.Cookie.Attributes, b.Health)
	}
	if o.served {
		o.services = s.services(claim)
		o.text = s.servedText(o, &r, e)
	}
	return o
}

func (o *outcome) shownText() string {
	if o.shown == nil {
		return ""
	}
	return o.shown()
}

// plainly is the answer without what only the request has that stands for a class.
func plainly(r *Request, e *Explanation) string {
	if e.Result.Location == "https://"+match.Host(r.Host)+r.Path+r.Query {
		return fmt.Sprintf("redirect %d to https", e.Result.Status)
	}
	text := strings.ReplaceAll(e.Result.Text, otherSegment, "…")
	if r.ClientIP.IsValid() {
		text = strings.ReplaceAll(text, r.ClientIP.String(), "the client")
	}
	return text
}

// treatment lists in words what happens to requests on their way.
func (s *Snapshot) treatment(o *outcome) map[string]string {
	if o.treated != nil {
		return o.treated
	}
	all := map[string]string{}
	for _, p := range s.policies(o.claim, nil) {
		if p.Name != "sticky cookie" || p.Source != "default" {
			all[p.Name] = p.Value
		}
	}
	if b := &o.claim.Backend; b.Profile.Cookie && b.Cookie.Attributes != "" {
		all["attributes of the sticky cookie"] = strings.Trim(b.Cookie.Attributes, "; ")
	}
	if o.podPath != "" {
		all["path that pods see"] = o.podPath
	}
	return all
}

// expression finds the claim of an expression that is served at the host of a class.
func (s *Snapshot) expression(c *class) *model.Claim {
	for _, claim := range s.claimsFor(c.request.Host) {
		if e := claim.Expression(); e != nil && e.Written == c.written && (c.request.Secure == (claim.Termination != model.Plain)) {
			return claim
		}
	}
	return nil
}

// services says which Services share the requests of a route. Those of which it is known
// that nothing answers get none.
func (s *Snapshot) services(c *model.Claim) map[string]float64 {
	shares := map[string]float64{}
	r := s.source.routes[c.Owner]
	if r == nil {
		return shares
	}
	live := map[string]bool{}
	for _, name := range s.unknownServices(c.Owner) {
		live[name] = true
	}
	for i := range c.Backend.Servers {
		if server := &c.Backend.Servers[i]; server.Weight > 0 {
			live[serviceOfServer(server.ID)] = true
		}
	}
	total := 0.0
	note := func(name string, weight *int32) {
		if w := int32(defaultWeight); live[name] {
			if weight != nil {
				w = *weight
			}
			shares[name] += float64(w)
			total += float64(w)
		}
	}
	note(r.Spec.To.Name, r.Spec.To.Weight)
	for _, b := range r.Spec.AlternateBackends {
		note(b.Name, b.Weight)
	}
	for name, w := range shares {
		if w == 0 {
			delete(shares, name)
			continue
		}
		shares[name] = 100 * w / total
	}
	return shares
}

// serviceOfServer reads the Service from the ID of a server.
func serviceOfServer(id string) string {
	parts := strings.Split(id, ":")
	if parts[0] == "pod" && len(parts) > 2 {
		return parts[2]
	}
	return parts[min(1, len(parts)-1)]
}

// servedText names the Services that answer, with their shares if there are several.
func (s *Snapshot) servedText(o *outcome, r *Request, e *Explanation) string {
	text := "served by " + sharesText(o.services)
	if len(o.services) == 0 {
		text = "served"
	}
	if e.Branch != nil {
		text += "; canary " + e.Branch.text()
	}
	if !r.Secure {
		text += ", without TLS"
	}
	return text
}

// sharesText names Services, with their shares if there are several.
func sharesText(services map[string]float64) string {
	names := slices.Sorted(maps.Keys(services))
	words := make([]string, 0, len(names))
	for _, name := range names {
		if len(names) == 1 {
			return name
		}
		words = append(words, fmt.Sprintf("%.3g %% %s", services[name], name))
	}
	return strings.Join(words, ", ")
}

// protections are what a claim puts before its pods, in words. Lists of clients are not
// among them: addresses on both sides of their borders are asked.
func protections(c *model.Claim) map[string]bool {
	p := c.Backend.Policy()
	all := map[string]bool{
		"limits of connections or requests":      p.Limits != model.Limits{} || len(p.Rates) > 0 || len(p.Identified) > 0 || len(p.Concurrents) > 0 || len(p.Shared) > 0,
		"limits of sizes":                        p.Sizes != model.Sizes{},
		"a login":                                p.Agent != nil || p.APIKeys != nil,
		"a client certificate":                   p.Certificate != nil && p.Certificate.Demanded(),
		"the firewall":                           p.Firewall.Blocks(),
		"TLS to the pods":                        c.Termination == model.Reencrypt || c.Termination == model.Passthrough,
		"a check of the certificates of pods":    c.Backend.CA != nil,
		"Strict-Transport-Security (HSTS)":       p.HSTS != "",
		"a sign that the path is closed (a 503)": c.Closed,
	}
	maps.DeleteFunc(all, func(_ string, there bool) bool { return !there })
	return all
}

// aspect is one difference between two outcomes.
type aspect struct {
	kind          ChangeKind
	before, after string
}

// compare lists what is different between two outcomes, of either side.
func compare(before, after *Snapshot, was, is *outcome) (out []aspect) {
	if kind := answerKind(was, is); kind != "" {
		out = append(out, aspect{kind, was.text, is.text})
	}
	if was.certificate != is.certificate {
		out = append(out, aspect{ChangeCertificate, "shows " + was.shownText(), "shows " + is.shownText()})
	}
	if !was.served || !is.served || was.record == is.record && was.podPath == is.podPath {
		return out
	}
	var lost []string
	now := protections(is.claim)
	for _, p := range slices.Sorted(maps.Keys(protections(was.claim))) {
		if !now[p] {
			lost = append(lost, p)
		}
	}
	if len(lost) > 0 {
		out = append(out, aspect{ChangeWeaker, "there is " + strings.Join(lost, ", "), "there is not"})
	}
	old, fresh := unlike(before.treatment(was), after.treatment(is))
	if old == fresh && len(out) == 0 {
		old, fresh = "its settings as they were", "other settings"
	}
	if old != fresh {
		out = append(out, aspect{ChangePolicy, old, fresh})
	}
	return out
}

// answerKind says what it means that the answer is another one, or returns "".
func answerKind(was, is *outcome) ChangeKind {
	switch {
	case !was.served && is.served && was.refused:
		return ChangeWeaker
	case was.served && !is.served, was.redirect && !is.served && !is.redirect:
		return ChangeLost
	case !was.served && is.served, !was.served && !was.redirect && is.redirect:
		return ChangeGained
	case was.text == is.text && maps.Equal(was.services, is.services):
		return ""
	case !was.served:
		return ChangePolicy
	case !slices.Equal(slices.Sorted(maps.Keys(was.services)), slices.Sorted(maps.Keys(is.services))) || was.route != is.route:
		return ChangeElsewhere
	}
	return ChangeShare
}

// unlike writes the policies that differ.
func unlike(was, is map[string]string) (before, after string) {
	names := map[string]bool{}
	for name, value := range was {
		names[name] = is[name] != value
	}
	for name, value := range is {
		names[name] = was[name] != value
	}
	words := func(of map[string]string) string {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(names)) {
			switch value, there := of[name]; {
			case !names[name]:
			case there:
				all = append(all, name+" "+value)
			default:
				all = append(all, "no "+name)
			}
		}
		return strings.Join(all, "; ")
	}
	return words(was), words(is)
}
