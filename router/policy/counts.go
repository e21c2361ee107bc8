package policy

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Annotations of the limits that count requests.
const (
	AnnotationLimit    = "fairlead.dev/limit"
	AnnotationLimitKey = "fairlead.dev/limit-key"
	// AnnotationLimitScope says who counts the limit.
	AnnotationLimitScope = "fairlead.dev/limit-scope"
)

// What a limit may say.
const (
	maxRequests       = 1_000_000
	maxBursts         = 100
	minPrefix         = 48
	maxPrefix         = 128
	prefixStep        = 4
	longestClaim      = 128
	defaultStatus     = 429
	unavailableStatus = 503
)

// Who counts a limit: each router replica by itself, or all of them together.
const (
	ScopeReplica = "Replica"
	ScopeShared  = "Shared"
)

// SharedLimits reports whether any of the limits in force is counted by all replicas
// together, how many of these tenants have set, and the source of the last one, nil for
// annotations.
func (s *Spec) SharedLimits(e *Effective) (from *Source, some bool, tenants int) {
	if e != nil {
		for _, l := range e.Limits {
			n := sharedIn(l.Limits)
			if n > 0 {
				from, some = l.From, true
			}
			if l.From.Key.Kind != KindClusterRoutePolicy {
				tenants += n
			}
		}
	}
	own := sharedIn(s.Groups.Limits) // Sizes are those of e
	return from, some || own > 0, tenants + own
}

func sharedIn(l *v1alpha1.Limits) (n int) {
	if l == nil {
		return 0
	}
	for i := range l.Requests {
		if l.Requests[i].Scope == ScopeShared {
			n++
		}
	}
	return n
}

var limitName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$`)

// compileCounts adds the limits of rates and of concurrent requests to those that a
// policy has. Of concurrent ones by the same key, the smallest holds.
func compileCounts(l *v1alpha1.Limits, p *model.Policy) []Problem {
	if l == nil {
		return nil
	}
	var problems []Problem
	if len(l.Requests) > model.MaxLimits {
		return append(problems, closing("limits.requests", fmt.Sprintf("has more than %d limits", model.MaxLimits)))
	}
	for i := range l.Requests {
		field := fmt.Sprintf("limits.requests[%d]", i)
		rate, wrong, err := readRate(&l.Requests[i])
		if err != nil {
			problems = append(problems, closing(field, err.Error()))
			continue
		}
		for _, item := range wrong {
			problems = append(problems, Problem{
				Key: field + ".exempt", Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: notAddress(item), Effect: "it exempts no client",
			})
		}
		switch {
		case rate.Key.Identity() && rate.Shared:
			p.SharedIdentified = append(slices.Clip(p.SharedIdentified), rate)
		case rate.Key.Identity():
			p.Identified = append(slices.Clip(p.Identified), rate)
		case rate.Shared:
			p.Shared = append(slices.Clip(p.Shared), rate)
		default:
			p.Rates = append(slices.Clip(p.Rates), rate)
		}
	}
	if l.Concurrent == nil {
		return problems
	}
	limit, err := readConcurrent(l.Concurrent)
	if err != nil {
		return append(problems, closing("limits.concurrent", err.Error()))
	}
	if limit.Key.Identity() {
		p.IdentifiedConcurrents = withConcurrent(p.IdentifiedConcurrents, limit)
	} else {
		p.Concurrents = withConcurrent(p.Concurrents, limit)
	}
	return problems
}

// withConcurrent adds a limit to others, of which the smallest by the same key holds.
func withConcurrent(all []model.ConcurrentLimit, limit model.ConcurrentLimit) []model.ConcurrentLimit {
	all = slices.Clone(all)
	same := slices.IndexFunc(all, func(c model.ConcurrentLimit) bool { return c.Key == limit.Key && c.Match.Same(&limit.Match) })
	switch {
	case same < 0:
		all = append(all, limit)
	case limit.Count < all[same].Count:
		all[same] = limit
	}
	return all
}

// readRate reads a limit, and returns the exemptions that cannot be read.
func readRate(l *v1alpha1.RequestLimit) (rate model.RateLimit, wrong []string, err error) {
	per, err := api.ParseTime(cmp.Or(string(l.Per), "1s"))
	if err != nil {
		return rate, nil, fmt.Errorf("per: %w", err)
	}
	rate = model.RateLimit{
		Name: l.Name, Requests: int(l.Requests), Per: per, Burst: int(cmp.Or(l.Burst, l.Requests)),
		Status: int(cmp.Or(l.Status, defaultStatus)), Headers: model.RateHeaders(cmp.Or(l.Headers, string(model.HeadersDraft))), DryRun: l.DryRun, Shared: l.Scope == ScopeShared,
	}
	if err := checkRate(&rate); err != nil {
		return rate, nil, err
	}
	if l.Scope != "" && l.Scope != ScopeReplica && l.Scope != ScopeShared {
		return rate, nil, errors.New("scope must be Replica or Shared")
	}
	if rate.Key, err = readKey(l.Key); err != nil {
		return rate, nil, err
	}
	if rate.Match, err = readMatch(l.Match); err != nil {
		return rate, nil, err
	}
	for i, item := range l.Exempt {
		prefix, ok := parsePrefix(string(item))
		if !ok || i >= maxExempt {
			wrong = append(wrong, string(item))
			continue
		}
		rate.Exempt = append(rate.Exempt, prefix)
	}
	return rate, wrong, nil
}

func checkRate(r *model.RateLimit) error {
	switch {
	case !limitName.MatchString(r.Name):
		return errors.New("name must consist of lower-case letters, digits and -, 32 at most")
	case r.Requests < 1 || r.Requests > maxRequests:
		return fmt.Errorf("requests must be from 1 to %d", maxRequests)
	case r.Per < time.Second || r.Per > model.MaxRateWindow || r.Per%time.Second != 0:
		return errors.New("per must be from 1s to 24h, in whole seconds")
	case r.Burst < 1 || r.Burst > maxBursts*r.Requests || r.Burst > maxRequests:
		return fmt.Errorf("burst must be from 1 to %d times requests, and %d at most", maxBursts, maxRequests)
	case int64(r.Burst)*int64(r.Per/time.Second) > int64(r.Requests)*int64(model.MaxRateWindow/time.Second):
		return errors.New("burst is too large: it must be earned again within 24h")
	case !slices.Contains([]int{defaultStatus, unavailableStatus}, r.Status):
		return errors.New("status must be 429 or 503")
	case !slices.Contains([]model.RateHeaders{model.HeadersDraft, model.HeadersLegacy, model.HeadersNone}, r.Headers):
		return errors.New("headers must be Draft, Legacy or None")
	}
	return nil
}

func readConcurrent(l *v1alpha1.ConcurrentLimit) (limit model.ConcurrentLimit, err error) {
	limit = model.ConcurrentLimit{Count: int(l.Count), Status: int(cmp.Or(l.Status, defaultStatus))}
	switch {
	case limit.Count < 1 || limit.Count > maxRequests:
		return limit, fmt.Errorf("count must be from 1 to %d", maxRequests)
	case !slices.Contains([]int{defaultStatus, unavailableStatus}, limit.Status):
		return limit, errors.New("status must be 429 or 503")
	}
	if limit.Key, err = readKey(l.Key); err == nil {
		limit.Match, err = readMatch(l.Match)
	}
	return limit, err
}

// readKey reads what a limit counts by; nil is the address.
func readKey(k *v1alpha1.LimitKey) (model.LimitKey, error) {
	key := model.LimitKey{Kind: model.KeyAddress, IPv6Prefix: model.DefaultIPv6Prefix}
	if k == nil {
		return key, nil
	}
	key.Kind, key.Name = model.KeyKind(k.Type), k.Name
	named := slices.Contains([]model.KeyKind{model.KeyHeader, model.KeyCookie, model.KeyQuery, model.KeyClaim}, key.Kind)
	switch {
	case !named && !slices.Contains([]model.KeyKind{model.KeyAddress, model.KeyHost, model.KeyNone, model.KeyConsumer}, key.Kind):
		return key, errors.New("key.type must be Address, Header, Cookie, Query, Host, None, Consumer or Claim")
	case named != (key.Name != ""):
		return key, errors.New("key.name is for Header, Cookie, Query and Claim, which need it")
	case key.Kind == model.KeyClaim:
		if len(key.Name) > longestClaim || strings.ContainsFunc(key.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return key, fmt.Errorf("key.name must have at most %d bytes, and no control characters", longestClaim)
		}
	case named && !model.HeaderName(key.Name):
		return key, errors.New("key.name must be a token of RFC 9110, of 128 characters at most")
	case k.IPv6Prefix != 0 && (key.Kind != model.KeyAddress || k.IPv6Prefix < minPrefix || k.IPv6Prefix > maxPrefix || k.IPv6Prefix%prefixStep != 0):
		return key, fmt.Errorf("key.ipv6Prefix is for Address, and must be from %d to %d and a multiple of %d", minPrefix, maxPrefix, prefixStep)
	case k.IPv6Prefix != 0:
		key.IPv6Prefix = int(k.IPv6Prefix)
	}
	if key.Kind == model.KeyHeader {
		key.Name = strings.ToLower(key.Name)
	}
	if key.Kind != model.KeyAddress {
		key.IPv6Prefix = 0
	}
	return key, nil
}

// tooMany says which limits are more than HAProxy has rules for.
func tooMany(limits []*v1alpha1.Limits) (field, message string) {
	var p model.Policy
	rates := 0
	for _, l := range limits {
		compileCounts(l, &p)
		if l != nil {
			rates += len(l.Requests) // also those that one object has too many of
		}
	}
	const more = "all limits of the object together are more than %d"
	switch {
	case rates > model.MaxLimits:
		return "requests", fmt.Sprintf(more, model.MaxLimits)
	case len(p.Rates) > model.MaxRates:
		return "requests", fmt.Sprintf(more, model.MaxRates) + " of each replica before authentication, by other keys than Consumer and Claim"
	case len(p.Identified) > model.MaxIdentified:
		return "requests", fmt.Sprintf(more, model.MaxIdentified) + " by consumers and claims"
	case len(p.IdentifiedConcurrents) > model.MaxIdentifiedConcurrents:
		return "concurrent", fmt.Sprintf(more, model.MaxIdentifiedConcurrents) + " by consumers and claims"
	case len(p.Concurrents) > model.MaxConcurrents:
		return "concurrent", fmt.Sprintf(more, model.MaxConcurrents) + " with different keys"
	}
	return "", ""
}

// checkLimits closes where all policies together have too many limits: none of them
// may be left out.
func (e *Effective) checkLimits() {
	limits := make([]*v1alpha1.Limits, len(e.Limits))
	for i, l := range e.Limits {
		limits[i] = l.Limits
	}
	if field, message := tooMany(limits); field != "" {
		e.close(e.Limits[len(e.Limits)-1].From, GroupLimits, "."+field, api.ReasonLimitExceeded, message)
	}
}

// TooManyLimits says what is wrong if the limits of annotations and policies together
// are too many.
func (s *Spec) TooManyLimits() string {
	_, message := tooMany(append(slices.Clone(s.Sizes), s.Groups.Limits))
	return message
}

// annotatedLimit is the name that clients see of the limit of an annotation.
const annotatedLimit = "requests"

var (
	rateText = regexp.MustCompile(`^([0-9]{1,7})/([smh])( burst ([0-9]{1,7}))?$`)
	keyText  = regexp.MustCompile(`^(header|cookie|query|claim):(.+)$`)
)

// setLimit reads fairlead.dev/limit.
func setLimit(s *Spec, v string) error {
	m := rateText.FindStringSubmatch(v)
	if m == nil {
		return errors.New("must be a rate such as 20/s, 100/m or 1000/h, and may have a burst, such as 20/s burst 40")
	}
	limit := v1alpha1.RequestLimit{Name: annotatedLimit, Per: v1alpha1.Duration("1" + m[2])}
	for text, to := range map[string]*int32{m[1]: &limit.Requests, m[4]: &limit.Burst} {
		n, err := strconv.ParseInt(cmp.Or(text, "0"), 10, 32)
		if err != nil {
			return fmt.Errorf("read a number: %w", err)
		}
		*to = int32(n)
	}
	if m[3] != "" && limit.Burst == 0 {
		return errors.New("burst must be 1 at least")
	}
	if _, _, err := readRate(&limit); err != nil {
		return err
	}
	s.limits().Requests = append(slices.Clone(s.limits().Requests), limit)
	return nil
}

// hasLimit reports whether fairlead.dev/limit was read.
func (s *Spec) hasLimit() bool { return s.annotated() != nil }

// annotated returns the limit of fairlead.dev/limit, which is the last one, or nil.
func (s *Spec) annotated() *v1alpha1.RequestLimit {
	if s.Groups.Limits == nil || len(s.Groups.Limits.Requests) == 0 {
		return nil
	}
	if last := &s.Groups.Limits.Requests[len(s.Groups.Limits.Requests)-1]; last.Name == annotatedLimit {
		return last
	}
	return nil
}

// setLimitKey reads fairlead.dev/limit-key. Without a limit it changes nothing.
func setLimitKey(s *Spec, v string) error {
	key := v1alpha1.LimitKey{Type: map[string]string{"address": string(model.KeyAddress), "consumer": string(model.KeyConsumer)}[v]}
	if m := keyText.FindStringSubmatch(v); m != nil {
		key = v1alpha1.LimitKey{Type: map[string]string{
			"header": string(model.KeyHeader), "cookie": string(model.KeyCookie), "query": string(model.KeyQuery), "claim": string(model.KeyClaim),
		}[m[1]], Name: m[2]}
	}
	if _, err := readKey(&key); err != nil {
		return errors.New("must be address, consumer, header:NAME, cookie:NAME, query:NAME or claim:NAME")
	}
	if limit := s.annotated(); limit != nil {
		limit.Key = &key
	}
	return nil
}

// setLimitScope reads fairlead.dev/limit-scope. Without a limit it changes nothing.
func setLimitScope(s *Spec, v string) error {
	if v != ScopeReplica && v != ScopeShared {
		return errors.New("must be Replica or Shared")
	}
	if limit := s.annotated(); limit != nil {
		limit.Scope = v
	}
	return nil
}
