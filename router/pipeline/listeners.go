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

// listeners are those of Gateways, by slot.
type listeners struct {
	bySlot map[int][]slotUser
	// changed are the slots whose entries are to be compared, entries what each has.
	changed map[int]struct{}
	entries map[int]map[plan.Entry]string
	// lines are those of the list of certificates of each slot.
	lines map[int][]shownLine
	// wildcards are the wildcard hosts with claims in each scope.
	wildcards map[model.ScopeID]map[string]struct{}
}

// shownLine is a line of a list of certificates, with the object that has what it shows and
// the authorities of clients that it asks for, or nil.
type shownLine struct {
	plan.SlotLine
	owner model.Object
	ca    *model.CA
}

// slotUser is an object that listens on a slot: a Gateway, or a ListenerSet of it. Of several
// Gateways, which only a mistake gives the same one, the oldest has it.
type slotUser struct {
	object    model.Object
	version   door.Version
	listeners []model.Listener
}

func newListeners() listeners {
	return listeners{bySlot: map[int][]slotUser{}, changed: map[int]struct{}{}, entries: map[int]map[plan.Entry]string{}, lines: map[int][]shownLine{}, wildcards: map[model.ScopeID]map[string]struct{}{}}
}

// replace changes the listeners of an object.
func (l *listeners) replace(o model.Object, v door.Version, before, now []model.Listener) {
	if len(before) == 0 && len(now) == 0 {
		return
	}
	for i := range before {
		slot := before[i].Slot
		l.changed[slot] = struct{}{}
		l.bySlot[slot] = slices.DeleteFunc(l.bySlot[slot], func(u slotUser) bool { return u.object == o })
	}
	for i := range now {
		slot := now[i].Slot
		l.changed[slot] = struct{}{}
		users := l.bySlot[slot]
		at := slices.IndexFunc(users, func(u slotUser) bool { return u.object == o })
		if at < 0 {
			at, users = len(users), append(users, slotUser{object: o, version: v})
		}
		users[at].listeners = append(users[at].listeners, now[i])
		slices.SortFunc(users, bySlotRight)
		l.bySlot[slot] = users
	}
}

// bySlotRight puts Gateways before ListenerSets, older ones first.
func bySlotRight(a, b slotUser) int {
	rank := func(u slotUser) int {
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

// of returns the listeners of a slot in the order of their right to a host: those of one
// Gateway.
func (l *listeners) of(slot int) (all []model.Listener) {
	users := l.bySlot[slot]
	for _, u := range users {
		if u.listeners[0].Gateway == users[0].listeners[0].Gateway {
			all = append(all, u.listeners...)
		}
	}
	return all
}

// settleListeners brings the wanted entries of changed slots up to date. Only what differs is
// to be compared with HAProxy: a slot may have hundreds of listeners, of which one changes.
func (p *Pipeline) settleListeners(scope *plan.Scope) {
	// A listener that moves to another slot has an entry that does not name the slot: what
	// the former slot had goes before.
	now := make(map[int]map[plan.Entry]string, len(p.listeners.changed))
	for slot := range p.listeners.changed {
		all := p.listeners.of(slot)
		if len(all) == 0 {
			delete(p.listeners.bySlot, slot)
		}
		p.replaceSlotLines(slot, all, scope)
		if p.listenForDatagrams(slot, all) {
			all = nil
		}
		now[slot] = listenerEntries(all)
		for e := range p.listeners.entries[slot] {
			if _, has := now[slot][e]; !has {
				scope.Entries[e] = struct{}{}
				delete(p.want.Entries, e)
			}
		}
	}
	for slot, entries := range now {
		for e, v := range entries {
			if had, has := p.want.Entries[e]; !has || had != v {
				scope.Entries[e] = struct{}{}
				p.want.Entries[e] = v
			}
		}
		if p.listeners.entries[slot] = entries; len(entries) == 0 {
			delete(p.listeners.entries, slot)
		}
	}
	clear(p.listeners.changed)
}

// replaceSlotLines brings the wanted certificates of a slot up to date. An ID stands for all
// that a line says.
func (p *Pipeline) replaceSlotLines(slot int, all []model.Listener, scope *plan.Scope) {
	lines := certificate.Lines(slot, all)
	now := make(map[string]struct{}, len(lines))
	for i := range lines {
		now[lines[i].ID] = struct{}{}
	}
	kept := make(map[string]shownLine, len(lines))
	for _, line := range p.listeners.lines[slot] {
		if _, has := now[line.CertID]; has {
			kept[line.CertID] = line
			continue
		}
		scope.SlotLines[line.SlotLine], scope.Certs[line.CertID] = struct{}{}, struct{}{}
		delete(p.want.SlotLines, line.SlotLine)
		delete(p.want.Certs, line.CertID)
		if line.ca != nil {
			p.useCA(line.ca, -1, scope)
		}
	}
	shown := make([]shownLine, 0, len(lines))
	for _, c := range lines {
		line, has := kept[c.ID]
		if !has {
			line = p.showLine(slot, &c, scope)
		}
		shown = append(shown, line)
	}
	if p.listeners.lines[slot] = shown; len(shown) == 0 {
		delete(p.listeners.lines, slot)
	}
}

// showLine adds a certificate to those of a slot.
func (p *Pipeline) showLine(slot int, c *certificate.Line, scope *plan.Scope) shownLine {
	line := shownLine{SlotLine: plan.SlotLine{Slot: slot, CertID: c.ID}, owner: c.Owner}
	terms := plan.SlotTerms{Names: strings.Join(c.Names, " ")}
	if c.Clients != nil {
		line.ca, terms.CA, terms.LetsAllIn = c.Clients.CA, c.Clients.CA.ID, c.Clients.LetsAllIn
		p.useCA(line.ca, 1, scope)
	}
	scope.SlotLines[line.SlotLine], scope.Certs[line.CertID] = struct{}{}, struct{}{}
	p.want.SlotLines[line.SlotLine], p.want.Certs[c.ID] = terms, c.PEM
	return line
}

// listenerEntries are those of one slot (plan.MapListeners, plan.MapSuffixes). Of two listeners
// for the same hosts the first one gets them.
func listenerEntries(all []model.Listener) map[plan.Entry]string {
	out := map[plan.Entry]string{}
	add := func(m plan.Map, key, value string) {
		if _, taken := out[plan.Entry{Map: m, Key: key}]; !taken {
			out[plan.Entry{Map: m, Key: key}] = value
		}
	}
	for i := range all {
		l := &all[i]
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

// replaceSuffixes brings the entries that lead hosts to the wildcard hosts of a scope up to date,
// once a wildcard host has got its first claim or lost its last one: its own, and those of
// the wildcards below it, which go on to it.
func (p *Pipeline) replaceSuffixes(host string, used bool, changes *plan.Scope) {
	scope, name := model.SplitHost(host)
	all := p.listeners.wildcards[scope]
	if _, was := all[name]; was == used || scope == "" || !strings.HasPrefix(name, "*.") {
		return
	}
	if all == nil {
		all = map[string]struct{}{}
		p.listeners.wildcards[scope] = all
	}
	if used {
		all[name] = struct{}{}
	} else {
		delete(all, name)
		delete(p.want.Entries, suffixEntry(scope, name))
		changes.Entries[suffixEntry(scope, name)] = struct{}{}
	}
	for w := range all {
		if !match.WildcardCovers(name, w) {
			continue
		}
		e := suffixEntry(scope, w)
		p.want.Entries[e] = match.SuffixValue(w, all)
		changes.Entries[e] = struct{}{}
	}
	if len(all) == 0 {
		delete(p.listeners.wildcards, scope)
	}
}

func suffixEntry(scope model.ScopeID, wildcard string) plan.Entry {
	return plan.Entry{Map: plan.MapSuffixes, Key: match.SuffixKey(scope.Prefix(), wildcard)}
}
