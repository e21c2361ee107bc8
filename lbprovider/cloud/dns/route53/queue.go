package route53

import (
	"context"
	"errors"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	r53 "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// What one batch may hold (Route 53 developer guide, quotas on
// ChangeResourceRecordSets). UPSERT counts twice.
const (
	mostRecords    = 1000
	mostCharacters = 32000
)

// queue are the changes of one zone.
type queue struct {
	// turn is held by who writes: Route 53 takes one change of a zone at a time.
	turn sync.Mutex
	// open is the batch that further changes may join; nil if none waits. The
	// Provider's mu guards it.
	open *batch
}

// batch are the changes of several records that travel together.
type batch struct {
	parts               []*part
	records, characters int
	done                chan struct{}
}

// part is what one record has in a batch, and what came of it.
type part struct {
	changes []types.Change
	info    types.ChangeInfo
	err     error
}

func (p *Provider) queue(zone hook.Zone) *queue {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[zone.ID]
	if q == nil {
		q = &queue{}
		p.queues[zone.ID] = q
	}
	return q
}

// send carries out all changes, or none. Those of other records that come in
// the same moment go with them, so that many names cost few of the calls that
// all programs of the account share.
func (p *Provider) send(ctx context.Context, zone hook.Zone, changes []types.Change) (types.ChangeInfo, error) {
	if p.gather < 0 {
		return p.sendAlone(ctx, zone, changes)
	}
	q, own := p.queue(zone), &part{changes: changes}
	b, leads := p.join(q, own)
	if !leads {
		select {
		case <-b.done:
		case <-ctx.Done():
			return types.ChangeInfo{}, ctx.Err()
		}
		return own.info, own.err
	}
	timer := time.NewTimer(p.gather)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done(): // The call below says so to all.
	}
	q.turn.Lock()
	defer q.turn.Unlock()
	p.mu.Lock()
	if q.open == b {
		q.open = nil
	}
	p.mu.Unlock()
	p.carry(ctx, zone, b)
	close(b.done)
	return own.info, own.err
}

// sendAlone carries out changes without waiting for others.
func (p *Provider) sendAlone(ctx context.Context, zone hook.Zone, changes []types.Change) (types.ChangeInfo, error) {
	q := p.queue(zone)
	q.turn.Lock()
	defer q.turn.Unlock()
	return p.call(ctx, zone, changes)
}

// join adds a part to the batch that is open, or to a new one, which it leads.
func (p *Provider) join(q *queue, own *part) (b *batch, leads bool) {
	records, characters := weight(own.changes)
	p.mu.Lock()
	defer p.mu.Unlock()
	b = q.open
	if b == nil || b.records+records > mostRecords || b.characters+characters > mostCharacters {
		b, leads = &batch{done: make(chan struct{})}, true
		q.open = b
	}
	b.parts = append(b.parts, own)
	b.records += records
	b.characters += characters
	return b, leads
}

// carry writes a batch. Where Route 53 refuses it for one of its parts, each
// goes alone, so that no record waits for another's conflict.
func (p *Provider) carry(ctx context.Context, zone hook.Zone, b *batch) {
	var all []types.Change
	for _, own := range b.parts {
		all = append(all, own.changes...)
	}
	info, err := p.call(ctx, zone, all)
	alone := len(b.parts) > 1 && errors.As(err, new(*types.InvalidChangeBatch))
	for _, own := range b.parts {
		own.info, own.err = info, err
		if alone {
			own.info, own.err = p.call(ctx, zone, own.changes)
		}
	}
}

func (p *Provider) call(ctx context.Context, zone hook.Zone, changes []types.Change) (types.ChangeInfo, error) {
	out, err := p.client(zone.Private).ChangeResourceRecordSets(ctx, &r53.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone.ID, ChangeBatch: &types.ChangeBatch{Comment: new("fairlead"), Changes: changes},
	})
	if err != nil {
		return types.ChangeInfo{}, p.failed("ChangeResourceRecordSets", zone, err)
	}
	return *out.ChangeInfo, nil
}

// weight returns what changes count against Route 53's limits.
func weight(changes []types.Change) (records, characters int) {
	for _, c := range changes {
		n, length := 1, 0
		if c.ResourceRecordSet.AliasTarget == nil {
			n = len(c.ResourceRecordSet.ResourceRecords)
		}
		for _, r := range c.ResourceRecordSet.ResourceRecords {
			length += len(sdk.ToString(r.Value))
		}
		if c.Action == types.ChangeActionUpsert {
			n, length = 2*n, 2*length
		}
		records += n
		characters += length
	}
	return records, characters
}
