package route53

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	r53 "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// ResolveZone finds the zone that a selector means. What was found is kept
// until Route 53 says that it is gone.
func (p *Provider) ResolveZone(ctx context.Context, s hook.ZoneSelector) (hook.Zone, error) {
	key := fmt.Sprintf("%s|%v|%s|%v", s.ID, s.Tags, s.Suffix, s.Private)
	p.mu.Lock()
	zone, known := p.zones[key]
	p.mu.Unlock()
	if known {
		return zone, nil
	}
	zone, err := p.find(ctx, s)
	if err != nil {
		return zone, err
	}
	zone.Private = s.Private // whose account writes to it
	p.mu.Lock()
	defer p.mu.Unlock()
	p.zones[key] = zone
	return zone, nil
}

// forget drops a zone from what is kept.
func (p *Provider) forget(zone hook.Zone) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.zones, func(_ string, z hook.Zone) bool { return z.ID == zone.ID })
}

func (p *Provider) find(ctx context.Context, s hook.ZoneSelector) (hook.Zone, error) {
	if s.ID != "" {
		id := strings.TrimPrefix(s.ID, "/hostedzone/")
		out, err := p.client(s.Private).GetHostedZone(ctx, &r53.GetHostedZoneInput{Id: &id})
		if err != nil {
			return hook.Zone{}, p.failed("GetHostedZone", hook.Zone{ID: id}, err)
		}
		return zoneOf(*out.HostedZone), nil
	}
	all, err := p.list(ctx, s.Private)
	if err != nil {
		return hook.Zone{}, err
	}
	if len(s.Tags) > 0 {
		if all, err = p.tagged(ctx, all, s); err != nil {
			return hook.Zone{}, err
		}
		return only(all, fmt.Sprintf("the tags %v", s.Tags))
	}
	name := dns.Name(s.Suffix)
	all = slices.DeleteFunc(all, func(z hook.Zone) bool { return z.Private != s.Private || !dns.Within(name, z.Name) })
	longest := 0
	for _, z := range all {
		longest = max(longest, len(z.Name))
	}
	all = slices.DeleteFunc(all, func(z hook.Zone) bool { return len(z.Name) < longest })
	return only(all, "the name "+name)
}

// only returns the one zone of a list.
func only(list []hook.Zone, what string) (hook.Zone, error) {
	switch len(list) {
	case 1:
		return list[0], nil
	case 0:
		return hook.Zone{}, hook.Errorf(hook.ClassInvalidConfig, "no zone has %s", what)
	}
	var ids []string
	for _, z := range list {
		ids = append(ids, z.ID)
	}
	return hook.Zone{}, hook.Errorf(hook.ClassInvalidConfig, "several zones have %s: %s; name one by its id", what, strings.Join(ids, ", "))
}

// zoneOf reads a zone.
func zoneOf(z types.HostedZone) hook.Zone {
	return hook.Zone{ID: strings.TrimPrefix(sdk.ToString(z.Id), "/hostedzone/"), Name: dns.Name(sdk.ToString(z.Name)), Private: z.Config != nil && z.Config.PrivateZone}
}

func (p *Provider) list(ctx context.Context, private bool) ([]hook.Zone, error) {
	var all []hook.Zone
	pages := r53.NewListHostedZonesPaginator(p.client(private), &r53.ListHostedZonesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, p.failed("ListHostedZones", hook.Zone{}, err)
		}
		for _, z := range page.HostedZones {
			all = append(all, zoneOf(z))
		}
	}
	return all, nil
}

// tagged returns the zones that have all tags. Tags are asked for ten zones at
// a time, the most that Route 53 takes.
func (p *Provider) tagged(ctx context.Context, all []hook.Zone, s hook.ZoneSelector) ([]hook.Zone, error) {
	var found []hook.Zone
	for some := range slices.Chunk(all, 10) {
		in := &r53.ListTagsForResourcesInput{ResourceType: types.TagResourceTypeHostedzone}
		for _, z := range some {
			in.ResourceIds = append(in.ResourceIds, z.ID)
		}
		out, err := p.client(s.Private).ListTagsForResources(ctx, in)
		if err != nil {
			return nil, p.failed("ListTagsForResources", hook.Zone{}, err)
		}
		for _, t := range out.ResourceTagSets {
			has := map[string]string{}
			for _, tag := range t.Tags {
				has[sdk.ToString(tag.Key)] = sdk.ToString(tag.Value)
			}
			missing := false
			for k, v := range s.Tags {
				missing = missing || has[k] != v
			}
			if i := slices.IndexFunc(some, func(z hook.Zone) bool { return z.ID == sdk.ToString(t.ResourceId) }); !missing && i >= 0 {
				found = append(found, some[i])
			}
		}
	}
	return found, nil
}
