package policy

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
)

// Report is what one router says about a policy.
type Report struct {
	Key        model.Object
	UID        string
	Generation int64
	// Targets counts the objects of this router that the policy is for.
	Targets int
	// Conditions have no times yet. None means that the policy is not for this router.
	Conditions []metav1.Condition
	// Findings are what the policy agent found out, and paths of limits that no object has; each is
	// worth an event.
	Findings []api.Finding
	// reach is what the findings about such paths are made of, so that two reports can be one.
	reach reach
	// Pending reports are soon followed by others.
	Pending bool
	// States say what became of each group, for metrics; the object's status says it in its
	// conditions.
	States map[Group]State
}

// With returns what two reports about a policy say together, each about other objects.
func (r Report) With(o Report) Report {
	if r.Targets == 0 {
		return o
	}
	r.Pending, r.Conditions = r.Pending || o.Pending, slices.Clone(r.Conditions)
	r.Targets += o.Targets
	r.reach = r.reach.with(&o.reach)
	ofAgent := slices.DeleteFunc(slices.Concat(r.Findings, o.Findings), func(f api.Finding) bool { return f.Reason == api.ReasonPolicyNotApplicable })
	r.Findings = slices.Concat(ofAgent, r.reach.findings())
	for i := range r.Conditions {
		c := &r.Conditions[i]
		at := slices.IndexFunc(o.Conditions, func(other metav1.Condition) bool { return other.Type == c.Type })
		switch {
		case at < 0:
		case c.Type == api.ConditionAccepted && c.Status == metav1.ConditionTrue && o.Conditions[at].Status == metav1.ConditionTrue:
			c.Message = fmt.Sprintf("applies to %d objects", r.Targets)
		case (c.Status == metav1.ConditionTrue) != (c.Type == api.ConditionOverridden): // nothing is wrong here
			*c = o.Conditions[at]
		}
	}
	return r
}

// State is what became of a group of a policy, at the worst of its objects.
type State string

// The states, each worse than the one before.
const (
	StateEnforced   State = "enforced"
	StateOverridden State = "overridden"
	StateConflicted State = "conflicted"
	StateClosed     State = "closed"
)

var states = []State{StateEnforced, StateOverridden, StateConflicted, StateClosed}

// Equal reports whether two reports say the same.
func (r *Report) Equal(o *Report) bool {
	return r.Key == o.Key && r.UID == o.UID && r.Generation == o.Generation && r.Targets == o.Targets && slices.Equal(r.Conditions, o.Conditions) && slices.Equal(r.Findings, o.Findings)
}

// Tally gathers what became of a policy, object by object.
type Tally struct {
	policy  *Object
	exceeds bool
	// elsewhere is true if the policy is for other routers.
	elsewhere bool

	targets, pending, refused, undecided, closed, lost, conflicts int
	firstClosed, firstConflict                                    string
	// notAllowed and unresolved are the first closings of the policy with such reasons.
	notAllowed, unresolved *cause
	// troubles are what the agent cannot read for the policy, and unusable is why it cannot
	// decide by it.
	troubles []snapshot.Trouble
	unusable string
	lostTo   []string
	states   map[Group]State
	reach    reach
}

// worsen notes what became of a group for one more object.
func (t *Tally) worsen(g Group, s State) {
	if t.states == nil {
		t.states = map[Group]State{}
	}
	if slices.Index(states, s) >= slices.Index(states, t.states[g]) {
		t.states[g] = s
	}
}

// closedBy notes that the policy's groups that protect close the paths of an object.
func (t *Tally) closedBy() {
	for _, g := range t.policy.Groups() {
		if g.Protects() {
			t.worsen(g, StateClosed)
		}
	}
}

// cause is why a policy closes the paths of an object.
type cause struct {
	reason api.Reason
	text   string
}

// NewTally begins with a policy that is in a set, for a router.
func NewTally(o *Object, in *Set, router string) *Tally {
	t := &Tally{policy: o, exceeds: in.Exceeds(o)}
	if c := o.cluster; c != nil && len(c.controllers) > 0 {
		t.elsewhere = !slices.Contains(c.controllers, router)
	}
	return t
}

// Policy returns the version that is reported of.
func (t *Tally) Policy() *Object { return t.policy }

// Concerns reports whether the policy is for an object.
func (t *Tally) Concerns(p *Place) bool {
	_, applies := t.policy.RankFor(p)
	return applies
}

// Wait counts an object that is not taken in yet.
func (t *Tally) Wait() { t.pending++ }

// Waiting reports whether an object was counted by Wait.
func (t *Tally) Waiting() bool { return t.pending > 0 }

// Fate is what became of an object.
type Fate struct {
	// Refused is true if HAProxy did not take the object as it is.
	Refused bool
	// Barred is true if its paths are closed.
	Barred bool
	// Undecided is true if the policy agent does not decide by it yet, and Unusable is why it
	// never will by what authenticates clients here.
	Undecided bool
	Unusable  string
	// Troubles are what the agent cannot read for it.
	Troubles []snapshot.Trouble
}

// Add takes in what holds for an object that the policy is for; nil if that is not
// known, because the object itself is refused.
func (t *Tally) Add(o model.Object, e *Effective, f Fate) {
	t.targets++
	t.reach.add(t.policy.Key, e)
	if f.Refused {
		t.refused++
	}
	if e == nil {
		if f.Barred && t.policy.Protects() {
			t.closed++
			t.closedBy()
			least(&t.firstClosed, Title(o)+" cannot be served as it is")
		}
		return
	}
	t.addOrigins(Title(o), e, f)
	if e.Closed() && t.policy.Protects() {
		t.closed++
		t.closedBy()
		c := e.Closings[0]
		least(&t.firstClosed, fmt.Sprintf("%s: %s: %s", Title(o), strings.TrimSpace(Title(c.Key)+" "+c.Field), c.Message))
	}
	t.addClosings(e)
	for _, l := range e.Losses {
		if l.Source.Key != t.policy.Key {
			continue
		}
		text := fmt.Sprintf("%s by %s for %s", l.Group, l.Winner.Title(), Title(o))
		if l.Conflict {
			t.conflicts++
			t.worsen(l.Group, StateConflicted)
			least(&t.firstConflict, text)
			continue
		}
		t.lost++
		t.worsen(l.Group, StateOverridden)
		i, _ := slices.BinarySearch(t.lostTo, text)
		if t.lostTo = slices.Insert(t.lostTo, i, text); len(t.lostTo) > maxExamples {
			t.lostTo = t.lostTo[:maxExamples]
		}
	}
}

// addOrigins counts an object that HAProxy or the agent does not serve by the policy of
// now.
func (t *Tally) addOrigins(title string, e *Effective, f Fate) {
	for _, origin := range e.Origins {
		if origin.Source.Key != t.policy.Key {
			continue
		}
		t.worsen(origin.Group, StateEnforced)
		if origin.Group == GroupAuthentication && origin.Source.Generation == t.policy.Generation {
			t.addAgent(title, &f)
		}
		if f.Undecided && (origin.Group == GroupAuthentication || origin.Group == GroupAuthorization || origin.Group == GroupMirror) {
			t.undecided++
			f.Undecided = false
		}
		if origin.Source.Generation != t.policy.Generation {
			t.pending++
			return
		}
	}
}

// addClosings notes what of the policy itself closes the paths of an object, or is not
// allowed.
func (t *Tally) addClosings(e *Effective) {
	for _, c := range slices.Concat(e.Closings, e.Unapplied) {
		if c.Key != t.policy.Key {
			continue
		}
		switch c.Reason {
		case api.ReasonNotAllowed:
			first(&t.notAllowed, c)
		case api.ReasonRefNotPermitted:
			first(&t.notAllowed, c)
			first(&t.unresolved, c)
		case api.ReasonSecretNotFound, api.ReasonSecretInvalid, api.ReasonServiceNotFound, api.ReasonTargetForbidden:
			first(&t.unresolved, c)
		default:
		}
	}
}

// maxExamples bounds what a condition lists.
const maxExamples = 3

// least keeps the smaller of two texts, because objects come in no order, and a
// condition that changes without need is written again and again.
func least(text *string, other string) {
	if *text == "" || other < *text {
		*text = other
	}
}

// first keeps the closing with the smaller text.
func first(kept **cause, c Closing) {
	if text := c.Field + ": " + c.Message; *kept == nil || text < (*kept).text {
		*kept = &cause{c.Reason, text}
	}
}

// Report sums up. Missing says which objects do not exist that the policy names.
func (t *Tally) Report(missing []string) Report {
	o := t.policy
	r := Report{Key: o.Key, UID: o.UID, Generation: o.Generation, Targets: t.targets, Pending: t.pending > 0, States: t.states}
	if t.elsewhere {
		return r
	}
	r.reach = t.reach
	r.reach.unknown = r.reach.unknown || t.pending > 0
	r.Findings = append(t.findings(), r.reach.findings()...)
	r.Conditions = []metav1.Condition{t.accepted(missing), t.programmed(), t.overridden()}
	if o.Spec.Authentication != nil || len(UpstreamSecrets(o.Spec.Upstream)) > 0 {
		r.Conditions = append(r.Conditions, t.resolved())
	}
	if o.Protects() {
		r.Conditions = append(r.Conditions, t.protecting())
	}
	return r
}

func condition(kind string, status bool, reason api.Reason, format string, args ...any) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: string(reason), Message: fmt.Sprintf(format, args...)}
	if status {
		c.Status = metav1.ConditionTrue
	}
	return c
}

func (t *Tally) accepted(missing []string) metav1.Condition {
	invalid := t.policy.invalid()
	slices.Sort(missing)
	switch {
	case t.exceeds:
		return condition(api.ConditionAccepted, false, api.ReasonLimitExceeded, "only the oldest %d policies are applied; remove some that are older", maxPolicies)
	case invalid != "":
		return condition(api.ConditionAccepted, false, api.ReasonPolicyInvalid, "%s", invalid)
	case t.notAllowed != nil:
		return condition(api.ConditionAccepted, false, t.notAllowed.reason, "%s", t.notAllowed.text)
	case t.conflicts > 0:
		return condition(api.ConditionAccepted, false, api.ReasonPolicyConflicted, "an older policy of equal rank sets %s (%d in all)", t.firstConflict, t.conflicts)
	case len(missing) > 0 && t.targets == 0:
		return condition(api.ConditionAccepted, false, api.ReasonTargetNotFound, "%s", strings.Join(missing, ", "))
	case len(missing) > 0:
		return condition(api.ConditionAccepted, true, api.ReasonPolicyAccepted, "applies to %s; %s", t.count(), strings.Join(missing, ", "))
	}
	return condition(api.ConditionAccepted, true, api.ReasonPolicyAccepted, "applies to %s", t.count())
}

func (t *Tally) count() string {
	if t.targets == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", t.targets)
}

func (t *Tally) programmed() metav1.Condition {
	switch {
	case t.pending > 0:
		return condition(api.ConditionProgrammed, false, api.ReasonPolicyPending, "some objects are not brought to HAProxy yet")
	case t.refused > 0:
		return condition(api.ConditionProgrammed, false, api.ReasonRefusedByHAProxy, "HAProxy refused %d objects as they are", t.refused)
	}
	if t.unusable != "" {
		return condition(api.ConditionProgrammed, false, api.ReasonAgentUnavailable, "the policy agent cannot use the policy: %s; its paths answer 503 until the policy is changed", t.unusable)
	}
	if t.undecided > 0 {
		return condition(api.ConditionProgrammed, false, api.ReasonAgentUnavailable, "the policy agent does not decide by it yet for %d objects, whose paths answer 503 until it does", t.undecided)
	}
	return condition(api.ConditionProgrammed, true, api.ReasonPolicyProgrammed, "HAProxy has what the policy says")
}

// resolved says whether what the policy names can be used.
func (t *Tally) resolved() metav1.Condition {
	if u := t.unresolved; u != nil {
		return condition(api.ConditionResolvedRefs, false, u.reason, "%s", u.text)
	}
	if f, count := unread(t.findings()); count > 0 {
		text := f.Text()
		if count > 1 {
			text = fmt.Sprintf("%s. There are %d more", text, count-1)
		}
		return condition(api.ConditionResolvedRefs, false, f.Reason, "%s", text)
	}
	return condition(api.ConditionResolvedRefs, true, api.ReasonResolvedRefs, "what the policy names can be used")
}

func (t *Tally) overridden() metav1.Condition {
	if t.lost == 0 {
		return condition(api.ConditionOverridden, false, api.ReasonNotOverridden, "each group is in force")
	}
	text := strings.Join(t.lostTo, "; ")
	if more := t.lost - len(t.lostTo); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return condition(api.ConditionOverridden, true, api.ReasonOverridden, "%s", text)
}

func (t *Tally) protecting() metav1.Condition {
	switch {
	case t.closed > 0:
		return condition(api.ConditionProtecting, false, api.ReasonClosedPaths, "paths of %d objects answer 503: %s", t.closed, t.firstClosed)
	case t.pending > 0:
		return condition(api.ConditionProtecting, false, api.ReasonPolicyPending, "some objects are not brought to HAProxy yet")
	case t.targets == 0:
		return condition(api.ConditionProtecting, false, api.ReasonTargetNotFound, "the policy is for no object of this router")
	}
	return condition(api.ConditionProtecting, true, api.ReasonPolicyProtecting, "paths are guarded as the policy says")
}

// invalid says what of the policy cannot be read, or is empty.
func (o *Object) invalid() string {
	if o.cluster != nil && o.cluster.badLabels != "" {
		return "spec.namespaceSelector: " + o.cluster.badLabels + "; the policy is for all namespaces"
	}
	if o.Access == nil {
		return ""
	}
	for _, list := range []struct {
		field string
		bad   []string
	}{{"allow", o.Access.BadAllow}, {"deny", o.Access.BadDeny}} {
		if len(list.bad) > 0 {
			return fmt.Sprintf("spec.access.%s: %q is not an IP address or CIDR", list.field, list.bad[0])
		}
	}
	return ""
}

// Same reports whether two results say the same about all policies.
func (e *Effective) Same(o *Effective) bool {
	if e == nil || o == nil {
		return e == o
	}
	return slices.Equal(e.Origins, o.Origins) && slices.Equal(e.Losses, o.Losses) && slices.Equal(e.Closings, o.Closings) && slices.Equal(e.Unapplied, o.Unapplied) && slices.Equal(e.Outside, o.Outside)
}
