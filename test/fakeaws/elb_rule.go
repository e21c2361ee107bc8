package fakeaws

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// maxPriority is the last priority of a rule; the default rule comes behind.
const maxPriority = 50000

// maxConditionValues is how many values the conditions of a rule have together.
const maxConditionValues = 5

// rulesOf returns the rules of a listener by priority, without the default one.
func (s *state) rulesOf(listener string) []*listenerRule {
	var list []*listenerRule
	for _, ru := range s.Rules {
		if ru.Listener == listener {
			list = append(list, ru)
		}
	}
	slices.SortFunc(list, func(a, b *listenerRule) int { return cmp.Compare(a.Priority, b.Priority) })
	return list
}

// defaultRule returns the rule that a listener's own action is.
func defaultRule(l *listener) *listenerRule {
	return &listenerRule{ARN: ruleARN(l, "0000000000000000"), Listener: l.ARN, Action: l.Action}
}

func ruleARN(l *listener, id string) string {
	return strings.Replace(l.ARN, ":listener/", ":listener-rule/", 1) + "/" + id
}

func createRule(r *request) (any, error) {
	l, err := r.listener()
	if err != nil {
		return nil, err
	}
	b := r.state.Balancers[l.Balancer]
	if b.Type != "application" {
		return nil, refuse("UnsupportedProtocol", "Rules are unsupported for %s listeners", l.Protocol)
	}
	ru := &listenerRule{Listener: l.ARN, Priority: r.form.number("Priority"), Tags: r.form.pairs("Tags")}
	if err := checkTags(ru.Tags); err != nil {
		return nil, err
	}
	if err := checkPriority(ru.Priority); err != nil {
		return nil, err
	}
	if err := readRule(r, ru, l, b); err != nil {
		return nil, err
	}
	all := 0
	for _, other := range r.state.listenersOf(b.ARN) {
		for _, old := range r.state.rulesOf(other.ARN) {
			all++
			if other == l && old.Priority == ru.Priority {
				return nil, refuse("PriorityInUse", "Priority '%d' is currently in use", ru.Priority)
			}
		}
	}
	if n := r.cloud.options.Limits.RulesPerLoadBalancer; all >= n {
		return nil, refuse("TooManyRules", "at most %d rules per load balancer", max(n, 0))
	}
	ru.ARN = ruleARN(l, r.state.hex16())
	r.state.Rules[ru.ARN] = ru
	return ruleAnswer([]*listenerRule{ru}, ""), nil
}

func checkPriority(n int) error {
	if n < 1 || n > maxPriority {
		return refuse("ValidationError", "Priority '%d' must be 1-%d", n, maxPriority)
	}
	return nil
}

// readRule reads what a request says of a rule, and checks the whole.
func readRule(r *request, ru *listenerRule, l *listener, b *loadBalancer) error {
	if list := r.form.elements("Conditions"); len(list) > 0 {
		ru.Conditions = nil
		for _, e := range list {
			c, err := readCondition(e)
			if err != nil {
				return err
			}
			ru.Conditions = append(ru.Conditions, c)
		}
	}
	if list := r.form.elements("Actions"); len(list) > 0 {
		var err error
		if ru.Action, err = readAction(list); err != nil {
			return err
		}
	}
	values, seen := 0, map[string]bool{}
	for _, c := range ru.Conditions {
		values += len(c.Values)
		if seen[c.Field] && c.Field != "http-header" && c.Field != "query-string" {
			return refuse("InvalidConfigurationRequest", "A rule can only have one '%s' condition", c.Field)
		}
		seen[c.Field] = true
	}
	switch {
	case len(ru.Conditions) == 0:
		return refuse("ValidationError", "A rule must have at least one condition")
	case values > maxConditionValues:
		return refuse("ValidationError", "A rule can only have '%d' condition values", maxConditionValues)
	}
	return checkAction(r, ru.Action, l.Protocol, b)
}

// conditionForms are where the values of a condition stand, by its field.
func conditionForms() map[string]string {
	return map[string]string{
		"host-header": "HostHeaderConfig", "path-pattern": "PathPatternConfig", "http-header": "HttpHeaderConfig",
		"http-request-method": "HttpRequestMethodConfig", "query-string": "QueryStringConfig", "source-ip": "SourceIpConfig",
	}
}

func readCondition(f form) (condition, error) {
	c := condition{Field: f.get("Field"), Values: f.list("Values")}
	where, ok := conditionForms()[c.Field]
	if !ok {
		return c, refuse("ValidationError", "Condition field '%s' must be one of '[path-pattern, host-header, http-header, http-request-method, query-string, source-ip]'", c.Field)
	}
	switch c.Field {
	case "query-string":
		for _, e := range f.elements(where + ".Values") {
			c.Values = append(c.Values, strings.TrimPrefix(e.get("Key")+"="+e.get("Value"), "="))
		}
	default:
		c.Values = append(c.Values, f.list(where+".Values")...)
	}
	c.Header = f.get(where + ".HttpHeaderName")
	switch {
	case len(c.Values) == 0:
		return c, refuse("ValidationError", "A condition value must be specified for '%s'", c.Field)
	case c.Field == "http-header" && c.Header == "":
		return c, refuse("ValidationError", "A header name must be specified")
	}
	for _, v := range c.Values {
		if _, err := netip.ParsePrefix(v); c.Field == "source-ip" && err != nil {
			return c, refuse("ValidationError", "Condition value '%s' must be a valid CIDR", v)
		}
		if len(v) > 128 || v == "" {
			return c, refuse("ValidationError", "Condition value '%s' must be of 1-128 characters", v)
		}
	}
	return c, nil
}

func describeRules(r *request) (any, error) {
	var list []*listenerRule
	switch arns, of := r.form.list("RuleArns"), r.form.get("ListenerArn"); {
	case len(arns) > 0 && of != "":
		return nil, refuse("ValidationError", "Either a listener ARN or rule ARNs must be specified, not both")
	case len(arns) > 0:
		for _, arn := range arns {
			ru, _, err := r.state.findRule(arn)
			if err != nil {
				return nil, err
			}
			list = append(list, ru)
		}
	default:
		l, err := r.listener()
		if err != nil {
			return nil, err
		}
		list = append(r.state.rulesOf(l.ARN), defaultRule(l))
	}
	part, next := page(r, list)
	return ruleAnswer(part, next), nil
}

// findRule returns a rule, and whether it is a listener's default one.
func (s *state) findRule(arn string) (ru *listenerRule, isDefault bool, err error) {
	if ru := s.Rules[arn]; ru != nil {
		return ru, false, nil
	}
	for _, l := range s.Listeners {
		if ru := defaultRule(l); ru.ARN == arn {
			return ru, true, nil
		}
	}
	return nil, false, refuse("RuleNotFound", "One or more rules not found: '%s'", arn)
}

// ownRule returns a rule that can be changed.
func (s *state) ownRule(arn string) (*listenerRule, error) {
	ru, isDefault, err := s.findRule(arn)
	if isDefault {
		return nil, refuse("OperationNotPermitted", "Default rule '%s' cannot be modified or deleted", arn)
	}
	return ru, err
}

func modifyRule(r *request) (any, error) {
	ru, err := r.state.ownRule(r.form.get("RuleArn"))
	if err != nil {
		return nil, err
	}
	changed, l := *ru, r.state.Listeners[ru.Listener]
	if err := readRule(r, &changed, l, r.state.Balancers[l.Balancer]); err != nil {
		return nil, err
	}
	for _, arn := range ru.Action.TargetGroups {
		if !slices.Contains(changed.Action.TargetGroups, arn) {
			r.release([]string{arn})
		}
	}
	*ru = changed
	return ruleAnswer([]*listenerRule{ru}, ""), nil
}

func deleteRule(r *request) (any, error) {
	ru, err := r.state.ownRule(r.form.get("RuleArn"))
	if err != nil {
		return nil, err
	}
	r.release(ru.Action.TargetGroups)
	delete(r.state.Rules, ru.ARN)
	return nil, nil
}

// setRulePriorities changes all or none; rules may swap their priorities.
func setRulePriorities(r *request) (any, error) {
	wanted := map[*listenerRule]int{}
	var list []*listenerRule
	for _, e := range r.form.elements("RulePriorities") {
		ru, err := r.state.ownRule(e.get("RuleArn"))
		if err != nil {
			return nil, err
		}
		if err := checkPriority(e.number("Priority")); err != nil {
			return nil, err
		}
		wanted[ru] = e.number("Priority")
		list = append(list, ru)
	}
	for _, ru := range list {
		for _, other := range r.state.rulesOf(ru.Listener) {
			priority, moved := wanted[other]
			if !moved {
				priority = other.Priority
			}
			if other != ru && priority == wanted[ru] {
				return nil, refuse("PriorityInUse", "Priority '%d' is currently in use", priority)
			}
		}
	}
	for ru, priority := range wanted {
		ru.Priority = priority
	}
	return ruleAnswer(list, ""), nil
}

type ruleXML struct {
	RuleArn, Priority string
	IsDefault         bool
	Conditions        []conditionXML `xml:"Conditions>member"`
	Actions           []actionXML    `xml:"Actions>member"`
}

type matchXML struct {
	HttpHeaderName string   `xml:",omitempty"`
	Values         []string `xml:"Values>member"`
}

type queryXML struct {
	Values []keyValue `xml:"Values>member"`
}

type conditionXML struct {
	Field                   string
	Values                  []string  `xml:"Values>member"`
	HostHeaderConfig        *matchXML `xml:",omitempty"`
	PathPatternConfig       *matchXML `xml:",omitempty"`
	HttpHeaderConfig        *matchXML `xml:",omitempty"`
	HttpRequestMethodConfig *matchXML `xml:",omitempty"`
	SourceIpConfig          *matchXML `xml:",omitempty"`
	QueryStringConfig       *queryXML `xml:",omitempty"`
}

type ruleList struct {
	Rules      []ruleXML `xml:"Rules>member"`
	NextMarker string    `xml:",omitempty"`
}

func ruleAnswer(list []*listenerRule, next string) ruleList {
	out := ruleList{NextMarker: next}
	for _, ru := range list {
		x := ruleXML{RuleArn: ru.ARN, Priority: strconv.Itoa(ru.Priority), Actions: []actionXML{actionOf(ru.Action)}}
		if ru.Priority == 0 {
			x.IsDefault, x.Priority = true, "default"
		}
		for _, c := range ru.Conditions {
			x.Conditions = append(x.Conditions, conditionOf(c))
		}
		out.Rules = append(out.Rules, x)
	}
	return out
}

// conditionOf returns a condition as an answer shows it. Values of hosts and
// paths stand in both forms, as with AWS.
func conditionOf(c condition) conditionXML {
	x, values := conditionXML{Field: c.Field}, &matchXML{c.Header, c.Values}
	switch c.Field {
	case "host-header":
		x.Values, x.HostHeaderConfig = c.Values, values
	case "path-pattern":
		x.Values, x.PathPatternConfig = c.Values, values
	case "http-header":
		x.HttpHeaderConfig = values
	case "http-request-method":
		x.HttpRequestMethodConfig = values
	case "source-ip":
		x.SourceIpConfig = values
	case "query-string":
		x.QueryStringConfig = &queryXML{}
		for _, v := range c.Values {
			key, value, ok := strings.Cut(v, "=")
			if !ok {
				key, value = "", v
			}
			x.QueryStringConfig.Values = append(x.QueryStringConfig.Values, keyValue{key, value})
		}
	}
	return x
}
