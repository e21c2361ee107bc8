package route

import (
	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// standIn is a Service that gets the requests of a route without endpoints. All that
// the route and its policies ask for holds for them, too, because its pods become the
// servers of the route's own backend.
type standIn struct {
	ref       serviceRef
	endpoints []backend.Endpoint
}

// standIn finds the Service of pages.noEndpoints, and returns nil where it cannot stand in.
func (b *builder) standIn(spec *policy.Spec) *standIn {
	if spec.Groups.Pages == nil || spec.Groups.Pages.NoEndpoints == nil || Closed(b.route) {
		return nil
	}
	n := spec.Groups.Pages.NoEndpoints
	key := b.pageService(n)
	endpoints, reason, message := b.pageEndpoints(n, key)
	if len(endpoints) == 0 {
		severity := api.SeverityWarning
		if reason == api.ReasonNoEndpoints { // which passes
			severity = api.SeverityInfo
		}
		b.pageFinding(b.result.Effective.Origin(policy.GroupPages), policy.Problem{Key: "pages.noEndpoints", Severity: severity, Reason: reason, Message: message, Effect: effect503})
		return nil
	}
	b.find(api.SeverityInfo, "spec.to", api.ReasonNoEndpoints, "no endpoint is ready", "requests go to Service "+key.Name)
	return &standIn{serviceRef{key: key, field: "spec.to", weight: 1}, endpoints}
}

// pageService returns a Service of the group pages, on which the route depends from now on.
func (b *builder) pageService(n *v1alpha1.PageService) model.Object {
	key := model.Object{Kind: door.KindService, Namespace: b.route.Namespace, Name: string(n.Name)}
	b.depend(key)
	return key
}

// pageEndpoints returns the endpoints of the Service at its port, or why there are none.
func (b *builder) pageEndpoints(n *v1alpha1.PageService, key model.Object) (found []backend.Endpoint, reason api.Reason, message string) {
	service := b.src.Service(key)
	if service == nil {
		return nil, api.ReasonServiceNotFound, "Service " + key.Name + " does not exist"
	}
	all := service.Endpoints(b.src.Slices(key))
	if len(all) == 0 {
		return nil, api.ReasonNoEndpoints, "no endpoint of Service " + key.Name + " is ready"
	}
	if n.Port != nil {
		found = backend.WithPort(all, n.Port.String())
		return found, api.ReasonPortNotFound, "no endpoint of Service " + key.Name + " has a port with the name or pod port number " + n.Port.String() + "; it has " + describePorts(all)
	}
	if b.route.Spec.Port != nil {
		if found = backend.WithPort(all, b.route.Spec.Port.TargetPort.String()); len(found) > 0 {
			return found, "", ""
		}
	}
	names := backend.PortNames(all)
	if len(names) > 1 {
		return nil, api.ReasonAmbiguousPort, "Service " + key.Name + " has several ports, and neither the group pages nor the Route names one of them"
	}
	return all, "", ""
}
