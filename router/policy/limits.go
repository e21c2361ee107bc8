package policy

import (
	"fmt"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// AnnotationMaxBody bounds the bodies of requests.
const AnnotationMaxBody = "fairlead.dev/max-body"

const (
	// maxBody is the largest limit of bodies, maxSize that of headers and URIs.
	maxBody, maxSize = 64 << 30, 1 << 20
	minHeaders       = 256
	minURI           = 16
)

// compileSizes adds what the group limits says of single requests to what a policy
// has: of two limits, the smaller one holds.
func compileSizes(l *v1alpha1.Limits, p *model.Policy) []Problem {
	if l == nil {
		return nil
	}
	var problems []Problem
	find := func(field, format string, args ...any) {
		problems = append(problems, closing("limits."+field, fmt.Sprintf(format, args...)))
	}
	if l.Body != nil {
		switch most, err := bodyLimit(&l.Body.Max); {
		case err != nil:
			find("body.max", "%s", err)
		case l.Body.UnknownLength != "" && l.Body.UnknownLength != "Refuse":
			find("body.unknownLength", "must be Refuse")
		default:
			p.Sizes.Body = smaller(p.Sizes.Body, most)
		}
	}
	if n := int(l.HeaderBytes); n != 0 && (n < minHeaders || n > maxSize) {
		find("headerBytes", "must be from %d to %d", minHeaders, maxSize)
	} else {
		p.Sizes.Headers = smaller(p.Sizes.Headers, n)
	}
	if n := int(l.URIBytes); n != 0 && (n < minURI || n > maxSize) {
		find("uriBytes", "must be from %d to %d", minURI, maxSize)
	} else {
		p.Sizes.URI = smaller(p.Sizes.URI, n)
	}
	return problems
}

// bodyLimit returns a limit in bytes.
func bodyLimit(q *resource.Quantity) (int64, error) {
	n, whole := q.AsInt64()
	if !whole || n < 0 || n > maxBody {
		return 0, fmt.Errorf("must be a whole number of bytes from 0 to 64Gi")
	}
	return n, nil
}

// smaller is the smaller of two limits, of which 0 is none.
func smaller[T int | int32 | int64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// bytesText is a number of bytes as the annotation has it. Quantities have further
// forms, of which "100m" is a tenth.
var bytesText = regexp.MustCompile(`^[0-9]{1,18}(Ki|Mi|Gi)?$`)

func setMaxBody(s *Spec, v string) error {
	if !bytesText.MatchString(v) {
		return fmt.Errorf("must be a number of bytes such as 1048576, 512Ki, 10Mi or 1Gi")
	}
	q, err := resource.ParseQuantity(v)
	if err != nil {
		return fmt.Errorf("must be a number of bytes: %w", err)
	}
	if _, err := bodyLimit(&q); err != nil {
		return err
	}
	s.limits().Body = &v1alpha1.BodyLimit{Max: q}
	return nil
}

// limits is the group limits, for annotations to fill.
func (s *Spec) limits() *v1alpha1.Limits {
	if s.Groups.Limits == nil {
		s.Groups.Limits = &v1alpha1.Limits{}
	}
	return s.Groups.Limits
}

// maxURIRow is the row of the annotation in the table.
var maxURIRow = Annotation{
	Key: "fairlead.dev/max-uri", Values: "bytes, from 16 to 1048576", Default: "no limit", Terminations: http,
	Doc:      "Requests with a longer path and query get 414.",
	protects: always, set: func(s *Spec, v string) error {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil || n < minURI || n > maxSize {
			return fmt.Errorf("must be a number of bytes from %d to %d", minURI, maxSize)
		}
		s.limits().URIBytes = int32(n)
		return nil
	},
}

func always(*Spec) bool { return true }

// limited reports whether limits are switched on.
func (s *Spec) limited() bool { return s.limit }
