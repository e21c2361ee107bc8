package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
)

// Collector is where spans are sent, by the OpenTelemetry protocol (OTLP).
type Collector struct {
	// URL is https://HOST:PORT, or http:// without TLS. With HTTP it may have a path, below which
	// /v1/traces is.
	URL string
	// HTTP has spans sent in requests of HTTP, not by gRPC.
	HTTP bool
}

const (
	// usualRatio is the share of requests that are sampled.
	usualRatio = 0.01
	// grpcPort and httpPort are where collectors listen, unless the URL has a port.
	grpcPort, httpPort = "4317", "4318"
	// maxTracing bounds the annotation, in bytes.
	maxTracing = 1024
)

// tracing reads the annotation that says where traces are sent. One that cannot be read traces
// nothing: a half of it would give pods traces that nothing records.
func (r *reader) tracing(annotations map[string]string) {
	text, set := annotations[api.AnnotationTracing]
	if !set {
		return
	}
	const field = "metadata.annotations[" + api.AnnotationTracing + "]"
	collector, all, err := readTracing(text)
	if err != nil {
		r.find(field, err.Error(), "requests are not traced")
		return
	}
	r.out.Ingest.Tracing = all
	if r.flags.OneLogFormat && r.out.Render.Log.Target != "" {
		r.findReason(field, api.ReasonSpansNotSent, "HAProxy before 3.1 has no records of requests beside an access log", "no spans are made; pods get a traceparent")
		return
	}
	r.out.Collector = collector
	if r.flags.CollectorProblem != "" {
		r.findReason(field, api.ReasonSpansNotSent, r.flags.CollectorProblem, "spans are dropped and counted; requests, and the traceparent that pods get, are as always")
	}
}

func readTracing(text string) (Collector, model.Tracing, error) {
	var c Collector
	all := model.Tracing{On: true, Parent: true, Sampled: usualRatio * model.AllSampled}
	fail := func(format string, args ...any) (Collector, model.Tracing, error) {
		return Collector{}, model.Tracing{}, fmt.Errorf(format, args...)
	}
	if len(text) > maxTracing {
		return fail("has %d bytes; at most %d are read", len(text), maxTracing)
	}
	seen, endpoint := map[string]bool{}, ""
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if seen[key] {
			return fail("%q is there twice", key)
		}
		seen[key] = true
		var ok bool
		switch key {
		case "endpoint":
			endpoint, ok = value, value != ""
		case "ratio":
			all.Sampled, ok = ratio(value)
		case "protocol":
			c.HTTP, ok = value == "http", value == "http" || value == "grpc"
		case "trustIncoming":
			all.Trust, ok = value == "true", value == "true" || value == "false"
		default:
			return fail("unknown key %q; use endpoint, ratio, protocol and trustIncoming", key)
		}
		if !ok {
			return fail("%s=%q: %s", key, value, map[string]string{
				"endpoint": "must be a URL", "ratio": "must be a number from 0 to 1", "protocol": "must be grpc or http", "trustIncoming": "must be true or false",
			}[key])
		}
	}
	var err error
	if c.URL, err = endpointURL(endpoint, c.HTTP); err != nil {
		return fail("endpoint: %w", err)
	}
	return c, all, nil
}

// ratio reads a share as a number of a million.
func ratio(text string) (int32, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 1) { // which NaN is not
		return 0, false
	}
	return int32(f*model.AllSampled + 0.5), true
}

// endpointURL judges the URL of a collector, and adds its usual port.
func endpointURL(text string, overHTTP bool) (string, error) {
	if text == "" {
		return "", errors.New("is missing; write endpoint=https://HOST:PORT")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", errors.New("is no URL, such as https://collector.example.com:4317")
	case u.Scheme != "https" && u.Scheme != "http":
		return "", errors.New("must begin with https://, or http:// for a collector without TLS")
	case u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || !printable(text) || strings.Contains(text, " "):
		return "", errors.New("must be a scheme, a host and a port, without user, query and fragment")
	case !overHTTP && strings.Trim(u.Path, "/") != "":
		return "", errors.New("has a path, which gRPC does not have; add protocol=http for OTLP over HTTP")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && backend.Metadata(a) {
		return "", fmt.Errorf("%s is link-local or a cloud's metadata service", a)
	}
	port := u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return "", fmt.Errorf("port %q is none", port)
	}
	if port == "" {
		if port = grpcPort; overHTTP {
			port = httpPort
		}
		u.Host = strings.TrimSuffix(u.Host, ":") + ":" + port
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u.String(), nil
}
