package ingress

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// limitKeys are the annotations that bound what one client may ask for.
type limitKeys struct {
	// perSecond, perMinute and perPeriod are rates.
	perSecond, perMinute, perPeriod limitKey
	concurrent                      limitKey
	// period is that of perPeriod.
	period time.Duration
	// multiplier is how many times the rate a burst may be, and wrongMultiplier is set
	// where it cannot be read.
	multiplier      int
	wrongMultiplier said
	// exempt are clients that are not counted.
	exempt      []v1alpha1.CIDR
	exemptField string
	status      int32
}

type limitKey struct {
	count int
	// burst is how many times as many come at once, if nothing else is said.
	burst int
	field string
}

// maxLimit is the largest number of requests of a limit.
const maxLimit = 1_000_000

// limit reads a number of requests; 0 is no limit. Of two, the smaller one counts.
// Burst is how many times as many come at once.
func limit(key func(*limitKeys) *limitKey, burst int) func(string, *carried) error {
	return func(value string, into *carried) error {
		n, err := strconv.ParseInt(value, 10, 32)
		switch {
		case err != nil || n < 0 || n > maxLimit:
			return fmt.Errorf("%q is not a whole number from 0 to %d", value, maxLimit)
		case n == 0:
			return nil
		}
		if k := key(&into.limits); k.count == 0 || int(n) < k.count {
			*k = limitKey{int(n), burst, into.field}
		}
		return nil
	}
}

func perSecond(k *limitKeys) *limitKey  { return &k.perSecond }
func perMinute(k *limitKeys) *limitKey  { return &k.perMinute }
func perPeriod(k *limitKeys) *limitKey  { return &k.perPeriod }
func concurrent(k *limitKeys) *limitKey { return &k.concurrent }

// burstMultiplier is how many requests more than the rate come at once.
func burstMultiplier(value string, into *carried) error {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 1 {
		into.limits.wrongMultiplier = said{value, into.field}
		return nil // It matters only where there is a rate.
	}
	into.limits.multiplier = int(n)
	return nil
}

// limitPeriod is the time of a rate.
func limitPeriod(value string, into *carried) error {
	d, err := api.ParseTime(value)
	if err != nil || d < time.Second || d > 24*time.Hour || d%time.Second != 0 {
		return fmt.Errorf("%q is not a time from 1s to 24h, in whole seconds", value)
	}
	into.limits.period = d
	return nil
}

// limitStatus is the status of what is refused.
func limitStatus(value string, into *carried) error {
	switch value {
	case "429":
	case "503":
		into.limits.status = 503
	default:
		into.differs = "refused requests get 429 or 503; 429 is used"
	}
	return nil
}

const maxExempt = 100

// limitExempt are clients without limits. What cannot be read exempts no client.
func limitExempt(value string, into *carried) error {
	k := &into.limits
	k.exemptField = into.field
	left := 0
	for _, item := range words(value) {
		if _, ok := policy.ParsePrefix(item); ok && len(k.exempt) < maxExempt {
			k.exempt = append(k.exempt, v1alpha1.CIDR(item))
		} else {
			left++
		}
	}
	if left > 0 {
		into.differs = fmt.Sprintf("%d items are no IP address or CIDR, or beyond the %d that are possible; they exempt no client", left, maxExempt)
	}
	return nil
}

// finishLimits asks for the limits.
func (c *conversion) finishLimits(into *carried) {
	k := &into.limits
	if k.concurrent.count > 0 {
		c.concurrent(into)
	}
	period := cmp.Or(k.period, time.Second)
	for _, r := range []struct {
		name, per string
		key       limitKey
	}{
		{"per-second", "1s", k.perSecond}, {"per-minute", "1m", k.perMinute}, {"per-period", strconv.Itoa(int(period/time.Second)) + "s", k.perPeriod},
	} {
		if r.key.count == 0 {
			continue
		}
		if w := k.wrongMultiplier; w.field != "" {
			c.protect(w.field, fmt.Sprintf("%q is not a whole number from 1", w.value), false)
			return
		}
		rate := v1alpha1.RequestLimit{
			Name: r.name, Requests: int32(r.key.count), Per: v1alpha1.Duration(r.per), Exempt: k.exempt, Status: k.status,
			Burst: int32(min(int64(r.key.count)*int64(cmp.Or(k.multiplier, r.key.burst)), maxLimit+1)), // One too many is told below.
		}
		c.guard(into, r.key.field, func(s *v1alpha1.PolicySpec) {
			limitsOf(s).Requests = append(limitsOf(s).Requests, rate)
		})
	}
}

// concurrent bounds requests at the same time. Of passthrough, those are connections.
func (c *conversion) concurrent(into *carried) {
	k := &into.limits
	if into.passthrough() {
		into.set(api.AnnotationLimit, "true", nil)
		into.set(api.AnnotationLimitConcurrent, strconv.Itoa(k.concurrent.count), nil)
		return
	}
	if k.exemptField != "" {
		c.warn(k.exemptField, api.ReasonForeignAnnotation, "no client is exempt from limits of concurrent requests", "it counts for the other limits")
	}
	c.guard(into, k.concurrent.field, func(s *v1alpha1.PolicySpec) {
		limitsOf(s).Concurrent = &v1alpha1.ConcurrentLimit{Count: int32(k.concurrent.count), Status: k.status}
	})
}

func limitsOf(s *v1alpha1.PolicySpec) *v1alpha1.Limits {
	if s.Limits == nil {
		s.Limits = &v1alpha1.Limits{}
	}
	return s.Limits
}
