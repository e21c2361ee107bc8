package route53

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// rightToRead is what reading a zone needs.
const rightToRead = "route53:ListResourceRecordSets"

// mayNotRead reports whether the zone cannot be read, but perhaps be written:
// the credentials that OpenShift asks AWS for have no right to list records.
func mayNotRead(err error) bool {
	return hook.ClassOf(err) == hook.ClassDenied && strings.HasPrefix(hook.AsError(err).Code, "AccessDenied")
}

// refused reports whether Route 53 rejected a batch for what is in the zone.
func refused(err error) bool { return hook.ClassOf(err) == hook.ClassBusy }

// ensureUnread writes without reading. Whether anything changed is not known.
func (p *Provider) ensureUnread(ctx context.Context, r *hook.Record, zone hook.Zone, wanted []dns.RRSet) (*hook.RecordResult, error) {
	var err error
	for _, try := range p.registry.EnsureUnread(wanted, r) {
		var info types.ChangeInfo
		if info, err = p.sendAlone(ctx, zone, conditionalBatch(try)); err == nil {
			// It is written again each time, so its last change is not known.
			return &hook.RecordResult{
				Changed: true, Handle: strings.TrimPrefix(sdk.ToString(info.Id), "/change/"),
				Message: "written without the right " + rightToRead + ", so changes by others go unseen",
			}, nil
		}
		if !refused(err) {
			return nil, err
		}
	}
	if r.Adopt || p.registry.None {
		return nil, err
	}
	return nil, dns.Unreadable(r, rightToRead)
}

// conditionalBatch is a change as Route 53 takes it: to delete a set needs it exactly
// as it is, which proves that it is so.
func conditionalBatch(b dns.ConditionalChange) []types.Change {
	var list []types.Change
	for _, s := range b.Proof {
		list = append(list, change(types.ChangeActionDelete, s), change(types.ChangeActionCreate, s))
	}
	for _, s := range b.Put {
		action := types.ChangeActionUpsert
		if slices.ContainsFunc(b.Absent, func(a dns.RRSet) bool { return a.Name == s.Name && a.Type == s.Type }) {
			action = types.ChangeActionCreate
		}
		list = append(list, change(action, s))
	}
	return list
}

// deleteUnread removes what we wrote, if it still is as we wrote it. What is
// there and cannot be distinguished from ours is an error: left behind, the name would
// lead to what another owner gets next.
func (p *Provider) deleteUnread(ctx context.Context, r *hook.Record, zone hook.Zone, wanted []dns.RRSet) error {
	for _, s := range wanted {
		own := []dns.RRSet{s}
		if !p.registry.None {
			own = append(own, p.registry.Owner(s, r))
		}
		var all []types.Change
		for _, one := range own {
			all = append(all, change(types.ChangeActionDelete, one))
		}
		_, err := p.sendAlone(ctx, zone, all)
		switch {
		case err == nil:
			continue
		case !refused(err):
			return err
		case strings.Contains(err.Error(), mismatch):
			return &hook.Error{
				Class: hook.ClassDenied, Action: "ChangeResourceRecordSets",
				Message: s.Name + " " + string(s.Type) + " is not as it was written, and the operator may not read it: remove it by hand, or give the operator the right " + rightToRead,
			}
		}
		// One of both is gone; the other may be there.
		for _, one := range own {
			if _, err := p.sendAlone(ctx, zone, []types.Change{change(types.ChangeActionDelete, one)}); err != nil && !refused(err) {
				return err
			}
		}
	}
	return nil
}

// mismatch is what Route 53 says of a set that is to be deleted and is another.
const mismatch = "do not match the current values"
