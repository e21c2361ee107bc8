package settings

import (
	"cmp"
	"net/netip"
	"strconv"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/router/render"
)

// facilities are those of syslog as HAProxy calls them.
var facilities = map[string]bool{
	"kern": true, "user": true, "mail": true, "daemon": true, "auth": true, "syslog": true, "lpr": true, "news": true,
	"uucp": true, "cron": true, "auth2": true, "ftp": true, "ntp": true, "audit": true, "alert": true, "cron2": true,
	"local0": true, "local1": true, "local2": true, "local3": true, "local4": true, "local5": true, "local6": true, "local7": true,
}

const (
	minLogLength = 480
	maxLogLength = 8192
	// maxCapture bounds what is logged of one header.
	maxCapture = 4096
)

// logging reads spec.logging.access.
func (r *reader) logging() {
	const field = "spec.logging.access."
	if r.spec.Logging == nil || r.spec.Logging.Access == nil {
		return
	}
	a := r.spec.Logging.Access
	var l render.Log
	if !r.destination(field+"destination.", &a.Destination, &l) {
		return
	}
	// HAProxy itself decides which fields it knows.
	switch {
	case a.HttpLogFormat == "":
	case printable(a.HttpLogFormat):
		l.Format = a.HttpLogFormat
	default:
		r.find(field+"httpLogFormat", "holds control characters", "HAProxy's default format is used")
	}
	l.RequestHeaders = r.captures(field+"httpCaptureHeaders.request", a.HTTPCaptureHeaders.Request)
	l.ResponseHeaders = r.captures(field+"httpCaptureHeaders.response", a.HTTPCaptureHeaders.Response)
	l.Cookie = r.cookie(field+"httpCaptureCookies", a.HTTPCaptureCookies)
	l.IgnoreEmpty = a.LogEmptyRequests == operatorv1.LoggingPolicyIgnore
	r.out.Render.Log = l
}

// destination reports whether there is one that can be used.
func (r *reader) destination(field string, d *operatorv1.LoggingDestination, l *render.Log) bool {
	length := 0
	switch d.Type {
	case operatorv1.ContainerLoggingDestinationType:
		// Without a container for them, lines go to the log of HAProxy's.
		l.Target = cmp.Or(r.flags.LogSocket, "stdout")
		if d.Container != nil {
			length = int(d.Container.MaxLength)
		}
	case operatorv1.SyslogLoggingDestinationType:
		if d.Syslog == nil {
			return false
		}
		address, err := netip.ParseAddr(d.Syslog.Address)
		if err != nil || address.Zone() != "" || d.Syslog.Port < 1 || d.Syslog.Port > 65535 {
			r.find(field+"syslog", "must have an IP address and a port", "requests are not logged")
			return false
		}
		l.Target = target(address, int(d.Syslog.Port))
		length = int(d.Syslog.MaxLength)
		switch {
		case d.Syslog.Facility == "" || facilities[d.Syslog.Facility]:
			l.Facility = d.Syslog.Facility
		default:
			r.find(field+"syslog.facility", "is not a syslog facility", "local1 is used")
		}
	default:
		r.find(field+"type", "must be Container or Syslog", "requests are not logged")
		return false
	}
	switch {
	case length == 0:
	case length < minLogLength || length > maxLogLength:
		r.find(field+"maxLength", "must be from 480 to 8192", "1024 is used")
	default:
		l.MaxLength = length
	}
	return true
}

// target is how HAProxy writes an address.
func target(a netip.Addr, port int) string {
	if a.Is4() {
		return a.String() + ":" + strconv.Itoa(port)
	}
	return "ipv6@" + a.String() + ":" + strconv.Itoa(port)
}

func (r *reader) captures(field string, list []operatorv1.IngressControllerCaptureHTTPHeader) []render.Capture {
	var out []render.Capture
	for _, h := range list {
		if !token.MatchString(h.Name) || h.MaxLength < 1 || h.MaxLength > maxCapture {
			r.refuse(field+"["+h.Name+"]", "must have the name of a header and a length from 1 to %d", maxCapture)
			continue
		}
		out = append(out, render.Capture{Name: h.Name, Length: h.MaxLength})
	}
	return out
}

func (r *reader) cookie(field string, list []operatorv1.IngressControllerCaptureHTTPCookie) render.Capture {
	if len(list) == 0 {
		return render.Capture{}
	}
	c := list[0]
	name, whole := c.NamePrefix, ""
	if c.MatchType == operatorv1.CookieMatchTypeExact {
		name, whole = c.Name, "="
	}
	length := c.MaxLength
	if length == 0 {
		length = 256
	}
	if len(list) > 1 || !token.MatchString(name) || length < 1 || length > 1024 {
		r.refuse(field, "must be one cookie with a name, or the beginning of one, and a length from 1 to 1024")
		return render.Capture{}
	}
	return render.Capture{Name: name + whole, Length: length}
}

func printable(s string) bool {
	for _, c := range s {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}
