package pipeline

import (
	"strings"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// listeners are those of Gateways, by slot.
type listeners struct {
	bySlot map[int]*slot
	// changed are the slots of which something is to be settled.
	changed map[int]struct{}
	// wildcards are the wildcard hosts with claims in each scope.
	wildcards map[model.ScopeID]map[string]struct{}
	shared    sharedListeners
}

func newListeners() listeners {
	return listeners{bySlot: map[int]*slot{}, changed: map[int]struct{}{}, wildcards: map[model.ScopeID]map[string]struct{}{}, shared: newSharedListeners()}
}

// replace changes the listeners of an object.
func (l *listeners) replace(o model.Object, v door.Version, before, now []model.Listener) {
	at := map[int][]*model.Listener{}
	for i := range before {
		if before[i].Slot == 0 {
			l.shared.remove(&before[i])
			continue
		}
		at[before[i].Slot] = nil
	}
	for i := range now {
		if now[i].Slot == 0 {
			l.shared.add(&now[i])
			continue
		}
		at[now[i].Slot] = append(at[now[i].Slot], &now[i])
	}
	for n, its := range at {
		l.changed[n] = struct{}{}
		if l.bySlot[n] == nil {
			l.bySlot[n] = newSlot(n)
		}
		l.bySlot[n].replace(o, v, its)
	}
}

// settleListeners brings what is wanted of changed slots up to date. Only what differs is to
// be compared with HAProxy: a slot may have thousands of listeners, of which one changes.
func (p *Pipeline) settleListeners(scope *plan.Scope) {
	// A listener that moves to another slot has an entry that does not name the slot: what
	// the former slot had goes before.
	touched := make(map[*slot]map[plan.Entry]struct{}, len(p.listeners.changed))
	for n := range p.listeners.changed {
		s := p.listeners.bySlot[n]
		served := s.serve()
		touched[s] = s.settleEntries(served)
		p.settleLines(s, served, scope)
		for e := range touched[s] {
			if _, has := s.entries[e]; !has {
				scope.Entries[e] = struct{}{}
				delete(p.want.Entries, e)
			}
		}
		p.listenForDatagrams(s)
		if s.settled(); len(s.users) == 0 {
			delete(p.listeners.bySlot, n)
		}
	}
	for s, entries := range touched {
		for e := range entries {
			now, has := s.entries[e]
			if had, wanted := p.want.Entries[e]; has && (!wanted || had != now.value) {
				scope.Entries[e] = struct{}{}
				p.want.Entries[e] = now.value
			}
		}
	}
	clear(p.listeners.changed)
}

// settleLines brings the wanted certificates of a slot up to date: those of listeners that
// changed, and of those beside them.
func (p *Pipeline) settleLines(s *slot, changes []userChange, scope *plan.Scope) {
	again := map[model.Object]struct{}{}
	for _, c := range changes {
		again[c.user.object] = struct{}{}
		for _, l := range c.before {
			s.shown.Remove(l)
		}
		for _, l := range c.now {
			s.shown.Add(l)
		}
	}
	for _, c := range changes {
		for _, all := range [][]*model.Listener{c.before, c.now} {
			for _, l := range all {
				for _, beside := range s.shown.Beside(l) {
					again[beside.Owner] = struct{}{}
				}
			}
		}
	}
	for o := range again {
		p.replaceLines(s, o, scope)
	}
}

// replaceLines brings the wanted certificates of an object's listeners at a slot up to date. An
// ID stands for all that a line says.
func (p *Pipeline) replaceLines(s *slot, o model.Object, scope *plan.Scope) {
	had, now := s.lines[o], map[string]shownLine{}
	for _, l := range s.listenersOf(o) {
		for _, c := range s.shown.Lines(l) {
			if line, has := had[c.ID]; has {
				now[c.ID] = line
			} else if _, twice := now[c.ID]; !twice {
				now[c.ID] = p.showLine(s.number, &c, scope)
			}
		}
	}
	for id, line := range had {
		if _, stays := now[id]; stays {
			continue
		}
		scope.SlotLines[line.SlotLine], scope.Certs[line.CertID] = struct{}{}, struct{}{}
		delete(p.want.SlotLines, line.SlotLine)
		delete(p.want.Certs, line.CertID)
		if line.ca != nil {
			p.useCA(line.ca, -1, scope)
		}
	}
	if s.lines[o] = now; len(now) == 0 {
		delete(s.lines, o)
	}
}

// showLine adds a certificate to those of a slot.
func (p *Pipeline) showLine(slot int, c *certificate.Line, scope *plan.Scope) shownLine {
	line := shownLine{SlotLine: plan.SlotLine{Slot: slot, CertID: c.ID}}
	terms := plan.SlotTerms{Names: strings.Join(c.Names, " "), ALPN: c.ALPN}
	if c.Clients != nil {
		line.ca, terms.CA, terms.LetsAllIn = c.Clients.CA, c.Clients.CA.ID, c.Clients.LetsAllIn
		p.useCA(line.ca, 1, scope)
	}
	scope.SlotLines[line.SlotLine], scope.Certs[line.CertID] = struct{}{}, struct{}{}
	p.want.SlotLines[line.SlotLine], p.want.Certs[c.ID] = terms, c.PEM
	return line
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
