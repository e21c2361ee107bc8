// Package observe reads the records of requests that HAProxy writes while a client looks,
// chooses among them, and says in words how each ended. It is pure; package feed reads
// HAProxy, and serves them.
package observe

import (
	"bytes"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// Record is one request, or one connection that is handed on whole. What clients have written
// in it may hold any byte.
type Record struct {
	// Time is when the request had ended.
	Time time.Time `json:"time"`
	// ID is that of spec.httpHeaders.uniqueId, if the IngressController has one.
	ID string `json:"id,omitempty"`
	// Kind, Namespace and Route name the object that the request was for; they are empty
	// for one that no object takes, and one that the router redirects to https.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Route     string `json:"route,omitempty"`
	// Traceparent is what the pod got, if the request has a trace, and ParentSpan the span of
	// the client's traceparent, if the trace is the client's.
	Traceparent string `json:"traceparent,omitempty"`
	ParentSpan  string `json:"parentSpan,omitempty"`
	// Pod and Service are where it went, or empty. An endpoint that is no pod has its address
	// for Pod.
	Pod     string `json:"pod,omitempty"`
	Service string `json:"service,omitempty"`
	// Endpoint is the address of the pod, and Secure is true if it is spoken to by TLS.
	Endpoint netip.AddrPort `json:"-"`
	Secure   bool           `json:"-"`
	// Protocol is HTTP/1, HTTP/2 or TCP.
	Protocol string `json:"protocol"`
	Method   string `json:"method,omitempty"`
	Host     string `json:"host,omitempty"`
	// Path is without query. PathBytes is the length of the path as the client sent it, of
	// which a record has the beginning.
	Path      string `json:"path,omitempty"`
	PathBytes int    `json:"pathBytes,omitempty"`
	// Status is that of the answer; 0 and -1 are none.
	Status int `json:"status,omitempty"`
	// Received and Sent are bytes from and to the client.
	Received int64  `json:"receivedBytes"`
	Sent     int64  `json:"sentBytes"`
	Timers   Timers `json:"timers"`
	// Ended has HAProxy's two letters for how it ended, and Words what they mean.
	Ended string `json:"ended"`
	Words string `json:"words,omitempty"`
	// Policy is the group of policies that answered in place of the pods.
	Policy string `json:"policy,omitempty"`
	// Retries are further attempts to connect to pods; Moved is true if one of them was
	// another pod.
	Retries int    `json:"retries,omitempty"`
	Moved   bool   `json:"moved,omitempty"`
	Client  string `json:"client"`
	// TLS is the version of TLS that ended here, such as TLSv1.3.
	TLS        string `json:"tls,omitempty"`
	ServerName string `json:"serverName,omitempty"`
}

// Timers are in seconds; -1 is a phase that was not reached.
type Timers struct {
	// Handshake is that of TLS, Idle the time before the request, Request until its headers
	// were there, Queue until a pod was free, Connect until it was connected, Response until
	// its headers were there, and Data until the answer was sent.
	Handshake float64 `json:"handshake"`
	Idle      float64 `json:"idle"`
	Request   float64 `json:"request"`
	Queue     float64 `json:"queue"`
	Connect   float64 `json:"connect"`
	Response  float64 `json:"response"`
	Data      float64 `json:"data"`
	// Total is from the first byte of the request to the last one of the answer, and of a
	// connection its whole life.
	Total float64 `json:"total"`
}

// The fields of a record (render: requestRecord), and how many there are.
const (
	fieldKind = iota
	fieldTime
	fieldTarget
	fieldServer
	fieldStatus
	fieldEnded
	fieldRetries
	fieldTimers
	fieldReceived
	fieldSent
	fieldClient
	fieldID
	fieldMethod
	fieldVersion
	fieldTLS
	fieldServerName
	fieldHost
	fieldPathBytes
	fieldPath
	fieldTraceparent
	fieldParentSpan
	fieldPolicy
	fields
	// fieldSampled follows where requests are sampled (Sampled).
	fieldSampled = fields
)

// Parse reads a line of HAProxy's ring. It reports false for any other text.
func Parse(line []byte) (r Record, ok bool) {
	var f [fields]string
	parts := bytes.Split(line, []byte("|"))
	if len(parts) == fields+1 && string(parts[fieldKind]) == "h" && (string(parts[fieldSampled]) == "1" || string(parts[fieldSampled]) == "-") {
		parts = parts[:fieldSampled]
	}
	if len(parts) != fields || len(parts[fieldKind]) != 1 {
		return r, false
	}
	for i, p := range parts {
		f[i] = string(p)
	}
	micros, err := strconv.ParseInt(f[fieldTime], 10, 64)
	if err != nil || f[fieldKind] != "h" && f[fieldKind] != "t" || !r.Timers.parse(f[fieldTimers]) {
		return r, false
	}
	r.Time = time.UnixMicro(micros).UTC()
	r.Kind, r.Namespace, r.Route = ownerOf(f[fieldTarget])
	r.Secure = strings.HasPrefix(f[fieldTarget], string(model.KindSecure)+":")
	r.Pod, r.Service = podOf(f[fieldServer])
	r.Endpoint = endpointOf(f[fieldServer])
	r.trace(f[fieldTraceparent], f[fieldParentSpan])
	r.Status, r.Received, r.Sent = int(number(f[fieldStatus])), number(f[fieldReceived]), number(f[fieldSent])
	r.Ended = f[fieldEnded][:min(len(f[fieldEnded]), 2)]
	r.Retries, r.Moved = int(number(strings.TrimPrefix(f[fieldRetries], "+"))), strings.HasPrefix(f[fieldRetries], "+")
	r.Client, r.TLS, r.ServerName = f[fieldClient], given(f[fieldTLS]), text(f[fieldServerName])
	r.Protocol = "TCP"
	if f[fieldKind] == "h" {
		r.Protocol, r.ID = "HTTP/"+strconv.FormatInt(number(f[fieldVersion]), 10), text(f[fieldID])
		r.Method, r.Host, r.Path, r.PathBytes = text(f[fieldMethod]), text(f[fieldHost]), text(f[fieldPath]), int(number(f[fieldPathBytes]))
	} else if r.ServerName == "" {
		r.ServerName = text(f[fieldHost]) // that of a listener of a Gateway
	}
	r.Policy = given(f[fieldPolicy])
	r.Words = Words(&r)
	return r, true
}

// Dropped reads the line by which HAProxy says that it had no room for some records.
func Dropped(line []byte) (int, bool) {
	count, rest, _ := strings.Cut(string(line), " ")
	n, err := strconv.ParseUint(count, 10, 32)
	if err != nil || n == 0 || rest != "event dropped" && rest != "events dropped" {
		return 0, false
	}
	return int(n), true
}

// given is a field that HAProxy writes; "-" is none.
func given(field string) string {
	if field == "-" {
		return ""
	}
	return field
}

// text is a field that the client writes, which HAProxy escapes.
func text(field string) string {
	plain, err := url.PathUnescape(given(field))
	if err != nil {
		return field
	}
	return plain
}

// number is 0 for what is none.
func number(field string) int64 {
	n, err := strconv.ParseInt(field, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (t *Timers) parse(field string) bool {
	parts := strings.Split(field, "/")
	all := []*float64{&t.Handshake, &t.Idle, &t.Request, &t.Queue, &t.Connect, &t.Response, &t.Data, &t.Total}
	if len(parts) != len(all) {
		return false
	}
	for i, p := range parts {
		ms, err := strconv.ParseInt(strings.TrimPrefix(p, "+"), 10, 64)
		if err != nil {
			return false
		}
		if *all[i] = -1; ms >= 0 {
			*all[i] = float64(ms) / 1000
		}
	}
	return true
}

// ownerOf reads a routing value: the name of a backend, or a mark that is none.
func ownerOf(value string) (kind, namespace, name string) {
	if !model.IsBackendName(value) {
		return "", "", ""
	}
	parts := strings.SplitN(value, ":", 4)
	if len(parts) < 3 {
		return "", "", ""
	}
	claim, _, _ := model.SplitClaim(parts[2])
	of, name := model.SplitOwner(claim)
	return string(of), parts[1], name
}

// podOf reads the name of a server: "pod:POD:SERVICE:…", or "ept:SERVICE:PORT:ADDRESS…".
func podOf(server string) (pod, service string) {
	parts := strings.Split(server, ":")
	switch {
	case len(parts) > 2 && parts[0] == "pod":
		return parts[1], parts[2]
	case len(parts) > 3 && parts[0] == "ept":
		return strings.Join(parts[3:], ":"), parts[1]
	}
	return "", ""
}

// endpointOf reads the address in the name of a server, "…:ADDRESS:PORT" with perhaps eight
// letters behind (model.Server.Name).
func endpointOf(server string) netip.AddrPort {
	parts := strings.Split(server, ":")
	begin := map[string]int{"pod": 4, "ept": 3}[parts[0]]
	if begin == 0 {
		return netip.AddrPort{}
	}
	const longestPort = 5
	if last := len(parts) - 1; len(parts[last]) > longestPort {
		parts = parts[:last]
	}
	if len(parts) < begin+2 {
		return netip.AddrPort{}
	}
	last := len(parts) - 1
	address, err := netip.ParseAddr(strings.Join(parts[begin:last], ":"))
	port, wrong := strconv.ParseUint(parts[last], 10, 16)
	if err != nil || wrong != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(address, uint16(port))
}

var (
	traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$`)
	spanID      = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

// trace takes the trace of a request, if it has one.
func (r *Record) trace(header, parent string) {
	if !traceparent.MatchString(header) {
		return
	}
	r.Traceparent = header
	if spanID.MatchString(parent) {
		r.ParentSpan = parent
	}
}

// Trace is the ID of the request's trace, or empty.
func (r *Record) Trace() string {
	if r.Traceparent == "" {
		return ""
	}
	return strings.Split(r.Traceparent, "-")[1]
}

// Sampled reports whether the trace of the request is recorded.
func (r *Record) Sampled() bool { return strings.HasSuffix(r.Traceparent, "-01") }
