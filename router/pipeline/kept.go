package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

// Kept is a route that is not served as it is now, for the next process.
type Kept struct {
	Object model.Object
	UID    string
	// Good is the last version that could be served, Accepted and Claim are the
	// last one that HAProxy took, each nil if there is none.
	Good, Accepted *routev1.Route
	Claim          *model.Claim
	// Refused identifies the version that HAProxy refused, if it did, Message
	// says why, and Fallback what is served instead.
	Refused, Message string
	Fallback         int
}

// Kept returns what the next process has to know of a route, if it is not served
// as it is now.
func (p *Pipeline) Kept(key model.Object) (Kept, bool) {
	if _, keeping := p.keeping[key]; !keeping {
		return Kept{}, false
	}
	r := p.routes[key]
	k := Kept{Object: key, UID: r.result.UID, Good: r.good, Accepted: r.accepted.object, Claim: r.accepted.claim}
	if r.refusal != nil {
		k.Refused, k.Message, k.Fallback = r.refusal.version, r.refusal.message, int(r.refusal.fallback)
	}
	return k, true
}

// Restore takes what a former process kept, before the first Update.
func (p *Pipeline) Restore(kept []Kept) {
	p.restored = make(map[model.Object]Kept, len(kept))
	for _, k := range kept {
		p.restored[k.Object] = k
	}
}

// restore makes a new route what a former process knew of it.
func (p *Pipeline) restore(r *tracked, key model.Object, object *routev1.Route) {
	k, ok := p.restored[key]
	if !ok || !k.of(object) {
		return
	}
	r.good = k.Good
	if k.claims(p) {
		r.accepted = accepted{k.Accepted, k.Claim}
	}
	if k.Refused != "" && k.Refused == fingerprint(object) {
		r.refusal = &refusal{fallback: fallback(k.Fallback), message: k.Message, version: k.Refused}
	}
}

// fingerprint identifies what of an object HAProxy gets to see.
func fingerprint(r *routev1.Route) string {
	h := fnv.New64a()
	text, _ := json.Marshal(struct { // such types always can be written
		UID         string
		Annotations map[string]string
		Spec        *routev1.RouteSpec
	}{string(r.UID), r.Annotations, &r.Spec})
	_, _ = h.Write(text)
	return strconv.FormatUint(h.Sum64(), 16)
}

// ParseKept reads a list of kept routes, as JSON has them. Whether a version belongs to its route
// as it is now is seen when that is known: Kept.of.
func ParseKept(text []byte) ([]Kept, error) {
	var kept []Kept
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&kept); err != nil {
		return nil, fmt.Errorf("read the routes: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the routes")
	}
	for i := range kept {
		if err := kept[i].check(); err != nil {
			return nil, fmt.Errorf("route %q: %w", kept[i].Object, err)
		}
	}
	return kept, nil
}

// check returns what is wrong with a kept route by itself.
func (k *Kept) check() error {
	for _, version := range []*routev1.Route{k.Good, k.Accepted} {
		if version != nil && (model.Object{Kind: route.Kind, Namespace: version.Namespace, Name: version.Name}) != k.Object {
			return errors.New("a version is another route's")
		}
		if version != nil && string(version.UID) != k.UID {
			return errors.New("a version is of a former route of that name")
		}
	}
	switch {
	case k.Object.Namespace == "" || k.Object.Name == "" || k.UID == "":
		return errors.New("it is not named")
	case k.Fallback < 0 || k.Fallback > int(withdrawn):
		return errors.New("an unknown fallback")
	case k.Claim != nil && (k.Claim.Owner != k.Object || k.Claim.UID != k.UID || k.Claim.Backend.Owner != k.Object || k.Accepted == nil):
		return errors.New("a claim that is not its own")
	}
	return nil
}

// of reports whether a kept route can be a former version of a route as it is
// now. Whatever stands in the file, the route is no older than the API server
// says, so it takes no host from others.
func (k *Kept) of(object *routev1.Route) bool {
	if k.UID != string(object.UID) {
		return false
	}
	for _, former := range []*routev1.Route{k.Good, k.Accepted} {
		if former != nil && !former.CreationTimestamp.Equal(&object.CreationTimestamp) {
			return false
		}
	}
	return true
}

// claims reports whether the claim that is kept is what its door makes of its
// version, under settings that allow it.
func (k *Kept) claims(p *Pipeline) bool {
	if k.Accepted == nil || k.Claim == nil {
		return false
	}
	settings := p.settings
	settings.WildcardsAllowed = true
	now := route.Route(k.Accepted, p.src, settings, route.Past{Certificate: k.Claim.Certificate}).Claim
	return now != nil && now.Created.Equal(k.Claim.Created) && now.Host == k.Claim.Host && now.NamedHost == k.Claim.NamedHost &&
		now.Path == k.Claim.Path && now.Exact == k.Claim.Exact && now.Termination == k.Claim.Termination && now.Insecure == k.Claim.Insecure
}
