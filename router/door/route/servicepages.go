package route

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// maxFetchAddresses is how many endpoints of a Service the router tries.
const maxFetchAddresses = 8

// servicePages asks a Service for pages, and returns what it answered before.
func (b *builder) servicePages(s *v1alpha1.PageService, codes []int) (*policy.ServicePages, *policy.Problem) {
	key := b.pageService(s)
	endpoints, reason, message := b.pageEndpoints(s, key)
	if len(endpoints) == 0 && reason != api.ReasonNoEndpoints {
		return nil, &policy.Problem{Reason: reason, Message: message, Effect: "it shows no page"}
	}
	fetch := model.PageFetch{Key: b.fetchKey(s), Host: key.Name + "." + key.Namespace + ".svc", Codes: codes}
	for _, e := range endpoints {
		if e.Idle {
			continue // to ask would wake its pods up
		}
		fetch.Addresses = append(fetch.Addresses, e.Address)
	}
	slices.SortFunc(fetch.Addresses, netip.AddrPort.Compare)
	fetch.Addresses = slices.Compact(fetch.Addresses)
	fetch.Addresses = fetch.Addresses[:min(len(fetch.Addresses), maxFetchAddresses)]
	b.depend(fetch.Key)
	b.result.Fetches = append(b.result.Fetches, fetch)
	if b.past.Unfetched {
		return nil, &policy.Problem{
			Reason: api.ReasonLimitExceeded, Effect: "it shows no page",
			Message: fmt.Sprintf("older Routes of the namespace ask Services for all the %d pages that are possible", b.settings.FetchLimit()),
		}
	}
	var pages *policy.ServicePages
	if b.past.Fetched != nil { // only routers ask
		pages = b.past.Fetched(fetch.Key)
	}
	if len(fetch.Addresses) == 0 {
		return pages, &policy.Problem{Reason: api.ReasonPageUnavailable, Message: message, Effect: "answers are as without a page, or have the one of before"}
	}
	return pages, nil
}

// fetchKey stands for a Service and the port that it is asked at.
func (b *builder) fetchKey(s *v1alpha1.PageService) model.Object {
	port := ""
	switch {
	case s.Port != nil:
		port = s.Port.String()
	case b.route.Spec.Port != nil:
		port = "?" + b.route.Spec.Port.TargetPort.String()
	}
	return model.Object{Kind: door.KindPageFetch, Namespace: b.route.Namespace, Name: string(s.Name) + ":" + port}
}
