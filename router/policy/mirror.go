package policy

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// AnnotationMirror is that of the group mirror.
const AnnotationMirror = "fairlead.dev/mirror"

// mirrorRow is the annotation's row in the table.
var mirrorRow = Annotation{
	Key: AnnotationMirror, Group: GroupMirror, Terminations: http, Default: "none",
	Values: "SERVICE or SERVICE:PORT, and a percentage such as 5% or 0.25%",
	Doc:    "Copies of requests, without bodies, go to this Service of the namespace; their answers are dropped. Without a percentage all requests are copied.",
	set:    setMirror,
}

// MostMirrorTargets is how many targets copies of one request may have, and MostMirrorBody
// the longest body that is copied.
const (
	MostMirrorTargets = 3
	MostMirrorBody    = 16 << 10
)

// Bounds of the group mirror.
const (
	maxMirrorInFlight   = 256
	usualMirrorInFlight = 100
	maxMirrorHeaders    = 16
	maxMirrorValue      = 1024
)

// EffectNoMirror is what happens to a target that cannot be used.
const EffectNoMirror = "it gets no copies of requests"

var (
	mirrorPercent = regexp.MustCompile(`^(100(\.0{1,2})?|[0-9]{1,2}(\.[0-9]{1,2})?)$`)
	mirrorHost    = regex.Later(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?(:[0-9]{1,5})?$`)
)

// compileMirror returns what of the group mirror cannot be used as it stands. What it
// names is the door's to find out.
func compileMirror(m *v1alpha1.Mirror) (problems []Problem) {
	if m == nil {
		return nil
	}
	add := func(field string, err error) {
		problems = append(problems, Problem{Key: "mirror." + field, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: err.Error(), Effect: EffectNoMirror})
	}
	if n := len(m.Targets); n < 1 || n > MostMirrorTargets {
		add("targets", fmt.Errorf("must hold 1 to %d targets", MostMirrorTargets))
		return problems
	}
	for i := range m.Targets {
		if _, field, err := MirrorShare(&m.Targets[i]); err != nil {
			add(fmt.Sprintf("targets[%d]%s", i, field), err)
		}
	}
	return problems
}

// MirrorShare returns which share of the requests a target gets, in hundredths of a
// percent. An error says what is wrong with the target, and in which of its fields.
func MirrorShare(t *v1alpha1.MirrorTarget) (share int, field string, err error) {
	switch {
	case (t.Service == nil) == (t.URL == ""):
		return 0, "", errors.New("must have one of service and url")
	case t.URL != "" && strings.ContainsAny(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(t.URL, "http://"), "https://"), "/"), "/?#"):
		return 0, ".url", errors.New("must be a scheme, a host and perhaps a port; copies have the path of the request")
	case t.BodyBytes < 0 || t.BodyBytes > MostMirrorBody:
		return 0, ".bodyBytes", fmt.Errorf("must be from 0 to %d", MostMirrorBody)
	case t.MaxInFlight < 0 || t.MaxInFlight > maxMirrorInFlight:
		return 0, ".maxInFlight", fmt.Errorf("must be from 1 to %d", maxMirrorInFlight)
	case t.HostHeader != "" && !mirrorHost().MatchString(t.HostHeader):
		return 0, ".hostHeader", errors.New("must be a host name in lower case, perhaps with a port")
	}
	if field, err := checkMirrorHeaders(t.Headers); err != nil {
		return 0, ".headers" + field, err
	}
	if share, err = readShare(t.Percent); err != nil {
		return 0, ".percent", err
	}
	return share, "", nil
}

// readShare reads a percentage with up to two decimals.
func readShare(p *intstr.IntOrString) (int, error) {
	if p == nil {
		return 10000, nil
	}
	text := p.String()
	whole, decimals, _ := strings.Cut(text, ".")
	n, err := strconv.Atoi(whole + (decimals + "00")[:2])
	if err != nil || !mirrorPercent.MatchString(text) {
		return 0, errors.New("must be from 0 to 100, with two decimals at most")
	}
	return n, nil
}

func checkMirrorHeaders(h *v1alpha1.MirrorHeaders) (field string, err error) {
	if h == nil {
		return "", nil
	}
	if len(h.Set) > maxMirrorHeaders || len(h.Remove) > maxMirrorHeaders {
		return "", fmt.Errorf("must set and remove %d headers at most", maxMirrorHeaders)
	}
	for i, s := range h.Set {
		switch {
		case !copied(s.Name):
			return fmt.Sprintf(".set[%d].name", i), fmt.Errorf("%q is not the name of a header that copies may have", s.Name)
		case len(s.Value) > maxMirrorValue || !canaryValue.MatchString(s.Value):
			return fmt.Sprintf(".set[%d].value", i), fmt.Errorf("must have 1 to %d visible ASCII characters and spaces", maxMirrorValue)
		}
	}
	for i, n := range h.Remove {
		if !model.HeaderName(string(n)) {
			return fmt.Sprintf(".remove[%d]", i), fmt.Errorf("%q is not the name of a header", n)
		}
	}
	for i, n := range h.Keep {
		if n != "Authorization" && n != "Cookie" {
			return fmt.Sprintf(".keep[%d]", i), errors.New("must be Authorization or Cookie")
		}
	}
	return "", nil
}

// copied reports whether a policy may set a header of copies: not those that are about
// the connection or the body, or that say that it is a copy.
func copied(n v1alpha1.HeaderName) bool {
	plain := strings.ReplaceAll(strings.ToLower(string(n)), "_", "-")
	return model.HeaderName(string(n)) && !slices.Contains([]string{
		"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive", "proxy-connection", "x-fairlead-mirror",
	}, plain)
}

// MirrorInFlight is how many copies may wait for a target.
func MirrorInFlight(t *v1alpha1.MirrorTarget) int {
	return cmp.Or(int(t.MaxInFlight), usualMirrorInFlight)
}

// setMirror reads "SERVICE[:PORT] [PERCENT%]".
func setMirror(s *Spec, v string) error {
	const form = "must be SERVICE or SERVICE:PORT, and perhaps a percentage such as 5%"
	words := strings.Fields(v)
	if len(words) < 1 || len(words) > 2 {
		return errors.New(form)
	}
	name, port, hasPort := strings.Cut(words[0], ":")
	if len(validation.IsDNS1123Subdomain(name)) > 0 || hasPort && !canaryPort.MatchString(port) {
		return errors.New(form)
	}
	t := v1alpha1.MirrorTarget{Service: &v1alpha1.MirrorService{Name: v1alpha1.ObjectName(name)}}
	if hasPort {
		p := intstr.Parse(port)
		t.Service.Port = &p
	}
	if len(words) == 2 {
		number, ok := strings.CutSuffix(words[1], "%")
		p := intstr.FromString(number)
		if _, err := readShare(&p); err != nil || !ok {
			return errors.New(form)
		}
		t.Percent = &p
	}
	s.Groups.Mirror = &v1alpha1.Mirror{Targets: []v1alpha1.MirrorTarget{t}}
	return nil
}
