package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// metricsDetail is the value of the annotation that asks for series of a route's own.
const metricsDetail = "detail"

var metricsRow = Annotation{
	Key: api.AnnotationMetrics, Values: "detail", Default: "series of its own for the busiest routes", Terminations: all,
	Doc: "The route is one of the first to have series of its own within the budget of series, and not only if it is busy.",
	set: func(s *Spec, v string) error { return setMetrics(&s.Measure, v) },
}

var objectivesRow = Annotation{
	Key: api.AnnotationSLO, Values: "availability=PERCENT, latency=TIME@PERCENT, or one of them, such as availability=99.9, latency=300ms@99", Default: "no objective", Terminations: http,
	Doc: "Objectives of the route: alerts about its errors use them. It asks for series of its own, too.",
	set: func(s *Spec, v string) error { return setObjectives(&s.Measure, v) },
}

func setMetrics(m *model.Measure, v string) error {
	if v != metricsDetail {
		return errors.New("must be " + metricsDetail)
	}
	m.Detail = true
	return nil
}

const (
	// leastShare and mostShare bound objectives: the budget of errors is what is left of all requests.
	leastShare, mostShare = model.Whole / 2, model.Whole - 1
	// mostLatency bounds the time of an objective: that of the slowest requests that are measured.
	mostLatency = time.Minute
	// shareDecimals is how many decimals a percentage may have.
	shareDecimals = 3
	// mostObjectives bounds a text of objectives.
	mostObjectives = 2
)

// setObjectives reads objectives, all or none.
func setObjectives(m *model.Measure, v string) error {
	read := *m
	items := strings.Split(v, ",")
	if len(items) > mostObjectives {
		return errors.New("must have availability and latency once each at most, separated by a comma")
	}
	for _, item := range items {
		key, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		var err error
		switch key {
		case "availability":
			if read.Availability != 0 {
				return errors.New("has availability twice")
			}
			read.Availability, err = parseShare(value)
		case "latency":
			if read.LatencyShare != 0 {
				return errors.New("has latency twice")
			}
			bound, share, _ := strings.Cut(value, "@")
			if read.Latency, err = api.ParseTime(bound); err == nil && (read.Latency < time.Millisecond || read.Latency > mostLatency) {
				err = errors.New("is not from 1ms to 1m")
			}
			if err == nil {
				read.LatencyShare, err = parseShare(share)
			}
		default:
			return errors.New("must be availability=PERCENT, latency=TIME@PERCENT, or both, separated by a comma")
		}
		if err != nil {
			return fmt.Errorf("%s: %w; write availability=99.9 or latency=300ms@99", key, err)
		}
	}
	*m = read
	return nil
}

// parseShare reads a percentage, such as 99.95, exactly.
func parseShare(text string) (int32, error) {
	whole, decimals, dotted := strings.Cut(text, ".")
	digits := func(s string) bool {
		return !strings.ContainsFunc(s, func(c rune) bool { return c < '0' || c > '9' })
	}
	wrong := fmt.Errorf("the percentage must be from %d to 99.999, with %d decimals at most", leastShare*100/model.Whole, shareDecimals)
	if len(whole) != 2 || dotted && decimals == "" || len(decimals) > shareDecimals || !digits(whole+decimals) {
		return 0, wrong
	}
	n, err := strconv.ParseInt(whole+decimals+strings.Repeat("0", shareDecimals-len(decimals)), 10, 32)
	if err != nil || n < leastShare || n > mostShare {
		return 0, wrong
	}
	return int32(n), nil
}

// Measured reads the annotations of objects of the Gateway API that say how requests are counted, and what is wrong with
// them. Objectives are not for connections that are handed on whole.
func Measured(annotations map[string]string, stream bool) (m model.Measure, problems []Problem) {
	t := model.Plain
	if stream {
		t = model.Passthrough
	}
	for _, row := range []*Annotation{&metricsRow, &objectivesRow} {
		v, set := annotations[row.Key]
		if !set {
			continue
		}
		s := Spec{Measure: m}
		switch err := row.set(&s, v); {
		case err != nil:
			problems = append(problems, Problem{Key: row.Key, Severity: api.SeverityWarning, Reason: api.ReasonInvalidAnnotation, Message: err.Error(), Effect: effectDefault})
		case !slices.Contains(row.Terminations, terminationName(t)):
			problems = append(problems, row.ignored("has no effect on connections that are handed on whole"))
		default:
			m = s.Measure
		}
	}
	return m, problems
}
