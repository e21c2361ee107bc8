package stack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// httpsPort reports whether a port of the Service is the one for HTTPS.
func httpsPort(p hook.Port) bool { return p.Name == "https" || p.Port == 443 }

// applicationGroup makes a target group one of an application load balancer.
// Where the client speaks HTTPS, the targets do too: the router then sees the
// right scheme, and answers with its default certificate, which AWS does not
// verify.
func (d *desire) applicationGroup(g *TargetGroup, p hook.Port) {
	g.Protocol = "HTTP"
	if httpsPort(p) {
		g.Protocol = "HTTPS"
	}
	d.applicationCheck(g)
}

// annotationProbe is where the operator says how a router's pod is asked
// whether it serves, such as ":1936/healthz/ready".
const annotationProbe = "lb.fairlead.dev/probe"

// applicationCheck makes the health check one by HTTP, which application load
// balancers insist on: of kube-proxy or of the router itself, if one of
// them reports whether it serves; otherwise any answer will do.
func (d *desire) applicationCheck(g *TargetGroup) {
	c, own := &g.Check, d.Settings.Check
	probe := strings.TrimPrefix(d.Spec.Annotations[annotationProbe], ":")
	port, path, probed := strings.Cut(probe, "/")
	switch {
	case c.Protocol != "TCP":
		c.Codes = cmp.Or(own.Codes, "200")
	case own.Protocol == "" && own.Port == "" && probed && podTargets(d.Spec, d.Settings):
		c.Protocol, c.Port, c.Path = "HTTP", port, cmp.Or(own.Path, "/"+path)
		c.Codes = cmp.Or(own.Codes, "200")
	default:
		c.Protocol, c.Path = g.Protocol, cmp.Or(own.Path, "/")
		c.Codes = cmp.Or(own.Codes, "200-499") // the router answers 404 or 503 for a host that no Route has
	}
	c.Interval = cmp.Or(own.Interval, 15)
	c.Timeout = cmp.Or(own.Timeout, min(5, c.Interval))
	c.Healthy, c.Unhealthy = cmp.Or(own.Healthy, 2), cmp.Or(own.Unhealthy, 2)
}

// applicationListeners are HTTP, which redirects where there is a certificate,
// and HTTPS, which needs one.
func (d *desire) applicationListeners() {
	certificates := d.Settings.Certificates
	if len(certificates) == 0 {
		certificates = d.discover()
	}
	for _, p := range d.Spec.Ports {
		l := Listener{Port: p.Port, Protocol: "HTTP", Group: d.groupOf(p.Port), Tags: d.listenerTags(p.Port), Attributes: map[string]string{}}
		switch {
		case httpsPort(p) && len(certificates) == 0:
			d.note("InvalidConfiguration", "fairlead.dev/aws-alb-certificate-arn", "port 443 of an application load balancer needs a certificate, and ACM has none for the domain; only port 80 is served")
			continue
		case httpsPort(p):
			l.Protocol, l.Certificates, l.Policy = "HTTPS", certificates, d.Settings.Policy
			if l.Policy == "" {
				l.Policy = DefaultPolicy
			}
		case len(certificates) > 0:
			l.RedirectTLS, l.Group = true, ""
		}
		d.out.Listeners = append(d.out.Listeners, l)
	}
}

// annotationDomain is where the operator says which names the Service serves.
const annotationDomain = "fairlead.dev/domain"

// discover returns the certificates of ACM that cover *.domain.
func (d *desire) discover() []string {
	domain := d.Spec.Annotations[annotationDomain]
	if domain == "" {
		return nil
	}
	var found []string
	for arn, names := range d.Environment.Certificates {
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, "*."+domain) }) {
			found = append(found, arn)
		}
	}
	slices.Sort(found)
	return found
}
