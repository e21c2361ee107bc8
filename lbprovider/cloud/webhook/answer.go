package webhook

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// What an answer says is published: as an address, in conditions and events, in
// annotations. So it is checked before any of it is used. An impossible value
// makes the whole answer a failure; texts are made printable.

// Bounds of answers.
const (
	maxIngress  = 64
	maxList     = 20000
	maxHandle   = 1000
	maxRefName  = 253
	longestWait = maxRetryAfter
)

// reason is the form of a condition's reason.
var reason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]{0,126}[A-Za-z0-9_])?$`)

// id is the form of a cloud's ids.
var id = regexp.MustCompile(`^[[:graph:]]*$`)

// checker collects what is wrong with an answer.
type checker struct{ wrong []string }

func (c *checker) refuse(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// reason checks a word that becomes the reason of a condition or an event.
func (c *checker) reason(field, value string) {
	if value != "" && !reason.MatchString(value) {
		c.refuse("%s %q is not one word of letters and digits", field, printable(value))
	}
}

// id checks an id that we send back to the program, and show to users.
func (c *checker) id(field, value string) {
	if len(value) > maxHandle || !id.MatchString(value) {
		c.refuse("%s %q is longer than %d characters or has others than printable ASCII", field, printable(value), maxHandle)
	}
}

// printable is what is shown of a text of the webhook.
func printable(text string) string { return terminal.Excerpt(text, hook.MaxText) }

// check checks the answer of a method, and makes its texts printable.
func check(out any) error {
	c := &checker{}
	switch out := out.(type) {
	case *hook.Result:
		c.result(out)
	case *hook.TargetResult:
		c.targets(out.Targets)
		out.Problems = c.problems(out.Problems)
		out.RetryAfter = wait(out.RetryAfter)
	case *hook.DeleteResult:
		out.Waiting, out.Left, out.RetryAfter = printable(out.Waiting), printable(out.Left), wait(out.RetryAfter)
	case *hook.RecordResult:
		out.Message, out.RetryAfter = printable(out.Message), wait(out.RetryAfter)
		c.id("handle", out.Handle)
	case *hook.Zone:
		c.id("id", out.ID)
		if name := strings.TrimSuffix(out.Name, "."); name != "" && len(validation.IsDNS1123Subdomain(strings.ToLower(strings.ReplaceAll(name, "_", "-")))) > 0 {
			c.refuse("name %q is not that of a zone", printable(out.Name))
		}
	case *Owned:
		c.refs(out.Refs)
	case *Problems:
		for i := range out.Problems[:min(len(out.Problems), maxIngress)] {
			p := &out.Problems[i]
			p.Field, p.Value, p.Message = printable(p.Field), printable(p.Value), printable(p.Message)
		}
		out.Problems = out.Problems[:min(len(out.Problems), maxIngress)]
	case *hook.Capabilities:
		for i := range out.Versions {
			out.Versions[i] = printable(out.Versions[i])
		}
	}
	if len(c.wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(c.wrong[:min(len(c.wrong), 3)], "; "))
	}
	return nil
}

func (c *checker) result(r *hook.Result) {
	switch r.State {
	case hook.StateReady, hook.StatePending, hook.StateDegraded, "":
	default:
		c.refuse("unknown state %q; use Ready, Pending or Degraded", printable(string(r.State)))
	}
	if len(r.Ingress) > maxIngress || len(r.Plan) > maxList {
		c.refuse("%d addresses, and %d calls planned, are too many", len(r.Ingress), len(r.Plan))
		return
	}
	for i, in := range r.Ingress {
		c.ingress(i, in)
	}
	c.reason("reason", r.Reason)
	c.id("handle", r.Handle)
	c.id("hostedZone", r.HostedZone)
	c.targets(r.Targets)
	r.Problems = c.problems(r.Problems)
	r.Message, r.RetryAfter = printable(r.Message), wait(r.RetryAfter)
	for i := range r.Plan {
		r.Plan[i] = printable(r.Plan[i])
	}
}

// ingress checks an address that is to be published.
func (c *checker) ingress(i int, in hook.Ingress) {
	if in.Hostname == "" && in.IP == "" {
		c.refuse("ingress[%d] has neither hostname nor ip", i)
	}
	if in.Hostname != "" && (len(validation.IsDNS1123Subdomain(in.Hostname)) > 0 || address(in.Hostname)) {
		c.refuse("ingress[%d].hostname %q is not a DNS name: labels of lower-case letters, digits and hyphens, with dots between", i, printable(in.Hostname))
	}
	if in.IP == "" {
		return
	}
	switch a, err := netip.ParseAddr(in.IP); {
	case err != nil || a.Zone() != "":
		c.refuse("ingress[%d].ip %q is not an address", i, printable(in.IP))
	case !Publishable(a):
		c.refuse("ingress[%d].ip %s cannot be that of a load balancer", i, a)
	}
}

// address reports whether a host name would be taken for an IPv4 address.
func address(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return strings.Trim(last, "0123456789") == ""
}

// Publishable reports whether an address may be that of a load balancer: not
// one of the machine itself, of its link, of a group, nor where a cloud's
// metadata service answers.
func Publishable(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.IsLinkLocalUnicast() {
		return false
	}
	if nat64 := netip.MustParsePrefix("64:ff9b::/96"); nat64.Contains(a) {
		b := a.As16()
		return Publishable(netip.AddrFrom4([4]byte(b[12:])))
	}
	for _, p := range []string{"0.0.0.0/8", "100.100.100.200/32", "192.0.0.192/32", "255.255.255.255/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128"} {
		if netip.MustParsePrefix(p).Contains(a) {
			return false
		}
	}
	return true
}

func (c *checker) targets(list []hook.TargetHealth) {
	if len(list) > maxList {
		c.refuse("%d targets are too many", len(list))
		return
	}
	for i := range list {
		t := &list[i]
		switch t.State {
		case hook.HealthInitial, hook.HealthHealthy, hook.HealthUnhealthy, hook.HealthDraining, hook.HealthUnknown:
		default:
			t.State = hook.HealthUnknown // it is the label of a metric
		}
		t.ID, t.Reason = printable(t.ID), printable(t.Reason)
	}
}

// problems keeps the first ones: each becomes an event.
func (c *checker) problems(list []hook.Problem) []hook.Problem {
	list = list[:min(len(list), maxIngress)]
	for i := range list {
		p := &list[i]
		if p.Reason == "" {
			c.refuse("problems[%d] has no reason", i)
		}
		c.reason(fmt.Sprintf("problems[%d].reason", i), p.Reason)
		p.Field, p.Message = printable(p.Field), printable(p.Message)
	}
	return list
}

func (c *checker) refs(list []hook.Ref) {
	if len(list) > maxList {
		c.refuse("%d load balancers are too many", len(list))
		return
	}
	for i, r := range list {
		c.id(fmt.Sprintf("refs[%d].handle", i), r.Handle)
		for _, v := range []string{r.Cluster, r.Namespace, r.Name, r.UID} {
			if len(v) > maxRefName || !id.MatchString(v) {
				c.refuse("refs[%d] has %q, which is no name", i, printable(v))
			}
		}
	}
}

// wait limits a pause that an answer asks for.
func wait(d hook.Duration) hook.Duration {
	return hook.Duration(min(max(d.Std(), 0), longestWait))
}

// pause is how long to wait after an answer that is not finished: as its body
// says, else as its header does.
func (a answer) pause(body hook.Duration) hook.Duration {
	switch {
	case body > 0:
		return body
	case a.retryAfter > 0:
		return hook.Duration(a.retryAfter)
	}
	return hook.Duration(5 * time.Second)
}
