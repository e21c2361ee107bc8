// Package route53 publishes names in AWS's Route 53. A host name of an AWS load
// balancer becomes an alias record, which costs nothing and may stand at the
// top of a zone; everything else is a plain record.
//
// All sets of a name, with the records that say who owns them, are written in
// one change batch, so that there is no moment without an answer.
package route53

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	r53 "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Options say whose zones are written, and how.
type Options struct {
	// Public is the account of public zones.
	Public sdk.Config
	// Private is the account of private zones, which may be another.
	Private sdk.Config
	// Registry is how zones note who owns a name.
	Registry dns.Registry
	// Gather is how long a change waits for others of the same zone, to be
	// written with them; the default is a second, and below 0 none waits.
	Gather time.Duration
	// Now returns the time; the default is time.Now.
	Now func() time.Time
}

// Provider is a hook.DNSHook.
type Provider struct {
	config   sdk.Config
	public   *r53.Client
	private  *r53.Client
	region   string
	registry dns.Registry
	gather   time.Duration
	now      func() time.Time

	mu      sync.Mutex
	zones   map[string]hook.Zone // by selector
	queues  map[string]*queue    // by zone
	flights map[string]flight    // by record and zone: changes that are on their way
}

var _ hook.DNSHook = (*Provider)(nil)

// New returns a Provider. Nothing is asked yet.
func New(o Options) *Provider {
	if o.Gather == 0 {
		o.Gather = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Provider{
		config: o.Public, public: r53.NewFromConfig(o.Public), private: r53.NewFromConfig(o.Private), region: o.Public.Region,
		registry: o.Registry, gather: o.Gather, now: o.Now,
		zones: map[string]hook.Zone{}, queues: map[string]*queue{}, flights: map[string]flight{},
	}
}

func (p *Provider) client(private bool) *r53.Client {
	if private {
		return p.private
	}
	return p.public
}

// EnsureRecord makes the name answer as the Record says. It is pending until
// all of Route 53's servers know it.
func (p *Provider) EnsureRecord(ctx context.Context, r *hook.Record, zone hook.Zone) (*hook.RecordResult, error) {
	if err := p.registry.Fits(r, zone); err != nil {
		return nil, err
	}
	wanted := p.sets(ctx, r)
	if wanted[0].Type == hook.RecordCNAME && wanted[0].Name == dns.Name(zone.Name) {
		return nil, hook.Errorf(hook.ClassInvalidConfig, "a CNAME record cannot stand at the top of zone %s", zone.Name)
	}
	have, err := p.read(ctx, r, zone)
	if mayNotRead(err) {
		return p.ensureUnread(ctx, r, zone, wanted)
	}
	if err != nil {
		return nil, err
	}
	result := &hook.RecordResult{}
	if wanted[0].Type == hook.RecordCNAME && isBalancer(r.Targets[0]) && !p.government() {
		result.Message = "the hosted zone of " + r.Targets[0] + " is not known, so the record is a CNAME and no alias; annotate the DNSRecord with " + api.AnnotationTargetZone + ", or give the right elasticloadbalancing:DescribeLoadBalancers"
	}
	change, err := p.registry.Ensure(have, wanted, r)
	switch {
	case err != nil:
		return nil, err
	case change.Empty():
		return p.landed(ctx, r, zone, result), nil
	}
	info, err := p.send(ctx, zone, batchOf(have, change))
	if err != nil {
		return nil, err
	}
	result.Changed = true
	return p.departed(r, zone, info, result), nil
}

// DeleteRecord removes the name if it is ours. A zone that is gone has no names.
func (p *Provider) DeleteRecord(ctx context.Context, r *hook.Record, zone hook.Zone) error {
	have, err := p.read(ctx, r, zone)
	switch {
	case hook.ClassOf(err) == hook.ClassNotFound:
		return nil
	case mayNotRead(err):
		return p.deleteUnread(ctx, r, zone, p.sets(ctx, r))
	case err != nil:
		return err
	}
	change := p.registry.Remove(have, p.sets(ctx, r), r)
	if change.Empty() {
		return nil
	}
	_, err = p.send(ctx, zone, batchOf(have, change))
	return err
}

// government reports whether this is GovCloud, which has no aliases to load
// balancers.
func (p *Provider) government() bool { return strings.HasPrefix(p.region, "us-gov-") }

// sets returns what a Record asks for: an alias where its target is a load
// balancer of AWS whose zone is known.
func (p *Provider) sets(ctx context.Context, r *hook.Record) []dns.RRSet {
	plain := dns.Sets(r)
	if r.Type != hook.RecordCNAME || len(r.Targets) != 1 || p.government() {
		return plain
	}
	zone, dualStack := cmp.Or(r.TargetZone, targetZone(r.Targets[0])), r.DualStack
	if zone == "" {
		zone, dualStack = p.lookUp(ctx, r.Targets[0])
	}
	if zone == "" {
		return plain
	}
	alias := dns.RRSet{Name: plain[0].Name, Type: hook.RecordA, Alias: &dns.Alias{Zone: zone, Target: dns.Name(r.Targets[0])}}
	list := []dns.RRSet{alias}
	if dualStack {
		alias.Type = hook.RecordAAAA
		list = append(list, alias)
	}
	return list
}

// read returns the sets of the Record's names that the zone has.
func (p *Provider) read(ctx context.Context, r *hook.Record, zone hook.Zone) ([]dns.RRSet, error) {
	var have []dns.RRSet
	for _, name := range p.registry.Names(r) {
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

// batchOf returns a change as Route 53 takes it. Deleting needs the sets exactly
// as they are.
func batchOf(have []dns.RRSet, c dns.Change) []types.Change {
	var batch []types.Change
	add := func(action types.ChangeAction, sets []dns.RRSet) {
		for _, s := range sets {
			batch = append(batch, change(action, s))
		}
	}
	add(types.ChangeActionDelete, c.Delete)
	// Not UPSERT: what another client made since we read is not overwritten.
	add(types.ChangeActionCreate, c.Create)
	for _, s := range c.Update {
		for _, h := range have {
			if h.Name == s.Name && h.Type == s.Type {
				add(types.ChangeActionDelete, []dns.RRSet{h})
			}
		}
	}
	add(types.ChangeActionCreate, c.Update)
	return batch
}

// failed classifies Route 53's errors (API reference, ChangeResourceRecordSets).
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
				e.Class = hook.ClassBusy // Another client wrote since we read; the next pass reads it.
			}
		}
	case e.Code == "InvalidInput", e.Code == "InvalidDomainName":
		e.Class = hook.ClassInvalidConfig
	case e.Code == "NoSuchChange":
		e.Class = hook.ClassNotFound
	case e.Code == "LimitsExceeded":
		e.Class = hook.ClassQuota
	}
	return &e
}
