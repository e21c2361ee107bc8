package fakeaws

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// elbOperations are those of Elastic Load Balancing v2.
func elbOperations() map[string]operation {
	return map[string]operation{
		"CreateLoadBalancer":             createLoadBalancer,
		"DescribeLoadBalancers":          describeLoadBalancers,
		"DeleteLoadBalancer":             deleteLoadBalancer,
		"SetSubnets":                     setSubnets,
		"SetSecurityGroups":              setSecurityGroups,
		"SetIpAddressType":               setAddressType,
		"DescribeLoadBalancerAttributes": describeBalancerAttributes,
		"ModifyLoadBalancerAttributes":   modifyBalancerAttributes,
		"CreateTargetGroup":              createTargetGroup,
		"DescribeTargetGroups":           describeTargetGroups,
		"ModifyTargetGroup":              modifyTargetGroup,
		"DeleteTargetGroup":              deleteTargetGroup,
		"DescribeTargetGroupAttributes":  describeGroupAttributes,
		"ModifyTargetGroupAttributes":    modifyGroupAttributes,
		"RegisterTargets":                registerTargets,
		"DeregisterTargets":              deregisterTargets,
		"DescribeTargetHealth":           describeTargetHealth,
		"CreateListener":                 createListener,
		"DescribeListeners":              describeListeners,
		"ModifyListener":                 modifyListener,
		"DeleteListener":                 deleteListener,
		"DescribeListenerAttributes":     describeListenerAttributes,
		"ModifyListenerAttributes":       modifyListenerAttributes,
		"AddListenerCertificates":        addCertificates,
		"RemoveListenerCertificates":     removeCertificates,
		"DescribeListenerCertificates":   describeCertificates,
		"CreateRule":                     createRule,
		"DescribeRules":                  describeRules,
		"ModifyRule":                     modifyRule,
		"DeleteRule":                     deleteRule,
		"SetRulePriorities":              setRulePriorities,
		"AddTags":                        elbAddTags,
		"RemoveTags":                     elbRemoveTags,
		"DescribeTags":                   elbDescribeTags,
		"DescribeSSLPolicies":            describePolicies,
	}
}

type keyValue struct {
	Key   string
	Value string
}

func sortedPairs(m map[string]string) []keyValue {
	list := make([]keyValue, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, keyValue{k, m[k]})
	}
	return list
}

func modified(old map[string]string, f form) map[string]string {
	all := maps.Clone(old)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, f.pairs("Attributes"))
	return all
}

// page cuts a list down to what one answer holds, and returns the marker of
// the next.
func page[T any](r *request, list []T) (part []T, next string) {
	start, _ := strconv.Atoi(r.form.get("Marker")) // empty is the beginning
	size := r.form.number("PageSize")
	if size == 0 {
		size = r.cloud.options.PageSize
	}
	start = min(start, len(list))
	end := min(start+size, len(list))
	if end < len(list) {
		next = strconv.Itoa(end)
	}
	return list[start:end], next
}

// sortedValues returns the values of a map in the order of their keys.
func sortedValues[T any](m map[string]T) []T {
	keys := slices.Sorted(maps.Keys(m))
	list := make([]T, 0, len(keys))
	for _, k := range keys {
		list = append(list, m[k])
	}
	return list
}

// tagged returns the tags of a resource, or nil if there is no such resource.
func (s *state) tagged(arn string) (tags, error) {
	if b := s.Balancers[arn]; b != nil {
		return b.Tags, nil
	}
	if g := s.TargetGroups[arn]; g != nil {
		return g.Tags, nil
	}
	if l := s.Listeners[arn]; l != nil {
		return l.Tags, nil
	}
	if ru := s.Rules[arn]; ru != nil {
		return ru.Tags, nil
	}
	code := "LoadBalancerNotFound"
	switch {
	case strings.Contains(arn, ":listener-rule/"):
		code = "RuleNotFound"
	case strings.Contains(arn, ":targetgroup/"):
		code = "TargetGroupNotFound"
	case strings.Contains(arn, ":listener/"):
		code = "ListenerNotFound"
	}
	return nil, refuse(code, "%s not found", arn)
}

// maxTags is the most tags of a resource.
const maxTags = 50

func checkTags(all map[string]string) error {
	for k := range all {
		switch {
		case k == "":
			return refuse("ValidationError", "a tag has no key")
		case strings.HasPrefix(strings.ToLower(k), "aws:"):
			return refuse("ValidationError", "tag keys may not begin with aws:, as %s does", k)
		}
	}
	if len(all) > maxTags {
		return refuse("TooManyTags", "at most %d tags", maxTags)
	}
	return nil
}

func elbAddTags(r *request) (any, error) {
	for _, arn := range r.form.list("ResourceArns") {
		t, err := r.state.tagged(arn)
		if err != nil {
			return nil, err
		}
		if err := checkTags(r.form.pairs("Tags")); err != nil {
			return nil, err
		}
		maps.Copy(t, r.form.pairs("Tags"))
	}
	return nil, nil
}

func elbRemoveTags(r *request) (any, error) {
	for _, arn := range r.form.list("ResourceArns") {
		t, err := r.state.tagged(arn)
		if err != nil {
			return nil, err
		}
		for _, k := range r.form.list("TagKeys") {
			delete(t, k)
		}
	}
	return nil, nil
}

// maxTagArns is how many resources DescribeTags takes.
const maxTagArns = 20

func elbDescribeTags(r *request) (any, error) {
	type description struct {
		ResourceArn string
		Tags        []keyValue `xml:"Tags>member"`
	}
	arns := r.form.list("ResourceArns")
	if len(arns) > maxTagArns {
		return nil, refuse("ValidationError", "at most %d resources, not %d", maxTagArns, len(arns))
	}
	var out struct {
		TagDescriptions []description `xml:"TagDescriptions>member"`
	}
	for _, arn := range arns {
		t, err := r.state.tagged(arn)
		if err != nil {
			return nil, err
		}
		out.TagDescriptions = append(out.TagDescriptions, description{arn, sortedPairs(t)})
	}
	return out, nil
}

// Policies that the fake knows, a few of AWS's.
func policies() []string {
	return []string{"ELBSecurityPolicy-2016-08", "ELBSecurityPolicy-TLS13-1-2-2021-06", "ELBSecurityPolicy-TLS13-1-3-2021-06", "ELBSecurityPolicy-TLS-1-2-2017-01"}
}

func describePolicies(r *request) (any, error) {
	type policy struct{ Name string }
	var out struct {
		SslPolicies []policy `xml:"SslPolicies>member"`
	}
	for _, name := range policies() {
		if wanted := r.form.list("Names"); len(wanted) == 0 || slices.Contains(wanted, name) {
			out.SslPolicies = append(out.SslPolicies, policy{name})
		}
	}
	if len(out.SslPolicies) == 0 {
		return nil, refuse("SSLPolicyNotFound", "no such policy")
	}
	return out, nil
}

// listenersOf returns the listeners of a load balancer by port.
func (s *state) listenersOf(arn string) []*listener {
	var list []*listener
	for _, l := range s.Listeners {
		if l.Balancer == arn {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b *listener) int { return cmp.Compare(a.Port, b.Port) })
	return list
}

// usersOf returns the ARNs of the load balancers whose listeners, or their
// rules, lead to a target group.
func (s *state) usersOf(group string) []string {
	var arns []string
	uses := func(a action, l *listener) {
		if slices.Contains(a.TargetGroups, group) && !slices.Contains(arns, l.Balancer) {
			arns = append(arns, l.Balancer)
		}
	}
	for _, l := range s.Listeners {
		uses(l.Action, l)
	}
	for _, ru := range s.Rules {
		uses(ru.Action, s.Listeners[ru.Listener])
	}
	sort.Strings(arns)
	return arns
}
