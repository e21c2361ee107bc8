package rfc2136

import (
	"context"

	mdns "github.com/miekg/dns"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// rightToAsk is what reading a zone needs.
const rightToAsk = "to ask the server for the zone's records (allow-query)"

// mayNotAsk reports whether the server refuses questions. It may take updates
// all the same, such as a hidden primary server that answers no client.
func mayNotAsk(err error) bool {
	if err == nil {
		return false
	}
	e := hook.AsError(err)
	return e.Action == "Query" && e.Code == mdns.RcodeToString[mdns.RcodeRefused]
}

// probe asks by an update that changes nothing whether the server has a zone
// and takes our updates of it. If it has none, the error is why it refused the
// question.
func (p *Provider) probe(ctx context.Context, zone string, refusal error) error {
	err := p.send(ctx, hook.Zone{ID: zone, Name: zone}, new(mdns.Msg).SetUpdate(zone))
	if err != nil && hook.AsError(err).Code == mdns.RcodeToString[mdns.RcodeNotAuth] {
		return refusal
	}
	return err
}

// refused reports whether the server rejected an update for what is in the zone.
func refused(err error) bool { return hook.ClassOf(err) == hook.ClassBusy }

// ensureUnread writes without asking. Whether anything changed is not known.
func (p *Provider) ensureUnread(ctx context.Context, r *hook.Record, zone hook.Zone) (*hook.RecordResult, error) {
	for _, try := range p.registry.ReplaceUnread(dns.Sets(r), r) {
		err := p.send(ctx, zone, conditionalUpdate(dns.Name(zone.Name), try))
		if err == nil {
			return &hook.RecordResult{Changed: true, Message: "written without the right " + rightToAsk + ", so changes by others go unseen"}, nil
		}
		if !refused(err) {
			return nil, err
		}
	}
	return nil, dns.Unreadable(r, rightToAsk)
}

// conditionalUpdate returns the message of a change.
func conditionalUpdate(zone string, b dns.ConditionalChange) *mdns.Msg {
	m := new(mdns.Msg).SetUpdate(zone)
	for _, s := range b.Proof {
		m.Used(records(s))
	}
	for _, s := range b.Absent {
		m.RRsetNotUsed([]mdns.RR{nameAndType(s)})
	}
	for _, s := range b.Drop {
		m.RemoveRRset([]mdns.RR{nameAndType(s)})
	}
	for _, s := range b.Put {
		m.RemoveRRset([]mdns.RR{nameAndType(s)})
		m.Insert(records(s))
	}
	return m
}

// deleteUnread removes what the zone itself says is ours, and what no owner
// record stands beside and leads where the Record says.
func (p *Provider) deleteUnread(ctx context.Context, r *hook.Record, zone hook.Zone) error {
	for _, try := range p.registry.RemoveUnread(dns.Sets(r), r) {
		if err := p.send(ctx, zone, conditionalUpdate(dns.Name(zone.Name), try)); err != nil && !refused(err) {
			return err
		}
	}
	return nil
}
