package policy

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// Annotations of the group health, beside OpenShift's interval.
const (
	AnnotationHealthType = "fairlead.dev/health-type"
	AnnotationHealthPath = "fairlead.dev/health-path"
)

// healthTypeRow and healthPathRow are the annotations' rows in the table.
var healthTypeRow = Annotation{
	Key: AnnotationHealthType, OfServices: true, Group: GroupHealth, Terminations: all, Default: "http with health-path, else HAProxy connects", Values: "tcp, http or grpc",
	Doc: "What the router asks each endpoint of a route with several: a connection, a request, or Check of grpc.health.v1. Routes of a namespace share the answers.",
	set: setHealthType,
}

var healthPathRow = Annotation{
	Key: AnnotationHealthPath, OfServices: true, Group: GroupHealth, Terminations: http, Default: "/", Values: "path, with a query if wanted",
	Doc: "What the router requests of each endpoint; healthy ones answer 200 to 399.",
	set: setHealthPath,
}

// Bounds and defaults of probes.
const (
	shortestInterval, longestInterval = time.Second, 5 * time.Minute
	longestSlowStart                  = 15 * time.Minute
	defaultProbeTimeout               = 2 * time.Second
	defaultRise, defaultFall, mostRun = 2, 3, 10
	defaultPanicPercent               = 50
)

var (
	probePath    = regexp.MustCompile(`^/[!-~]*$`)
	probeService = regex.Later(`^[A-Za-z0-9._/-]{0,253}$`)
	probeExpect  = regexp.MustCompile(`^([1-5][0-9][0-9])(?:-([1-5][0-9][0-9]))?$`)
)

// compileHealth finds what is wrong with the group. It protects nothing: without what
// cannot be read, HAProxy checks the endpoints.
func compileHealth(h *v1alpha1.Health) []Problem {
	if h == nil {
		return nil
	}
	var problems []Problem
	find := func(field string, err error, effect string) {
		if err != nil {
			problems = append(problems, Problem{Key: "health." + field, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: err.Error(), Effect: effect})
		}
	}
	_, field, err := readHealth(h, defaultProbeTimeout)
	find(field, err, "HAProxy checks the endpoints by connections")
	_, field, err = readPassive(h.Passive)
	find("passive."+field, err, "errors of requests keep none from an endpoint")
	if h.SlowStart != "" {
		_, err = readSlowStart(h.SlowStart)
		find("slowStart", err, "new endpoints get their whole share")
	}
	return problems
}

// Health is what the endpoints of a route are asked, or nil if HAProxy checks them. A
// passthrough route has no requests, so it is only connected to.
func (s *Spec) Health(passthrough bool) *model.Health {
	if s.Groups.Health == nil || s.Groups.Health.Active == nil && s.Groups.Health.Passive == nil {
		return nil
	}
	h, _, err := readHealth(s.Groups.Health, s.CheckInterval)
	if err != nil || passthrough && h.Probe.Type != model.ProbeTCP {
		return nil
	}
	h.Passive, _, _ = readPassive(s.Groups.Health.Passive) // what is wrong with it is a finding
	if passthrough && h.Passive != nil {
		h.Passive.Statuses, h.Passive.Answers = false, false
	}
	return h
}

// SlowStart is how long new endpoints get less than their share, or zero.
func (s *Spec) SlowStart() time.Duration {
	if s.Groups.Health == nil || s.Groups.Health.SlowStart == "" {
		return 0
	}
	d, err := readSlowStart(s.Groups.Health.SlowStart)
	if err != nil {
		return 0
	}
	return d
}

func readSlowStart(v v1alpha1.Timeout) (time.Duration, error) {
	d, err := api.ParseTime(string(v))
	if err == nil && d > longestSlowStart {
		err = errors.New("must be at most 15m")
	}
	return d, err
}

// readHealth also returns the field that is wrong. The interval is that of the route.
func readHealth(h *v1alpha1.Health, interval time.Duration) (*model.Health, string, error) {
	out := &model.Health{PanicPercent: defaultPanicPercent}
	if h.PanicPercent != nil {
		out.PanicPercent = int(*h.PanicPercent)
	}
	if out.PanicPercent < 0 || out.PanicPercent > 100 {
		return nil, "panicPercent", errors.New("must be from 0 to 100")
	}
	a := h.Active
	switch {
	case a != nil:
	case h.Passive == nil:
		return out, "", nil
	default:
		a = &v1alpha1.HealthProbe{}
	}
	p := &out.Probe
	p.Type = model.ProbeType(cmp.Or(a.Type, string(model.ProbeTCP)))
	if field, err := readQuestion(a, p); err != nil {
		return nil, "active." + field, err
	}
	if field, err := readPace(a, p, interval); err != nil {
		return nil, "active." + field, err
	}
	return out, "", nil
}

// Bounds and defaults of errors of requests.
const (
	shortestWindow, longestWindow, defaultWindow       = 4 * time.Second, 5 * time.Minute, 10 * time.Second
	shortestEjection, longestEjection, defaultEjection = time.Second, 15 * time.Minute, 30 * time.Second
	defaultErrors, mostErrors                          = 5, 1_000_000
	defaultEjectedPercent                              = 50
)

// readPassive returns nil for none, and the field that is wrong.
func readPassive(h *v1alpha1.HealthErrors) (*model.Passive, string, error) {
	if h == nil {
		return nil, "", nil
	}
	p := &model.Passive{Errors: int(cmp.Or(h.Errors, defaultErrors)), Within: defaultWindow, Ejection: defaultEjection, MostPercent: defaultEjectedPercent}
	if h.MaxPercent != nil {
		p.MostPercent = int(*h.MaxPercent)
	}
	for _, t := range []struct {
		field       string
		text        v1alpha1.Timeout
		into        *time.Duration
		least, most time.Duration
		bounds      string
	}{
		{"within", h.Within, &p.Within, shortestWindow, longestWindow, "must be from 4s to 5m"},
		{"ejection", h.Ejection, &p.Ejection, shortestEjection, longestEjection, "must be from 1s to 15m"},
	} {
		if t.text == "" {
			continue
		}
		d, err := api.ParseTime(string(t.text))
		if err == nil && (d < t.least || d > t.most) {
			err = errors.New(t.bounds)
		}
		if err != nil {
			return nil, t.field, err
		}
		*t.into = d
	}
	for _, kind := range h.Kinds {
		switch kind {
		case "Connection":
			p.Connections = true
		case "Answer":
			p.Answers = true
		case "ServerError":
			p.Statuses = true
		default:
			return nil, "kinds", errors.New("must be Connection, Answer or ServerError")
		}
	}
	if len(h.Kinds) == 0 {
		p.Connections, p.Answers, p.Statuses = true, true, true
	}
	switch {
	case p.Errors < 1 || p.Errors > mostErrors:
		return nil, "errors", fmt.Errorf("must be from 1 to %d", mostErrors)
	case p.MostPercent < 1 || p.MostPercent > 100:
		return nil, "maxPercent", errors.New("must be from 1 to 100")
	}
	return p, "", nil
}

// readQuestion reads what is asked.
func readQuestion(a *v1alpha1.HealthProbe, p *model.Probe) (field string, err error) {
	switch {
	case p.Type != model.ProbeTCP && p.Type != model.ProbeHTTP && p.Type != model.ProbeGRPC:
		return "type", errors.New("must be TCP, HTTP or GRPC")
	case a.Port < 0 || a.Port > 65535:
		return "port", errors.New("must be from 1 to 65535")
	case p.Type != model.ProbeGRPC && a.Service != "":
		return "service", errors.New("is for type GRPC")
	case !probeService().MatchString(a.Service):
		return "service", errors.New("must be the name of a gRPC service")
	case p.Type != model.ProbeHTTP && a.Path+a.Host+a.Method+a.Expect != "":
		return "type", errors.New("must be HTTP with path, host, method or expect")
	}
	p.Port, p.Service = uint16(a.Port), a.Service
	if p.Type != model.ProbeHTTP {
		return "", nil
	}
	p.Path, p.Host, p.Method = cmp.Or(a.Path, "/"), a.Host, cmp.Or(a.Method, "GET")
	expect := probeExpect.FindStringSubmatch(cmp.Or(a.Expect, "200-399"))
	switch {
	case checkProbePath(p.Path) != nil:
		return "path", checkProbePath(p.Path)
	case p.Host != "" && checkPodHost(p.Host) != nil:
		return "host", checkPodHost(p.Host)
	case p.Method != "GET" && p.Method != "HEAD":
		return "method", errors.New("must be GET or HEAD")
	case expect == nil:
		return "expect", errors.New("must be a status, or a range such as 200-299")
	}
	p.Least, _ = strconv.Atoi(expect[1]) // both have three digits
	p.Most, _ = strconv.Atoi(cmp.Or(expect[2], expect[1]))
	if p.Most < p.Least {
		return "expect", errors.New("must have the smaller status first")
	}
	return "", nil
}

const maxProbePath = 1024

func checkProbePath(path string) error {
	if len(path) > maxProbePath || !probePath.MatchString(path) {
		return fmt.Errorf("must begin with / and have no spaces, and at most %d characters", maxProbePath)
	}
	return nil
}

// readPace reads when and how often it is asked.
func readPace(a *v1alpha1.HealthProbe, p *model.Probe, interval time.Duration) (field string, err error) {
	p.Interval = min(max(interval, shortestInterval), longestInterval)
	if a.Interval != "" {
		if p.Interval, err = api.ParseTime(string(a.Interval)); err != nil {
			return "interval", err
		}
	}
	p.Timeout = min(defaultProbeTimeout, p.Interval)
	if a.Timeout != "" {
		if p.Timeout, err = api.ParseTime(string(a.Timeout)); err != nil {
			return "timeout", err
		}
	}
	p.Rise, p.Fall = int(cmp.Or(a.Rise, defaultRise)), int(cmp.Or(a.Fall, defaultFall))
	switch {
	case p.Interval < shortestInterval || p.Interval > longestInterval:
		return "interval", errors.New("must be from 1s to 5m")
	case p.Timeout > p.Interval:
		return "timeout", errors.New("must not be longer than interval")
	case p.Rise < 1 || p.Rise > mostRun:
		return "rise", errors.New("must be from 1 to 10")
	case p.Fall < 1 || p.Fall > mostRun:
		return "fall", errors.New("must be from 1 to 10")
	}
	return "", nil
}

// withoutPassthroughHealth are the fields that a passthrough connection has no use for.
func withoutPassthroughHealth(h *v1alpha1.Health) []string {
	if h.Active != nil && h.Active.Type != "" && h.Active.Type != string(model.ProbeTCP) {
		return []string{"active"}
	}
	return nil
}

// changeHealth changes a copy of the group, because Specs share groups.
func (s *Spec) changeHealth(change func(*v1alpha1.HealthProbe)) error {
	var h v1alpha1.Health
	var probe v1alpha1.HealthProbe
	if s.Groups.Health != nil {
		h = *s.Groups.Health
		if h.Active != nil {
			probe = *h.Active
		}
	}
	change(&probe)
	h.Active = &probe
	if _, _, err := readHealth(&h, defaultProbeTimeout); err != nil {
		return err
	}
	s.Groups.Health = &h
	return nil
}

func setHealthType(s *Spec, v string) error {
	t := map[string]model.ProbeType{"tcp": model.ProbeTCP, "http": model.ProbeHTTP, "grpc": model.ProbeGRPC}[strings.ToLower(v)]
	if t == "" {
		return errors.New("must be tcp, http or grpc")
	}
	return s.changeHealth(func(p *v1alpha1.HealthProbe) { p.Type = string(t) })
}

// setHealthPath comes after setHealthType, in the order of the table.
func setHealthPath(s *Spec, v string) error {
	if err := checkProbePath(v); err != nil {
		return err
	}
	return s.changeHealth(func(p *v1alpha1.HealthProbe) {
		if p.Path = v; p.Type == "" {
			p.Type = string(model.ProbeHTTP)
		}
	})
}
