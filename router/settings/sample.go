package settings

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/api"
)

// mostSample is the N of the smallest share of requests, 1/N.
const mostSample = 10_000

// sample reads of which share of requests the time is measured.
func (r *reader) sample(annotations map[string]string) {
	text, set := annotations[api.AnnotationLatencySample]
	if !set {
		return
	}
	const field = "metadata.annotations[" + api.AnnotationLatencySample + "]"
	n, ok := readSample(text)
	if !ok {
		r.find(field, fmt.Sprintf("must be off, all or 1/N, where N is from 1 to %d", mostSample), "no latencies are measured")
		return
	}
	if n > 0 && r.flags.OneLogFormat && r.out.Render.Log.Target != "" {
		r.find(field, "HAProxy before 3.1 has no records of requests beside an access log", "no latencies are measured")
		return
	}
	r.out.Render.Sample = n
}

// readSample returns N, or 0 for off.
func readSample(text string) (n int, ok bool) {
	switch text {
	case "off":
		return 0, true
	case "all":
		return 1, true
	}
	digits, share := strings.CutPrefix(text, "1/")
	n, err := strconv.Atoi(digits)
	return n, share && err == nil && n >= 1 && n <= mostSample && strconv.Itoa(n) == digits
}
