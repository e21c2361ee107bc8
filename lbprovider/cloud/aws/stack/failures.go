package stack

import (
	"fmt"
	"slices"
	"strconv"
)

// Failures are what failed while a plan is carried out, and so which of its
// further actions must not be: nothing leads to where nothing lets it in, and
// nothing serves without what protects it. A failure of one port does not stop
// the others. The zero value has none.
type Failures struct {
	// subjects are what failed: target groups, ports ("443") and the subjects below.
	subjects map[string]bool
	// closed are the rules of the nodes that could not be opened.
	closed []Rule
	// unclosed says that some could not be closed.
	unclosed bool
}

// What other actions depend on, by kind and not by name.
const (
	subjectFrontend    = "rules " // and no group
	subjectGroups      = "security groups"
	subjectAddressType = "address type"
	subjectACL         = "web ACL"
)

// Prevent reports whether an action must not be carried out. It then counts as
// failed, so that what depends on it is left out as well.
func (f *Failures) Prevent(a Action, have State) bool {
	name := subject(a)
	if !f.subjects[name] && !f.holds(a, have) {
		return false
	}
	if name != "" {
		f.fail(name)
	}
	return true
}

// Add notes that an action failed. It reports whether the actions behind it can
// be tried. Full says that it failed because there is no room.
func (f *Failures) Add(a Action, full bool) bool {
	name := subject(a)
	if name == "" {
		return false
	}
	if _, register := a.(Register); register && full {
		return true // there is room once the superfluous ones are gone
	}
	if c, ok := a.(ChangeRules); ok {
		f.unclosed = f.unclosed || len(c.Revoke) > 0
		if c.Group != "" {
			f.closed = append(f.closed, c.Authorize...)
		}
	}
	f.fail(name)
	return true
}

func (f *Failures) fail(subject string) {
	if f.subjects == nil {
		f.subjects = map[string]bool{}
	}
	f.subjects[subject] = true
}

// holds reports whether an action depends on another kind of action that failed.
func (f *Failures) holds(a Action, have State) bool {
	switch a := a.(type) {
	case SetSecurityGroups:
		return len(f.closed) > 0 || a.Frontend && f.subjects[subjectFrontend]
	case ModifyTargetGroup:
		n, err := strconv.ParseUint(a.Check.Port, 10, 16)
		return err == nil && f.isClosed(int32(n))
	case Register:
		return slices.ContainsFunc(a.Targets, func(t Target) bool { return f.isClosed(t.Port) })
	case CreateListener:
		return f.subjects[subjectACL] || f.subjects[subjectFrontend] || f.leadsNowhere(a.Listener)
	case ModifyListener:
		l, found := have.Listener(a.Listener.Port)
		other := !found || l.Protocol != a.Listener.Protocol
		return other && f.subjects[subjectFrontend] || (other || l.Group != a.Listener.Group) && f.leadsNowhere(a.Listener)
	case DeleteBalancer:
		return f.unclosed // without it, it is not known which rules there are
	}
	return false
}

// leadsNowhere reports whether a listener cannot lead to its target group.
func (f *Failures) leadsNowhere(l Listener) bool {
	return len(f.closed) > 0 || f.subjects[subjectGroups] || f.subjects[subjectAddressType] || f.subjects[l.Group]
}

// isClosed reports whether a port of the nodes could not be opened.
func (f *Failures) isClosed(port int32) bool {
	return slices.ContainsFunc(f.closed, func(r Rule) bool { return port >= r.From && port <= r.To })
}

// subject returns the target group or port that an action is about; empty for
// actions that all others depend on.
func subject(a Action) string {
	port := func(n int32) string { return fmt.Sprint(n) }
	switch a := a.(type) {
	case CreateTargetGroup:
		return a.Group.Name
	case ModifyTargetGroup:
		return a.Name
	case SetGroupAttributes:
		return a.Name
	case DeleteTargetGroup:
		return a.Name
	case Register:
		return a.Name
	case Deregister:
		return a.Name
	case CreateListener:
		return a.Listener.Group + port(a.Listener.Port)
	case ModifyListener:
		return a.Listener.Group + port(a.Listener.Port)
	case ChangeCertificates:
		return port(a.Port)
	case SetListenerAttributes:
		return port(a.Port)
	case DeleteListener:
		return port(a.Port)
	case ChangeRules:
		return subjectFrontend + a.Group
	case SetSecurityGroups:
		return subjectGroups
	case SetAddressType:
		return subjectAddressType
	case SetACL:
		return subjectACL
	case SetBalancerAttributes, SetSubnets:
		return fmt.Sprint(a)
	case Tag:
		return a.Resource.Group
	}
	return ""
}
