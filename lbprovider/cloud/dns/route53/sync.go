package route53

import (
	"context"
	"fmt"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	r53 "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Route 53 mostly has a change on all of its servers within a minute.
const (
	syncRetry = 5 * time.Second
	syncLimit = 3 * time.Minute
)

// flight is a change that Route 53 took and does not answer everywhere yet. A
// new process knows of none and takes what is in the zone to be everywhere.
type flight struct {
	change string
	since  time.Time
}

func flightKey(r *hook.Record, zone hook.Zone) string {
	return zone.ID + " " + dns.Name(r.Name) + " " + r.Resource
}

// departed notes a change that was written just now.
func (p *Provider) departed(r *hook.Record, zone hook.Zone, info types.ChangeInfo, result *hook.RecordResult) *hook.RecordResult {
	result.Handle = strings.TrimPrefix(sdk.ToString(info.Id), "/change/")
	if info.Status == types.ChangeStatusInsync {
		return result
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flights[flightKey(r, zone)] = flight{result.Handle, p.now()}
	return onItsWay(result)
}

// onItsWay makes a result pending.
func onItsWay(result *hook.RecordResult) *hook.RecordResult {
	result.Pending, result.RetryAfter = true, hook.Duration(syncRetry)
	result.Message = join("Route 53 took change "+result.Handle+", and not all of its servers have it yet", result.Message)
	return result
}

// landed asks Route 53 whether the last change of a record is everywhere. What
// it does not report within some minutes, or at all, delays nothing: the change
// is in the zone.
func (p *Provider) landed(ctx context.Context, r *hook.Record, zone hook.Zone, result *hook.RecordResult) *hook.RecordResult {
	key := flightKey(r, zone)
	p.mu.Lock()
	f, flies := p.flights[key]
	p.mu.Unlock()
	if !flies {
		return result
	}
	result.Handle = f.change
	out, err := p.client(zone.Private).GetChange(ctx, &r53.GetChangeInput{Id: &f.change})
	late := p.now().Sub(f.since) >= syncLimit
	switch class := hook.ClassOf(p.failedOrNil(zone, err)); {
	case err == nil && out.ChangeInfo.Status == types.ChangeStatusInsync:
	case class == hook.ClassDenied:
		result.Message = join("whether all servers of Route 53 have it is not known without the right route53:GetChange", result.Message)
	case class == hook.ClassNotFound:
	case late:
		result.Message = join(fmt.Sprintf("change %s is not on all servers of Route 53 after %v", f.change, syncLimit), result.Message)
	default:
		return onItsWay(result)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.flights, key)
	return result
}

func (p *Provider) failedOrNil(zone hook.Zone, err error) error {
	if err == nil {
		return nil
	}
	return p.failed("GetChange", zone, err)
}

// join joins two messages, of which the second may be empty.
func join(first, second string) string {
	if second == "" {
		return first
	}
	return first + "; " + second
}
