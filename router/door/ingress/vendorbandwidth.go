package ingress

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/fairlead/fairlead/router/policy"
)

// nginxBandwidth are the annotations of ingress-nginx about bandwidth.
func nginxBandwidth(t map[string]vendorAnnotation) {
	t["limit-rate"] = vendorAnnotation{
		carry: limitRate, becomes: "`fairlead.dev/bandwidth-download`",
		differs: "for each request, not for each connection; 10 to 1048576 kilobytes a second; where the IngressController allows it",
	}
	t["limit-rate-after"] = vendorAnnotation{instead: "the whole answer has the limit of limit-rate, and HAProxy has none that begins later"}
}

// limitRate reads kilobytes a second; 0 is no limit.
func limitRate(value string, into *carried) error {
	n, err := strconv.ParseUint(value, 10, 31)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a number of kilobytes a second", value)
	case n == 0:
		return nil
	case n < 10 || n > 1<<20:
		return errors.New("must be from 10 to 1048576 kilobytes a second")
	}
	into.set(policy.AnnotationDownload, strconv.FormatUint(n, 10)+"Ki", nil)
	return nil
}
