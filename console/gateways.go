package console

import (
	"strings"

	"github.com/fairlead/fairlead/router/explain"
)

// objectKinds are the kinds that have pages of their own beside Routes, by the name of these.
func objectKinds() map[string]string {
	pages := map[string]string{}
	for _, kind := range append(explain.ListenerKinds(), explain.ListedKinds()...) {
		if kind != "Route" {
			pages[pageOf(kind)] = kind
		}
	}
	return pages
}

// pageOf is the first part of the path of the pages of a kind.
func pageOf(kind string) string { return strings.ToLower(kind) + "s" }

// gatewayPage is one object of the Gateway API.
type gatewayPage struct {
	Row       explain.Row
	Listeners bool // it has some, and takes no requests itself
	Reach     bounded[explain.Reach]
	Findings  bounded[explain.Finding]
	Parents   bounded[explain.WhyParent]
	Sections  bounded[section]
	Own       []explain.WhyCondition
	Policies  bounded[explain.Policy]
	Pods      bounded[explain.Pod]
	PodsKnown bool
	Words     bounded[explain.StatusWord]
	Addresses []string
	Next      bounded[string]
	Manifest  bounded[string]
}

// section is a listener on the page of its Gateway or ListenerSet.
type section struct {
	Row        explain.Row
	Conditions []explain.WhyCondition
	Routes     bounded[string]
}

// gatewayObject shows one object of the Gateway API.
func (v *visit) gatewayObject(kind, namespace, name string) answer {
	var d *explain.GatewayDetail
	var err error
	v.ask(v.world, func(s *explain.Snapshot) { d, err = s.GatewayDetail(kind, namespace, name) })
	if err != nil {
		return missing(err.Error())
	}
	lines := strings.Split(strings.TrimSuffix(d.Manifest, "\n"), "\n")
	data := gatewayPage{
		Row: d.Row, Listeners: len(d.Listeners) > 0, Reach: boundedList(d.Why.Reach), Findings: boundedList(d.Findings), Parents: boundedList(d.Why.Parents),
		Own: d.Why.Conditions, Policies: boundedList(d.Why.Policies), Pods: boundedList(d.Pods), PodsKnown: d.PodsKnown, Words: boundedList(d.Words),
		Addresses: d.Addresses, Next: boundedList(d.Why.Next),
		Manifest: bounded[string]{Shown: first(lines, manifestLines), More: max(0, len(lines)-manifestLines)},
	}
	said := map[string]explain.WhyListener{}
	for _, l := range d.Why.Listeners {
		said[l.Name] = l
	}
	sections := []section{}
	for i := range d.Listeners {
		l := said[d.Listeners[i].Listener]
		sections = append(sections, section{Row: d.Listeners[i], Conditions: l.Conditions, Routes: boundedList(l.Routes)})
	}
	data.Sections = boundedList(sections)
	return answer{name: "gateway", title: kind + " " + namespace + "/" + name, data: data, line: Line{Command: "why", Subject: strings.ToLower(kind) + "/" + name, Namespace: namespace}}
}
