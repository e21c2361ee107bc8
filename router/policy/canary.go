package policy

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// AnnotationCanary is that of the group canary.
const AnnotationCanary = "fairlead.dev/canary"

// canaryRow is the annotation's row in the table.
var canaryRow = Annotation{
	Key: AnnotationCanary, Group: GroupCanary, Terminations: http, Default: "none",
	Values: "SERVICE[:PORT], then a weight such as 10 or 10/1000, conditions such as header:NAME=VALUE, and sticky",
	Doc:    "Some requests go to this Service of the namespace. The same policies hold for them.",
	set:    setCanary,
}

// Bounds of the group canary.
const (
	maxCanaryServices   = 4
	maxCanaryConditions = 8
	defaultCanaryTotal  = 100
	maxCanaryTotal      = 10000
	maxCanaryName       = 64
	maxCanaryValue      = 128
	// maxCanaryText bounds names and values together, which each request of the route
	// looks through.
	maxCanaryText = 2048
)

var (
	canaryValue = regexp.MustCompile(`^[ -~]+$`)
	canaryPort  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// compileCanary sets the conditions and weights of a policy; where the Services lead is
// the door's to find out. A canary protects nothing, so one that cannot be read leaves
// all requests to the route's own Service.
func compileCanary(c *v1alpha1.Canary, p *model.Policy) []Problem {
	if c == nil {
		return nil
	}
	p.Canary = nil
	out, field, err := readCanary(c)
	if err != nil {
		return []Problem{{
			Key: strings.TrimSuffix("canary."+field, "."), Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: err.Error(),
			Effect: "the Route's own Service gets all requests",
		}}
	}
	p.Canary = out
	return nil
}

// CheckCanary returns what is wrong with a canary, and in which of its fields.
func CheckCanary(c *v1alpha1.Canary) (field string, err error) {
	_, field, err = readCanary(c)
	return field, err
}

// readCanary also returns the field that is wrong.
func readCanary(c *v1alpha1.Canary) (*model.Canary, string, error) {
	out := &model.Canary{Total: cmp.Or(int(c.Total), defaultCanaryTotal)}
	if out.Total < 1 || out.Total > maxCanaryTotal {
		return nil, "total", fmt.Errorf("must be from 1 to %d", maxCanaryTotal)
	}
	if n := len(c.Services); n < 1 || n > maxCanaryServices {
		return nil, "services", fmt.Errorf("must name 1 to %d Services", maxCanaryServices)
	}
	weights, text := 0, 0
	for i := range c.Services {
		s := &c.Services[i]
		field := fmt.Sprintf("services[%d].", i)
		switch {
		case slices.ContainsFunc(c.Services[:i], func(o v1alpha1.CanaryService) bool { return o.Name == s.Name }):
			return nil, field + "name", errors.New("names the same Service again")
		case s.Weight < 0 || s.Weight > maxCanaryTotal:
			return nil, field + "weight", fmt.Errorf("must be from 0 to %d", maxCanaryTotal)
		case len(s.When) > maxCanaryConditions:
			return nil, field + "when", fmt.Errorf("must hold %d conditions at most", maxCanaryConditions)
		}
		weights += int(s.Weight)
		out.Branches = append(out.Branches, model.Branch{Weight: int(s.Weight), ID: model.BranchID(string(s.Name))})
		for j := range s.When {
			rule, err := readCondition(&s.When[j], i+1)
			if err != nil {
				return nil, fmt.Sprintf("%swhen[%d]", field, j), err
			}
			text += len(rule.Name) + len(rule.Value)
			out.Rules = append(out.Rules, rule)
		}
	}
	switch {
	case weights > out.Total:
		return nil, "services", fmt.Errorf("the weights add up to %d, which is more than the total %d", weights, out.Total)
	case text > maxCanaryText:
		return nil, "services", fmt.Errorf("names and values of the conditions add up to more than %d bytes", maxCanaryText)
	}
	order := map[model.CanarySource]int{model.CanaryHeader: 0, model.CanaryCookie: 1, model.CanaryQuery: 2}
	slices.SortStableFunc(out.Rules, func(a, b model.CanaryRule) int { return order[a.Source] - order[b.Source] })
	if c.Sticky == nil {
		return out, "", nil
	}
	out.Cookie = &model.BranchCookie{}
	if c.Sticky.TTL != "" {
		ttl, err := api.ParseTime(string(c.Sticky.TTL))
		if err != nil || ttl <= 0 {
			return nil, "sticky.ttl", errors.New("must be a time such as 30m or 24h")
		}
		out.Cookie.MaxAge = max(int(ttl/time.Second), 1)
	}
	return out, "", nil
}

// readCondition reads a condition on which a request goes to a branch.
func readCondition(c *v1alpha1.CanaryCondition, branch int) (model.CanaryRule, error) {
	r := model.CanaryRule{Name: c.Name, Value: c.Value}
	switch c.Type {
	case "Header":
		r.Source = model.CanaryHeader
	case "Cookie":
		r.Source = model.CanaryCookie
	case "Query":
		r.Source = model.CanaryQuery
	default:
		return r, errors.New("type must be Header, Cookie or Query")
	}
	switch cmp.Or(c.Match, "Exact") {
	case "Exact":
		r.Compare = model.CanaryExact
	case "Prefix":
		r.Compare = model.CanaryPrefix
	case "Present":
		r.Compare, r.Value = model.CanaryPresent, ""
	case "Regex":
		r.Compare = model.CanaryRegex
	default:
		return r, errors.New("match must be Exact, Prefix, Present or Regex")
	}
	switch cmp.Or(c.To, "Canary") {
	case "Canary":
		r.To = branch
	case "Route":
	default:
		return r, errors.New("to must be Canary or Route")
	}
	if len(r.Name) > maxCanaryName || !nameInRecord(r.Name) {
		return r, fmt.Errorf("%q is not a name of up to %d characters", c.Name, maxCanaryName)
	}
	if r.Compare != model.CanaryPresent && (len(r.Value) > maxCanaryValue || !canaryValue.MatchString(r.Value)) {
		return r, fmt.Errorf("the value must have 1 to %d visible ASCII characters and spaces", maxCanaryValue)
	}
	if r.Compare == model.CanaryRegex {
		var err error
		if r.Value, err = Expression(r.Value); err != nil {
			return r, fmt.Errorf("the value %w", err)
		}
	}
	return r, nil
}

// canaryForm is what the annotation looks like, for messages.
const canaryForm = "must be SERVICE[:PORT], then a weight such as 10 or 10/1000, conditions such as header:NAME=VALUE, cookie:NAME=VALUE, query:NAME=VALUE, and sticky, separated by spaces"

// setCanary reads "SERVICE[:PORT] [WEIGHT[/TOTAL]] [CONDITION…] [sticky]". A condition is
// [not-](header|cookie|query):NAME[=VALUE|^=VALUE|~=VALUE], with percent-encoding in
// values: = is Exact, ^= Prefix, ~= Regex, and nothing Present; not- leaves requests to
// the route's own Service.
func setCanary(s *Spec, v string) error {
	words := strings.Fields(v)
	if len(words) == 0 {
		return errors.New(canaryForm)
	}
	c := &v1alpha1.Canary{}
	name, port, hasPort := strings.Cut(words[0], ":")
	if len(validation.IsDNS1123Subdomain(name)) > 0 || hasPort && !canaryPort.MatchString(port) {
		return errors.New(canaryForm)
	}
	service := v1alpha1.CanaryService{Name: v1alpha1.ObjectName(name)}
	if hasPort {
		p := intstr.Parse(port)
		service.Port = &p
	}
	for _, word := range words[1:] {
		if err := canaryWord(word, c, &service); err != nil {
			return err
		}
	}
	c.Services = []v1alpha1.CanaryService{service}
	if _, _, err := readCanary(c); err != nil {
		return err
	}
	s.Groups.Canary = c
	return nil
}

var weightText = regexp.MustCompile(`^([0-9]{1,5})(?:/([0-9]{1,5}))?$`)

func canaryWord(word string, c *v1alpha1.Canary, service *v1alpha1.CanaryService) error {
	if word == "sticky" {
		c.Sticky = &v1alpha1.CanarySticky{}
		return nil
	}
	if m := weightText.FindStringSubmatch(word); m != nil {
		service.Weight = smallNumber(m[1])
		if m[2] != "" {
			if c.Total = smallNumber(m[2]); c.Total == 0 {
				return fmt.Errorf("%q: the total must be from 1 to %d", word, maxCanaryTotal)
			}
		}
		return nil
	}
	condition, ok := conditionOf(word)
	if !ok {
		return fmt.Errorf("%q: %s", word, canaryForm)
	}
	service.When = append(service.When, condition)
	return nil
}

func smallNumber(digits string) int32 {
	n, _ := strconv.ParseInt(digits, 10, 32)
	return int32(n)
}

func conditionOf(word string) (v1alpha1.CanaryCondition, bool) {
	var c v1alpha1.CanaryCondition
	rest, not := strings.CutPrefix(word, "not-")
	if not {
		c.To = "Route"
	}
	kind, rest, _ := strings.Cut(rest, ":")
	c.Type = map[string]string{"header": "Header", "cookie": "Cookie", "query": "Query"}[kind]
	name, value, has := strings.Cut(rest, "=")
	c.Name, c.Match = name, "Exact"
	if !has {
		c.Match = "Present"
		return c, c.Type != ""
	}
	for suffix, match := range map[string]string{"^": "Prefix", "~": "Regex"} {
		if before, cut := strings.CutSuffix(name, suffix); cut {
			c.Name, c.Match = before, match
		}
	}
	var err error
	c.Value, err = url.PathUnescape(value)
	return c, err == nil && c.Type != ""
}

// CanaryText writes a group with one Service as the annotation, which reads it back.
func CanaryText(c *v1alpha1.Canary) string {
	s := &c.Services[0]
	words := []string{string(s.Name)}
	if s.Port != nil {
		words[0] += ":" + s.Port.String()
	}
	if s.Weight > 0 || c.Total > 0 {
		text := strconv.Itoa(int(s.Weight))
		if c.Total > 0 {
			text += "/" + strconv.Itoa(int(c.Total))
		}
		words = append(words, text)
	}
	for _, w := range s.When {
		word := strings.ToLower(w.Type) + ":" + w.Name
		if w.To == "Route" {
			word = "not-" + word
		}
		switch w.Match {
		case "Present":
		case "Prefix":
			word += "^=" + url.PathEscape(w.Value)
		case "Regex":
			word += "~=" + url.PathEscape(w.Value)
		default:
			word += "=" + url.PathEscape(w.Value)
		}
		words = append(words, word)
	}
	if c.Sticky != nil {
		words = append(words, "sticky")
	}
	return strings.Join(words, " ")
}
