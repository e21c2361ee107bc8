package fakeaws

import (
	"fmt"
	"slices"
	"strings"
)

func createListener(r *request) (any, error) {
	b, err := r.balancer()
	if err != nil {
		return nil, err
	}
	l := &listener{Balancer: b.ARN, Attributes: map[string]string{}, Tags: r.form.pairs("Tags")}
	if err := checkTags(l.Tags); err != nil {
		return nil, err
	}
	if err := readListener(r, l, b); err != nil {
		return nil, err
	}
	for _, old := range r.state.listenersOf(b.ARN) {
		if old.Port != l.Port {
			continue
		}
		if old.Protocol != l.Protocol || old.Policy != l.Policy || !slices.Equal(old.Action.TargetGroups, l.Action.TargetGroups) ||
			fmt.Sprint(firstOf(old.Certificates)) != fmt.Sprint(firstOf(l.Certificates)) {
			return nil, refuse("DuplicateListener", "A listener already exists on this port for this load balancer '%s'", b.ARN)
		}
		return listeners([]*listener{old}), nil
	}
	if n := r.cloud.options.Limits.ListenersPerLoadBalancer; len(r.state.listenersOf(b.ARN)) >= n {
		return nil, refuse("TooManyListeners", "at most %d listeners per load balancer", n)
	}
	l.ARN = strings.Replace(b.ARN, ":loadbalancer/", ":listener/", 1) + "/" + r.state.hex16()
	r.state.Listeners[l.ARN] = l
	return listeners([]*listener{l}), nil
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// readListener reads what a request says of a listener, and checks the whole.
func readListener(r *request, l *listener, b *loadBalancer) error {
	f := r.form
	if f.has("Port") {
		l.Port = f.number("Port")
	}
	if f.has("Protocol") {
		l.Protocol = f.get("Protocol")
	}
	if list := f.elements("DefaultActions"); len(list) > 0 {
		var err error
		if l.Action, err = readAction(list); err != nil {
			return err
		}
	}
	if err := readTLS(r, l); err != nil {
		return err
	}
	allowed := []string{"TCP", "TLS", "UDP", "TCP_UDP"}
	if b.Type == "application" {
		allowed = []string{"HTTP", "HTTPS"}
	}
	switch {
	case l.Port < 1 || l.Port > 65535:
		return refuse("ValidationError", "Port '%d' is not valid", l.Port)
	case !slices.Contains(allowed, l.Protocol):
		return refuse("UnsupportedProtocol", "Protocol '%s' is not supported by this load balancer", l.Protocol)
	}
	return checkAction(r, l.Action, l.Protocol, b)
}

// readTLS reads certificates, policy and ALPN.
func readTLS(r *request, l *listener) error {
	f := r.form
	if l.Protocol != "TLS" && l.Protocol != "HTTPS" {
		l.Policy, l.ALPN, l.Certificates = "", "", nil
		if len(f.list("AlpnPolicy")) > 0 {
			return refuse("ALPNPolicyNotSupported", "ALPN needs a TLS listener")
		}
		return nil
	}
	if list := f.list("AlpnPolicy"); len(list) > 0 {
		l.ALPN = list[0]
	}
	if list := f.elements("Certificates"); len(list) > 0 {
		l.Certificates = append([]string{list[0].get("CertificateArn")}, dropFirst(l.Certificates)...)
	}
	l.Policy = orElse(f.get("SslPolicy"), orElse(l.Policy, policies()[0]))
	switch {
	case len(f.elements("Certificates")) > 1:
		return refuse("TooManyCertificates", "a listener has one default certificate")
	case len(l.Certificates) == 0:
		return refuse("ValidationError", "A certificate must be specified for %s listeners", l.Protocol)
	case !slices.Contains(policies(), l.Policy):
		return refuse("SSLPolicyNotFound", "SSL policy '%s' not found", l.Policy)
	}
	for _, arn := range l.Certificates {
		if err := r.usable(arn); err != nil {
			return err
		}
	}
	return nil
}

func dropFirst(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list[1:]
}

func (r *request) usable(arn string) error {
	if c := r.state.Certificates[arn]; c == nil || c.Status != "ISSUED" {
		return refuse("CertificateNotFound", "Certificate '%s' not found", arn)
	}
	return nil
}

type listenerXML struct {
	ListenerArn, LoadBalancerArn string
	Port                         int
	Protocol                     string
	SslPolicy                    string           `xml:",omitempty"`
	AlpnPolicy                   []string         `xml:"AlpnPolicy>member"`
	Certificates                 []certificateXML `xml:"Certificates>member"`
	DefaultActions               []actionXML      `xml:"DefaultActions>member"`
}

type certificateXML struct {
	CertificateArn string
	IsDefault      *bool
}

type listenerList struct {
	Listeners []listenerXML `xml:"Listeners>member"`
}

func listeners(list []*listener) listenerList {
	var out listenerList
	for _, l := range list {
		x := listenerXML{ListenerArn: l.ARN, LoadBalancerArn: l.Balancer, Port: l.Port, Protocol: l.Protocol, SslPolicy: l.Policy}
		if l.ALPN != "" {
			x.AlpnPolicy = []string{l.ALPN}
		}
		if len(l.Certificates) > 0 {
			x.Certificates = []certificateXML{{CertificateArn: l.Certificates[0]}}
		}
		x.DefaultActions = []actionXML{actionOf(l.Action)}
		out.Listeners = append(out.Listeners, x)
	}
	return out
}

func describeListeners(r *request) (any, error) {
	if arns := r.form.list("ListenerArns"); len(arns) > 0 {
		var list []*listener
		for _, arn := range arns {
			l := r.state.Listeners[arn]
			if l == nil {
				return nil, refuse("ListenerNotFound", "Listener '%s' not found", arn)
			}
			list = append(list, l)
		}
		return listeners(list), nil
	}
	b, err := r.balancer()
	if err != nil {
		return nil, err
	}
	return listeners(r.state.listenersOf(b.ARN)), nil
}

func (r *request) listener() (*listener, error) {
	l := r.state.Listeners[r.form.get("ListenerArn")]
	if l == nil {
		return nil, refuse("ListenerNotFound", "Listener '%s' not found", r.form.get("ListenerArn"))
	}
	return l, nil
}

func modifyListener(r *request) (any, error) {
	l, err := r.listener()
	if err != nil {
		return nil, err
	}
	changed := *l
	if err := readListener(r, &changed, r.state.Balancers[l.Balancer]); err != nil {
		return nil, err
	}
	for _, arn := range l.Action.TargetGroups {
		if !slices.Contains(changed.Action.TargetGroups, arn) {
			r.release([]string{arn})
		}
	}
	*l = changed
	return listeners([]*listener{l}), nil
}

func deleteListener(r *request) (any, error) {
	l, err := r.listener()
	if err != nil {
		return nil, err
	}
	r.removeListener(l)
	return nil, nil
}

// removeListener removes a listener with its rules.
func (r *request) removeListener(l *listener) {
	for _, ru := range r.state.rulesOf(l.ARN) {
		r.release(ru.Action.TargetGroups)
		delete(r.state.Rules, ru.ARN)
	}
	r.release(l.Action.TargetGroups)
	delete(r.state.Listeners, l.ARN)
}

func addCertificates(r *request) (any, error) {
	l, err := r.listener()
	if err != nil {
		return nil, err
	}
	if l.Protocol != "TLS" && l.Protocol != "HTTPS" {
		return nil, refuse("UnsupportedProtocol", "a %s listener has no certificates", l.Protocol)
	}
	list := slices.Clone(l.Certificates)
	for _, e := range r.form.elements("Certificates") {
		arn := e.get("CertificateArn")
		if err := r.usable(arn); err != nil {
			return nil, err
		}
		if !slices.Contains(list, arn) {
			list = append(list, arn)
		}
	}
	if n := r.cloud.options.Limits.CertificatesPerLoadBalancer; len(list) > n {
		return nil, refuse("TooManyCertificates", "at most %d certificates", n)
	}
	l.Certificates = list
	return describeCertificates(r)
}

func removeCertificates(r *request) (any, error) {
	l, err := r.listener()
	if err != nil {
		return nil, err
	}
	for _, e := range r.form.elements("Certificates") {
		i := slices.Index(l.Certificates, e.get("CertificateArn"))
		if i == 0 {
			return nil, refuse("OperationNotPermitted", "The default certificate cannot be removed")
		}
		if i > 0 {
			l.Certificates = slices.Delete(slices.Clone(l.Certificates), i, i+1)
		}
	}
	return nil, nil
}

func describeCertificates(r *request) (any, error) {
	l, err := r.listener()
	if err != nil {
		return nil, err
	}
	var out struct {
		Certificates []certificateXML `xml:"Certificates>member"`
	}
	for i, arn := range l.Certificates {
		first := i == 0
		out.Certificates = append(out.Certificates, certificateXML{arn, &first})
	}
	return out, nil
}
