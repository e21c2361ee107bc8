// Package route53 publishes names in AWS's Route 53. A host name of an AWS load
// balancer becomes an alias record, which costs nothing and may stand at the
// top of a zone; everything else is a plain record.
//
// All sets of a name, with the records that say who owns them, are written in
// one change batch, so that there is no moment without an answer.
package route53

import (
	"context"
	"errors"
	"strings"
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	r53 "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Provider is a hook.DNSHook.
type Provider struct {
	public  *r53.Client
	private *r53.Client
	region  string

	mu    sync.Mutex
	zones map[string]hook.Zone   // by selector
	locks map[string]*sync.Mutex // by zone: Route 53 takes one change of a zone at a time
}

var _ hook.DNSHook = (*Provider)(nil)

// New returns a Provider for the accounts of two configurations: private zones
// may belong to another account. They may be the same.
func New(public, private sdk.Config) *Provider {
	return &Provider{
		public: r53.NewFromConfig(public), private: r53.NewFromConfig(private), region: public.Region,
		zones: map[string]hook.Zone{}, locks: map[string]*sync.Mutex{},
	}
}

func (p *Provider) client(private bool) *r53.Client {
	if private {
		return p.private
	}
	return p.public
}

// EnsureRecord makes the name answer as the Record says.
func (p *Provider) EnsureRecord(ctx context.Context, r *hook.Record, zone hook.Zone) (*hook.RecordResult, error) {
	defer p.lock(zone)()
	if name := dns.Name(r.Name); !dns.Within(name, dns.Name(zone.Name)) {
		return nil, hook.Errorf(hook.ClassInvalidConfig, "%s does not lie in zone %s (%s)", name, zone.Name, zone.ID)
	}
	wanted := p.sets(r)
	if wanted[0].Type == hook.RecordCNAME && wanted[0].Name == dns.Name(zone.Name) {
		return nil, hook.Errorf(hook.ClassInvalidConfig, "a CNAME record cannot stand at the top of zone %s", zone.Name)
	}
	have, err := p.read(ctx, r, zone)
	if mayNotRead(err) {
		return p.ensureBlind(ctx, r, zone, wanted)
	}
	if err != nil {
		return nil, err
	}
	result := &hook.RecordResult{}
	if wanted[0].Type == hook.RecordCNAME && isBalancer(r.Targets[0]) && !p.government() {
		result.Message = "the hosted zone of " + r.Targets[0] + " is not known, so the record is a CNAME and no alias; annotate the DNSRecord with " + api.AnnotationTargetZone
	}
	change, err := dns.Ensure(have, wanted, r)
	if err != nil || change.Empty() {
		return result, err
	}
	result.Changed = true
	if result.Handle, err = p.write(ctx, zone, have, change); err != nil {
		return nil, err
	}
	return result, nil
}

// DeleteRecord removes the name if it is ours. A zone that is gone has no names.
func (p *Provider) DeleteRecord(ctx context.Context, r *hook.Record, zone hook.Zone) error {
	defer p.lock(zone)()
	have, err := p.read(ctx, r, zone)
	switch {
	case hook.ClassOf(err) == hook.ClassNotFound:
		return nil
	case mayNotRead(err):
		return p.deleteBlind(ctx, r, zone, p.sets(r))
	case err != nil:
		return err
	}
	change := dns.Remove(have, p.sets(r), r)
	if change.Empty() {
		return nil
	}
	_, err = p.write(ctx, zone, have, change)
	return err
}

func (p *Provider) lock(zone hook.Zone) (unlock func()) {
	p.mu.Lock()
	l := p.locks[zone.ID]
	if l == nil {
		l = &sync.Mutex{}
		p.locks[zone.ID] = l
	}
	p.mu.Unlock()
	l.Lock()
	return l.Unlock
}

// government reports whether this is GovCloud, which has no aliases to load
// balancers.
func (p *Provider) government() bool { return strings.HasPrefix(p.region, "us-gov-") }

// sets returns what a Record asks for: an alias where its target is a load
// balancer of AWS whose zone is known.
func (p *Provider) sets(r *hook.Record) []dns.RRSet {
	plain := dns.Sets(r)
	if r.Type != hook.RecordCNAME || len(r.Targets) != 1 || p.government() {
		return plain
	}
	zone := r.TargetZone
	if zone == "" {
		zone = targetZone(r.Targets[0])
	}
	if zone == "" {
		return plain
	}
	alias := dns.RRSet{Name: plain[0].Name, Type: hook.RecordA, Alias: &dns.Alias{Zone: zone, Target: dns.Name(r.Targets[0])}}
	list := []dns.RRSet{alias}
	if r.DualStack {
		alias.Type = hook.RecordAAAA
		list = append(list, alias)
	}
	return list
}

// read returns the sets of the Record's names that the zone has.
func (p *Provider) read(ctx context.Context, r *hook.Record, zone hook.Zone) ([]dns.RRSet, error) {
	var have []dns.RRSet
	for _, name := range dns.Names(r) {
		// A name has few sets; they come in the order of names.
		out, err := p.client(zone.Private).ListResourceRecordSets(ctx, &r53.ListResourceRecordSetsInput{
			HostedZoneId: &zone.ID, StartRecordName: &name, MaxItems: new(int32(perName)),
		})
		if err != nil {
			return nil, p.failed("ListResourceRecordSets", zone, err)
		}
		for _, s := range out.ResourceRecordSets {
			if set := setOf(s); set.Name == name {
				have = append(have, set)
			}
		}
	}
	return have, nil
}

// perName is how many sets of one name are read: more types than names of load
// balancers have.
const perName = 10

// write sends a change as one batch and returns its id. Deleting needs the sets
// exactly as they are.
func (p *Provider) write(ctx context.Context, zone hook.Zone, have []dns.RRSet, c dns.Change) (string, error) {
	var batch []types.Change
	add := func(action types.ChangeAction, sets []dns.RRSet) {
		for _, s := range sets {
			batch = append(batch, change(action, s))
		}
	}
	add(types.ChangeActionDelete, c.Delete)
	// Not UPSERT: what somebody else made since we read is not overwritten.
	add(types.ChangeActionCreate, c.Create)
	for _, s := range c.Update {
		for _, h := range have {
			if h.Name == s.Name && h.Type == s.Type {
				add(types.ChangeActionDelete, []dns.RRSet{h})
			}
		}
	}
	add(types.ChangeActionCreate, c.Update)
	return p.send(ctx, zone, batch)
}

// send carries out all changes, or none.
func (p *Provider) send(ctx context.Context, zone hook.Zone, changes []types.Change) (string, error) {
	out, err := p.client(zone.Private).ChangeResourceRecordSets(ctx, &r53.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone.ID, ChangeBatch: &types.ChangeBatch{Comment: new("fairlead"), Changes: changes},
	})
	if err != nil {
		return "", p.failed("ChangeResourceRecordSets", zone, err)
	}
	return sdk.ToString(out.ChangeInfo.Id), nil
}

// failed tells Route 53's errors apart (API reference, ChangeResourceRecordSets).
func (p *Provider) failed(action string, zone hook.Zone, err error) error {
	e := *hook.AsError(aws.Classify(action, err))
	batch := (*types.InvalidChangeBatch)(nil)
	switch {
	case errors.As(err, new(*types.NoSuchHostedZone)):
		e.Class, e.Message = hook.ClassNotFound, "zone "+zone.ID+" does not exist"
		p.forget(zone)
	case errors.As(err, new(*types.PriorRequestNotComplete)):
		e.Class = hook.ClassBusy
	case errors.As(err, &batch):
		// The error's own message may only say that there were errors.
		e.Message = strings.Join(append(batch.Messages, e.Message), "; ")
		e.Class = hook.ClassInvalidConfig
		for _, race := range []string{"already exists", "but it was not found", mismatch, "conflicting RRSet"} {
			if strings.Contains(e.Message, race) {
				e.Class = hook.ClassBusy // Somebody wrote since we read; the next look tells.
			}
		}
	case e.Code == "InvalidInput", e.Code == "InvalidDomainName":
		e.Class = hook.ClassInvalidConfig
	case e.Code == "LimitsExceeded":
		e.Class = hook.ClassQuota
	}
	return &e
}
