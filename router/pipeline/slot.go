package pipeline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// slot is a port of the router's pod that listeners have.
type slot struct {
	number int
	// users listen here, in the order of their right to a host: a Gateway and its ListenerSets.
	users    []*slotUser
	byObject map[model.Object]*slotUser
	// gateway is the one that is served, as it was last settled: that of the first user. Only
	// by a mistake have users of several Gateways the same slot.
	gateway model.Object
	// changed has the listeners that users had when they were last settled.
	changed map[*slotUser][]*model.Listener
	entries map[plan.Entry]slotEntry
	shown   *certificate.Shown
	// lines are those of the list of certificates, by the object that has what they show and by
	// the ID of that.
	lines map[model.Object]map[string]shownLine
}

// slotUser is an object that listens on a slot: a Gateway, or a ListenerSet of it.
type slotUser struct {
	object    model.Object
	version   door.Version
	listeners []*model.Listener
}

// slotEntry is an entry that listeners of a slot want.
type slotEntry struct {
	value string
	// by is the first of its users, nil if that has to be found, and users how many there are.
	by    *slotUser
	users int
}

// shownLine is a line of a list of certificates, with the authorities of clients that it asks for,
// or nil.
type shownLine struct {
	plan.SlotLine
	ca *model.CA
}

func newSlot(number int) *slot {
	return &slot{
		number: number, byObject: map[model.Object]*slotUser{}, changed: map[*slotUser][]*model.Listener{},
		entries: map[plan.Entry]slotEntry{}, shown: certificate.NewShown(number), lines: map[model.Object]map[string]shownLine{},
	}
}

// replace changes the listeners of an object.
func (s *slot) replace(o model.Object, v door.Version, now []*model.Listener) {
	u := s.byObject[o]
	if u != nil {
		s.note(u)
		if len(now) > 0 && bySlotRight(u, &slotUser{object: o, version: v}) == 0 {
			u.version, u.listeners = v, now
			return
		}
		u.listeners = nil
		delete(s.byObject, o)
		s.users = slices.DeleteFunc(s.users, func(other *slotUser) bool { return other == u })
	}
	if len(now) == 0 {
		return
	}
	u = &slotUser{object: o, version: v}
	s.note(u)
	u.listeners = now
	at, _ := slices.BinarySearchFunc(s.users, u, bySlotRight)
	s.users, s.byObject[o] = slices.Insert(s.users, at, u), u
}

// note remembers what was settled.
func (s *slot) note(u *slotUser) {
	if _, noted := s.changed[u]; !noted {
		s.changed[u] = u.listeners
	}
}

// bySlotRight puts Gateways before ListenerSets, older ones first.
func bySlotRight(a, b *slotUser) int {
	rank := func(u *slotUser) int {
		if u.object.Kind == door.KindGateway {
			return 0
		}
		return 1
	}
	return cmp.Or(
		rank(a)-rank(b),
		a.version.GetCreationTimestamp().Compare(b.version.GetCreationTimestamp().Time),
		strings.Compare(a.object.Namespace, b.object.Namespace), strings.Compare(a.object.Name, b.object.Name),
	)
}

// first returns the listener whose Gateway has the slot, or nil.
func (s *slot) first() *model.Listener {
	if len(s.users) == 0 {
		return nil
	}
	return s.users[0].listeners[0]
}

// listenersOf returns the listeners of an object that are served.
func (s *slot) listenersOf(o model.Object) []*model.Listener {
	if u := s.byObject[o]; u != nil && u.listeners[0].Gateway == s.gateway {
		return u.listeners
	}
	return nil
}

// userChange says which listeners of a user were served, and which are now.
type userChange struct {
	user        *slotUser
	before, now []*model.Listener
}

// serve gives the slot to the Gateway that has it by right, and returns what changes by it.
func (s *slot) serve() (all []userChange) {
	had := s.gateway
	if s.gateway = (model.Object{}); len(s.users) > 0 {
		s.gateway = s.first().Gateway
	}
	if had != s.gateway {
		for _, u := range s.users {
			s.note(u)
		}
	}
	for u, before := range s.changed {
		c := userChange{user: u}
		if len(before) > 0 && before[0].Gateway == had {
			c.before = before
		}
		if len(u.listeners) > 0 && u.listeners[0].Gateway == s.gateway {
			c.now = u.listeners
		}
		all = append(all, c)
	}
	return all
}

func (s *slot) settled() { clear(s.changed) }

// settleEntries brings the entries up to date, and returns those that may be others.
func (s *slot) settleEntries(changes []userChange) (touched map[plan.Entry]struct{}) {
	touched = map[plan.Entry]struct{}{}
	now := make([]map[plan.Entry]string, len(changes))
	for i, c := range changes {
		now[i] = listenerEntries(c.now)
		for e, value := range listenerEntries(c.before) {
			if v, has := now[i][e]; has && v == value {
				delete(now[i], e) // stays
				continue
			}
			touched[e] = struct{}{}
			held := s.entries[e]
			if held.users--; held.by == c.user {
				held.by = nil
			}
			s.entries[e] = held
		}
	}
	for i, c := range changes {
		for e, value := range now[i] {
			touched[e] = struct{}{}
			held := s.entries[e]
			if held.users++; held.users == 1 || held.by != nil && bySlotRight(c.user, held.by) < 0 {
				held.by, held.value = c.user, value
			}
			s.entries[e] = held
		}
	}
	for e := range touched {
		s.inherit(e)
	}
	return touched
}

// inherit gives an entry whose user has gone to the first one that is left.
func (s *slot) inherit(e plan.Entry) {
	switch held := s.entries[e]; {
	case held.users == 0:
		delete(s.entries, e)
	case held.by == nil:
		held.by, held.value = s.firstWith(e)
		s.entries[e] = held
	}
}

// firstWith returns the first user that wants an entry, and its value.
func (s *slot) firstWith(e plan.Entry) (*slotUser, string) {
	for _, u := range s.users {
		if value, has := listenerEntries(s.listenersOf(u.object))[e]; has {
			return u, value
		}
	}
	return nil, ""
}

// listenerEntries are those of one object at a slot (plan.MapListeners, plan.MapSuffixes). Of two
// listeners for the same hosts the first one gets them. HAProxy knows nothing of those for
// datagrams.
func listenerEntries(all []*model.Listener) map[plan.Entry]string {
	out := map[plan.Entry]string{}
	add := func(m plan.Map, key, value string) {
		if _, taken := out[plan.Entry{Map: m, Key: key}]; !taken {
			out[plan.Entry{Map: m, Key: key}] = value
		}
	}
	for _, l := range all {
		if l.Datagrams {
			continue
		}
		add(plan.MapListeners, match.ListenerKey(l.Slot, ""), strconv.Itoa(l.Port))
		if l.EndsStreams {
			add(plan.MapListeners, l.Scope.Prefix(), match.EndsTLS)
		}
		if l.Left {
			add(plan.MapListeners, match.LeftKey(l.Slot), match.Left)
		} else if l.EndsRequests { // an entry of the listener, which that of its other slot has
			add(plan.MapListeners, l.Scope.Prefix(), match.EndsHTTPS)
		}
		if l.Clients != nil {
			add(plan.MapListeners, match.ClientsKey(l.Slot), l.Clients.Mark())
		}
		switch {
		case l.Hostname == "":
			add(plan.MapListeners, match.ListenerKey(l.Slot, match.Any), l.Scope.Prefix())
		case strings.HasPrefix(l.Hostname, "*."):
			add(plan.MapListeners, match.ListenerKey(l.Slot, match.Suffixed), match.Suffixed)
			add(plan.MapSuffixes, match.SuffixKey(match.ListenerKey(l.Slot, "")+"/", l.Hostname), l.Scope.Prefix())
		default:
			add(plan.MapListeners, match.ListenerKey(l.Slot, l.Hostname), l.Scope.Prefix())
		}
	}
	return out
}
