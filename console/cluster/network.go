package cluster

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/lbprovider/inspect"
	"github.com/fairlead/fairlead/lbprovider/inspect/cluster"
)

const (
	// eventPage and eventPages bound how many events of a cluster are looked at.
	eventPage, eventPages = 500, 40
	// established is the state of a BGP session that works.
	established = "Established"
)

// Network reads which nodes announce which addresses. It reads objects only: the speakers are
// not asked.
func Network(ctx context.Context, config *rest.Config) (*console.Network, error) {
	objects, err := cluster.Read(ctx, config, false)
	if err != nil {
		return nil, err
	}
	return networkOf(objects), nil
}

// networkOf says which nodes announce which addresses, by what speakers have written into
// status objects, and compares that with what the election chooses from the objects.
func networkOf(o *inspect.Objects) *console.Network {
	n := &console.Network{Addresses: []console.Address{}}
	for _, kind := range o.Unreadable {
		n.Notes = append(n.Notes, "you have no right to read "+kind+": what they say is not known")
	}
	status := slices.Contains(o.Unreadable, "ServiceL2Statuses")
	for _, a := range inspect.Look(o, netip.Addr{}) {
		n.Addresses = append(n.Addresses, addressOf(o, &a, status))
	}
	for i := range o.Config.Pools {
		p := &o.Config.Pools[i]
		used := p.Status.AssignedIPv4 + p.Status.AssignedIPv6
		n.Pools = append(n.Pools, console.Pool{Name: p.Name, Used: used, Total: used + p.Status.AvailableIPv4 + p.Status.AvailableIPv6})
	}
	slices.SortFunc(n.Pools, func(a, b console.Pool) int { return strings.Compare(a.Name, b.Name) })
	return n
}

func addressOf(o *inspect.Objects, a *inspect.Answer, statusUnknown bool) console.Address {
	out := console.Address{Addresses: a.Addresses, Service: a.Service, Pool: a.Pool, Owner: a.Owner}
	if len(a.Candidates) > 1 {
		out.Next = a.Candidates[1:]
	}
	for _, node := range slices.Sorted(maps.Keys(a.Excluded)) {
		out.Excluded = append(out.Excluded, console.Excluded{Node: node, Why: string(a.Excluded[node])})
	}
	for i := range o.L2 {
		st := &o.L2[i].Status
		if st.ServiceNamespace+"/"+st.ServiceName != a.Service {
			continue
		}
		by := console.Announcer{Node: st.Node}
		for _, i := range st.Interfaces {
			by.Interfaces = append(by.Interfaces, i.Name)
		}
		out.Announcers = append(out.Announcers, by)
		if st.Since != nil && (out.Since == nil || st.Since.Time.Before(*out.Since)) {
			out.Since = &st.Since.Time
		}
	}
	up := false
	for _, s := range a.BGP {
		up = up || s.State == established
		out.BGP = append(out.BGP, console.Session{Node: s.Node, Peer: s.Peer, State: s.State, BFD: s.BFD, Since: s.Since, Error: s.Error})
	}
	out.State, out.Why = addressState(&out, up, a.Reason, statusUnknown)
	return out
}

// addressState compares what announces an address with what should.
func addressState(a *console.Address, bgp bool, reason string, statusUnknown bool) (state console.AddressState, why string) {
	switch {
	case len(a.Announcers) == 0 && statusUnknown && !bgp:
		return console.Doubtful, "the status of the speakers could not be read"
	case len(a.Announcers) == 0 && !bgp && a.Owner != "":
		return console.NotAnnounced, "no speaker has written that it announces the address; node " + a.Owner + " should"
	case len(a.Announcers) == 0 && !bgp:
		return console.NotAnnounced, reason
	case len(a.Announcers) > 1:
		return console.Doubtful, "more than one node says that it answers by ARP or NDP"
	case len(a.Announcers) == 1 && a.Owner != "" && a.Announcers[0].Node != a.Owner:
		return console.Doubtful, "by the objects, node " + a.Owner + " should announce it"
	}
	for _, s := range a.BGP {
		if s.State != established {
			return console.Doubtful, "the session of " + s.Node + " with " + s.Peer + " is not established"
		}
	}
	return console.Announced, ""
}

// Events reads what Fairlead's programs have written: about all namespaces, or about own if the
// user may not list those of all.
func Events(ctx context.Context, config *rest.Config, own string) (*console.Events, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	found := &console.Events{Items: []console.Event{}}
	err = listEvents(ctx, c, found)
	if apierrors.IsForbidden(err) {
		found = &console.Events{Items: []console.Event{}, Notes: []string{"you have no right to list events of all namespaces: those of namespace " + own + " are shown"}}
		err = listEvents(ctx, c, found, client.InNamespace(own))
	}
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return found, nil
}

// listEvents adds the events of Fairlead's programs.
func listEvents(ctx context.Context, c client.Client, into *console.Events, options ...client.ListOption) error {
	next := ""
	for range eventPages {
		var list corev1.EventList
		if err := c.List(ctx, &list, append(options, client.Limit(eventPage), client.Continue(next))...); err != nil {
			return err //nolint:wrapcheck // the caller looks at it, and wraps it
		}
		for i := range list.Items {
			if e, ours := eventOf(&list.Items[i]); ours {
				into.Items = append(into.Items, e)
			}
		}
		if next = list.Continue; next == "" {
			return nil
		}
	}
	into.Notes = append(into.Notes, fmt.Sprintf("the cluster has more than %d events: the others were not looked at", eventPage*eventPages))
	return nil
}

// ours reports whether a program of Fairlead writes events by this name.
func ours(source string) bool {
	return strings.HasPrefix(source, "fairlead-") || strings.HasPrefix(source, "router-") || source == "ingress-operator" || source == "ingress-to-route-controller"
}

// eventOf reads an event, and reports whether a program of Fairlead has written it.
func eventOf(e *corev1.Event) (out console.Event, is bool) {
	source := e.Source.Component
	if source == "" {
		source = e.ReportingController
	}
	if !ours(source) {
		return out, false
	}
	out = console.Event{
		Count: int(e.Count), Type: strings.ToLower(e.Type), Source: source, Kind: strings.ToLower(e.InvolvedObject.Kind),
		Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name, Reason: e.Reason, Message: e.Message,
	}
	for _, at := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time} {
		if !at.IsZero() {
			out.Time = &at
			break
		}
	}
	return out, true
}
