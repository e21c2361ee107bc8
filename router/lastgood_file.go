package router

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/router/ingest"
	"github.com/fairlead/fairlead/router/model"
)

const (
	// lastGoodFile keeps the routes that are not served as they are now.
	lastGoodFile = "lastgood.json"
	// maxLastGood bounds that file. The routes of a quota's worth of tenants fit;
	// what does not fit is not kept for the next process.
	maxLastGood = 32 << 20
	// lastGoodPause is the pause after it could not be written.
	lastGoodPause = 10 * time.Second
)

// recallLastGood takes the last good versions over from a former process of
// the router in the same pod.
func (e *Engine) recallLastGood() {
	var kept []Kept
	if !e.o.State.Read(lastGoodFile, maxLastGood, func(text []byte) (err error) {
		kept, err = parseKept(text)
		e.lastGood = string(text)
		return err
	}) {
		e.lastGood = ""
		return
	}
	e.pipeline.Restore(kept)
}

// parseKept reads what saveLastGood wrote. Whether a version belongs to its route
// as it is now is seen when that is known: Kept.of.
func parseKept(text []byte) ([]Kept, error) {
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
			return nil, fmt.Errorf("route %q: %w", kept[i].Key, err)
		}
	}
	return kept, nil
}

// check returns what is wrong with a kept route by itself.
func (k *Kept) check() error {
	for _, version := range []*routev1.Route{k.Good, k.Accepted} {
		if version != nil && (model.Key{Namespace: version.Namespace, Name: version.Name}) != k.Key {
			return errors.New("a version is another route's")
		}
		if version != nil && string(version.UID) != k.UID {
			return errors.New("a version is of a former route of that name")
		}
	}
	switch {
	case k.Key.Namespace == "" || k.Key.Name == "" || k.UID == "":
		return errors.New("it is not named")
	case k.Fallback < 0 || k.Fallback > int(withdrawn):
		return errors.New("an unknown fallback")
	case k.Claim != nil && (k.Claim.Key != k.Key || k.Claim.UID != k.UID || k.Claim.Backend.Owner != k.Key || k.Accepted == nil):
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

// claims reports whether the claim that is kept is what ingest makes of its
// version, under settings that allow it.
func (k *Kept) claims(p *Pipeline) bool {
	if k.Accepted == nil || k.Claim == nil {
		return false
	}
	settings := p.settings
	settings.WildcardsAllowed = true
	now := ingest.Route(k.Accepted, p.src, settings, ingest.Past{Certificate: k.Claim.Certificate}).Claim
	return now != nil && now.Created.Equal(k.Claim.Created) && now.Host == k.Claim.Host && now.NamedHost == k.Claim.NamedHost &&
		now.Path == k.Claim.Path && now.Exact == k.Claim.Exact && now.Termination == k.Claim.Termination && now.Insecure == k.Claim.Insecure
}

// saveLastGood keeps the last good versions for the next process of the router.
func (e *Engine) saveLastGood() {
	kept := e.pipeline.Keeping()
	if len(kept) == 0 && e.lastGood == "" {
		return
	}
	slices.SortFunc(kept, func(a, b Kept) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	if len(kept) > 0 && slices.Equal(kept, e.kept) {
		return
	}
	text, err := json.Marshal(kept)
	if err == nil && len(text) > maxLastGood {
		err = fmt.Errorf("%d bytes, and %d is the most", len(text), maxLastGood)
	}
	if err == nil && string(text) == e.lastGood {
		e.kept = kept
	}
	if string(text) == e.lastGood || time.Now().Before(e.lastGoodRetry) {
		return
	}
	if err == nil {
		err = e.o.State.Write(lastGoodFile, text)
	}
	if err != nil {
		e.lastGoodRetry = time.Now().Add(lastGoodPause)
		e.log.Error("cannot keep the last good versions of routes; the next process of the router will not know them", "err", err)
		return
	}
	e.lastGood, e.kept = string(text), kept
}
