package policy

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Annotations of the group bandwidth.
const (
	AnnotationDownload = "fairlead.dev/bandwidth-download"
	AnnotationUpload   = "fairlead.dev/bandwidth-upload"
)

// downloadRow and uploadRow are the annotations' rows in the table.
var downloadRow = Annotation{
	Key: AnnotationDownload, Group: GroupBandwidth, Terminations: http, Default: "no limit", Values: "bytes a second, or a number with Ki, Mi or Gi, from 10Ki to 1Gi",
	Doc: "How fast the body of an answer reaches the client, where the IngressController allows limits (bandwidthLimits).",
	set: setBandwidth(func(b *v1alpha1.Bandwidth) **resource.Quantity { return &b.Download }),
}

var uploadRow = Annotation{
	Key: AnnotationUpload, Group: GroupBandwidth, Terminations: http, Default: "no limit", Values: "bytes a second, or a number with Ki, Mi or Gi, from 10Ki to 1Gi",
	Doc: "How fast the body of a request reaches the pod, where the IngressController allows limits (bandwidthLimits).",
	set: setBandwidth(func(b *v1alpha1.Bandwidth) **resource.Quantity { return &b.Upload }),
}

// Bounds of the group bandwidth, in bytes a second. Less than a small part of a buffer
// would hold requests for long, and HAProxy counts in 32 bits.
const minBandwidth, maxBandwidth = 10 << 10, 1 << 30

// compileBandwidth sets the group bandwidth of a policy. It protects nothing, so what
// cannot be read is no limit.
func compileBandwidth(b *v1alpha1.Bandwidth, p *model.Policy) (problems []Problem) {
	if b == nil {
		return nil
	}
	p.Bandwidth = model.Bandwidth{}
	read := func(field string, q *resource.Quantity, into *int) {
		if q == nil {
			return
		}
		n, err := bandwidth(q)
		if err != nil {
			problems = append(problems, Problem{Key: "bandwidth." + field, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: err.Error(), Effect: "it is not limited"})
			return
		}
		*into = n
	}
	read("download", b.Download, &p.Bandwidth.Download)
	read("upload", b.Upload, &p.Bandwidth.Upload)
	return problems
}

func bandwidth(q *resource.Quantity) (int, error) {
	n, whole := q.AsInt64()
	if !whole || n < minBandwidth || n > maxBandwidth {
		return 0, errors.New("must be a whole number of bytes a second from 10Ki to 1Gi")
	}
	return int(n), nil
}

// setBandwidth changes a copy of the group, because Specs share groups.
func setBandwidth(field func(*v1alpha1.Bandwidth) **resource.Quantity) func(*Spec, string) error {
	return func(s *Spec, v string) error {
		if !bytesText.MatchString(v) {
			return errors.New("must be a number of bytes such as 65536, 512Ki or 10Mi")
		}
		q, err := resource.ParseQuantity(v)
		if err != nil {
			return fmt.Errorf("must be a number of bytes: %w", err)
		}
		if _, err := bandwidth(&q); err != nil {
			return err
		}
		var b v1alpha1.Bandwidth
		if s.Groups.Bandwidth != nil {
			b = *s.Groups.Bandwidth
		}
		*field(&b) = &q
		s.Groups.Bandwidth = &b
		return nil
	}
}
