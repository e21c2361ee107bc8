package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// Saved is an object that is not served as it is now, for the next process.
type Saved struct {
	Object model.Object
	UID    string
	// Good is the last version that could be served, Accepted and Claims are the
	// last one that HAProxy took, each nil if there is none.
	Good, Accepted door.Version
	Claims         []*model.Claim
	// Refused identifies the version that HAProxy refused, if it did, Message
	// says why, and Fallback what is served instead.
	Refused, Message string
	Fallback         int
}

// Equal reports whether two are the same: of versions and claims, that they are
// the same values in memory.
func (k *Saved) Equal(o *Saved) bool {
	return k.Object == o.Object && k.UID == o.UID && k.Good == o.Good && k.Accepted == o.Accepted && slices.Equal(k.Claims, o.Claims) &&
		k.Refused == o.Refused && k.Message == o.Message && k.Fallback == o.Fallback
}

// Saved returns what the next process has to know of an object, if it is not served
// as it is now.
func (p *Pipeline) Saved(key model.Object) (Saved, bool) {
	if _, fell := p.fallenBack[key]; !fell {
		return Saved{}, false
	}
	r := p.objects[key]
	k := Saved{Object: key, UID: r.result.UID, Good: r.good, Accepted: r.accepted.object, Claims: r.accepted.claims}
	if r.refusal != nil {
		k.Refused, k.Message, k.Fallback = r.refusal.version, r.refusal.message, int(r.refusal.fallback)
	}
	return k, true
}

// Restore takes what a former process kept, before the first Update.
func (p *Pipeline) Restore(kept []Saved) {
	p.restored = make(map[model.Object]Saved, len(kept))
	for _, k := range kept {
		p.restored[k.Object] = k
	}
}

// restore makes a new object what a former process knew of it.
func (p *Pipeline) restore(r *tracked, key model.Object, object door.Version) {
	k, ok := p.restored[key]
	if !ok || !k.of(object) {
		return
	}
	r.good = k.Good
	if k.claims(p) {
		r.accepted = accepted{k.Accepted, k.Claims}
	}
	if k.Refused != "" && k.Refused == fingerprint(r.door, object) {
		r.refusal = &refusal{fallback: fallback(k.Fallback), message: k.Message, version: k.Refused}
	}
}

// fingerprint identifies what of a version HAProxy gets to see.
func fingerprint(d door.Door, v door.Version) string {
	h := fnv.New64a()
	text, _ := json.Marshal(d.Content(v)) // such types always can be written
	_, _ = h.Write(text)
	return strconv.FormatUint(h.Sum64(), 16)
}

// ParseSaved reads a list of kept objects, as encoding/json writes it. What is wrong with
// one, such as a kind that no door of the pipeline has, is an error beside the others. Whether
// a version belongs to its object as it is now is seen when that is known.
func (p *Pipeline) ParseSaved(text []byte) ([]Saved, error) {
	var texts []struct {
		Saved

		Good, Accepted json.RawMessage
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&texts); err != nil {
		return nil, fmt.Errorf("read the kept objects: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the kept objects")
	}
	kept, wrong := make([]Saved, 0, len(texts)), []error(nil)
	for _, t := range texts {
		k := t.Saved
		err := p.decode(&k, t.Good, t.Accepted)
		if err == nil {
			err = k.check()
		}
		if err == nil {
			kept = append(kept, k)
		} else if len(wrong) < mostComplaints {
			wrong = append(wrong, fmt.Errorf("object %q: %w", k.Object, err))
		}
	}
	return kept, errors.Join(wrong...)
}

// mostComplaints bounds how many kept objects are named of those that cannot be used.
const mostComplaints = 10

// decode reads the versions of a kept object.
func (p *Pipeline) decode(k *Saved, good, accepted json.RawMessage) error {
	d := p.doors[k.Object.Kind]
	if d == nil {
		return fmt.Errorf("unknown kind %q", k.Object.Kind)
	}
	for _, version := range []struct {
		text json.RawMessage
		to   *door.Version
	}{{good, &k.Good}, {accepted, &k.Accepted}} {
		if len(version.text) == 0 || string(version.text) == "null" {
			continue
		}
		v, err := d.Decode(version.text)
		if err != nil {
			return err
		}
		*version.to = v
	}
	return nil
}

// check returns what is wrong with a kept object by itself.
func (k *Saved) check() error {
	for _, v := range []door.Version{k.Good, k.Accepted} {
		if v != nil && (v.GetNamespace() != k.Object.Namespace || v.GetName() != k.Object.Name) {
			return errors.New("a version is another object's")
		}
		if v != nil && string(v.GetUID()) != k.UID {
			return errors.New("a version is of a former object of that name")
		}
	}
	switch {
	case k.Object.Namespace == "" || k.Object.Name == "" || k.UID == "":
		return errors.New("it is not named")
	case k.Fallback < 0 || k.Fallback > int(withdrawn):
		return errors.New("an unknown fallback")
	case len(k.Claims) > 0 && k.Accepted == nil:
		return errors.New("claims without their version")
	}
	for _, c := range k.Claims {
		if c == nil || c.Owner != k.Object || c.UID != k.UID || c.Backend.Owner != k.Object || !strings.HasPrefix(c.Rule+"-", c.Backend.Rule+"-") {
			return errors.New("a claim that is not its own")
		}
		if !ownBranches(c) {
			return errors.New("a claim with branches that are not its own")
		}
	}
	return nil
}

// ownBranches reports whether the backends that a claim's record names are its own.
func ownBranches(c *model.Claim) bool {
	var named []model.Branch
	if k := c.Backend.Policy().Canary; k != nil {
		named = slices.DeleteFunc(slices.Clone(k.Branches), func(b model.Branch) bool { return model.IsAnswerBackend(b.Backend) })
	}
	if len(named) != len(c.Split) {
		return false
	}
	for i := range c.Split {
		if b := &c.Split[i].Backend; b.Owner != c.Owner || b.Asks != nil || b.Name() != named[i].Backend {
			return false
		}
	}
	return true
}

// of reports whether a kept object can be a former version of an object as it is
// now. Whatever stands in the file, the object is no older than the API server
// says, so it takes no host from others.
func (k *Saved) of(object door.Version) bool {
	if k.UID != string(object.GetUID()) {
		return false
	}
	created := object.GetCreationTimestamp()
	for _, former := range []door.Version{k.Good, k.Accepted} {
		if former == nil {
			continue
		}
		if at := former.GetCreationTimestamp(); !at.Equal(&created) {
			return false
		}
	}
	return true
}

// claims reports whether the claims that are kept are what their door makes of the
// version, under settings that allow it.
func (k *Saved) claims(p *Pipeline) bool {
	if k.Accepted == nil || len(k.Claims) == 0 {
		return false
	}
	settings := p.settings
	settings.WildcardsAllowed = true
	now := p.doors[k.Object.Kind].Ingest(k.Accepted, p.src, settings, door.Past{Claims: k.Claims}).Claims
	return !slices.ContainsFunc(k.Claims, func(kept *model.Claim) bool { c := ruleOf(now, kept.Rule); return c == nil || !sameRequests(c, kept) })
}

// sameRequests reports whether two claims are for the same requests.
func sameRequests(a, b *model.Claim) bool {
	return a.Created.Equal(b.Created) && a.Host == b.Host && a.NamedHost == b.NamedHost &&
		a.Path == b.Path && a.Exact == b.Exact && a.Termination == b.Termination && a.Insecure == b.Insecure && a.Shared.Equal(b.Shared)
}
