package settings

import (
	"regexp"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"

	"github.com/fairlead/fairlead/router/model"
)

// Grammar of the API, operator.openshift.io/v1.
var (
	token = regexp.MustCompile("^[-!#$%&'*+.0-9A-Z^_`a-z|~]{1,1000}$")
	// formatText is a text of HAProxy's log format: literal text, %% and
	// fields such as %ci, %{+X}ID and %[src].
	formatText  = regexp.MustCompile(`^(%(%|(\{[-+]?[QXE](,[-+]?[QXE])*\})?([A-Za-z]+|\[[.0-9A-Z_a-z]+(\([^)]*\))?(,[.0-9A-Z_a-z]+(\([^)]*\))?)*\]))|[^%[:cntrl:]])*$`)
	formatField = regexp.MustCompile(`%(?:\{[^}]*\})?([A-Za-z]+)`)
	mediaType   = regexp.MustCompile(`^(?i)(x-[^][ ()\\<>@,;:"/?.=\x00-\x1F\x7F]+|application|audio|image|message|multipart|text|video|font|model)/[^][ ()\\<>@,;:"/?=\x00-\x1F\x7F]+(; *[^][ ()\\<>@,;:"/?.=\x00-\x1F\x7F]+=([^][ ()\\<>@,;:"/?.=\x00-\x1F\x7F]+|"([^"\\\x00-\x1F\x7F]|\\.)*"))?$`)
)

// uniqueIDFields are the fields of HAProxy's log format that are known when a
// request arrives. The others cannot stand in a unique ID.
var uniqueIDFields = map[string]bool{
	"o": true, "ci": true, "cp": true, "fi": true, "fp": true, "Ts": true, "rt": true, "pid": true, "f": true, "ft": true,
	"H": true, "T": true, "t": true, "ms": true, "hr": true, "lc": true, "ac": true, "fc": true, "rc": true, "HM": true, "HP": true, "HU": true, "HV": true, "HQ": true,
}

const (
	defaultUniqueIDFormat = "%{+X}o %ci:%cp_%fi:%fp_%Ts_%rt:%pid"
	maxFormat             = 1024
	maxActions            = 20
)

// reserved are headers that no action may change: the router's own.
var reserved = []string{"strict-transport-security", "proxy", "host", "cookie", "set-cookie"}

// http reads spec.httpHeaders and what belongs to it.
func (r *reader) http() {
	h := &r.out.Render.HTTP
	h.IgnoreProbes = r.spec.HTTPEmptyRequestsPolicy == operatorv1.HTTPEmptyRequestsPolicyIgnore
	h.DeferClose = r.spec.IdleConnectionTerminationPolicy == operatorv1.IngressControllerConnectionTerminationPolicyDeferred
	h.AbortOnClose = r.spec.ClosedClientConnectionPolicy == operatorv1.IngressControllerClosedClientConnectionPolicyAbort
	for _, t := range r.spec.HTTPCompression.MimeTypes {
		if !mediaType.MatchString(string(t)) {
			r.refuse("spec.httpCompression.mimeTypes", "%q is not a media type", t)
			continue
		}
		h.Compress = append(h.Compress, string(t))
	}
	s := r.spec.HTTPHeaders
	if s == nil {
		return
	}
	r.uniqueID(s.UniqueId)
	seen := map[string]bool{}
	for _, name := range s.HeaderNameCaseAdjustments {
		n := strings.ToLower(string(name))
		if !token.MatchString(n) || seen[n] {
			r.refuse("spec.httpHeaders.headerNameCaseAdjustments", "%q is not the name of a header, or is there twice", name)
			continue
		}
		seen[n] = true
		h.CaseAdjustments = append(h.CaseAdjustments, string(name))
	}
	h.RequestHeaders = r.actions("request", "req", s.Actions.Request)
	h.ResponseHeaders = r.actions("response", "res", s.Actions.Response)
}

func (r *reader) uniqueID(u operatorv1.IngressControllerHTTPUniqueIdHeaderPolicy) {
	if u.Name == "" {
		return
	}
	if !token.MatchString(u.Name) {
		r.refuse("spec.httpHeaders.uniqueId.name", "is not the name of a header")
		return
	}
	format := u.Format
	if format == "" {
		format = defaultUniqueIDFormat
	}
	if len(format) > maxFormat || !formatText.MatchString(format) {
		r.refuse("spec.httpHeaders.uniqueId.format", "is not a log format of HAProxy with at most %d bytes", maxFormat)
		return
	}
	for _, f := range formatField.FindAllStringSubmatch(strings.ReplaceAll(format, "%%", ""), -1) {
		if !uniqueIDFields[f[1]] {
			r.refuse("spec.httpHeaders.uniqueId.format", "%%%s is not known when a request arrives, or not at all", f[1])
			return
		}
	}
	r.out.Render.HTTP.UniqueIDName, r.out.Render.HTTP.UniqueIDFormat = u.Name, format
}

// actions reads the header changes of one direction. One that cannot be used
// is left out.
func (r *reader) actions(direction, fetch string, list []operatorv1.IngressControllerHTTPHeader) []model.HeaderAction {
	var out []model.HeaderAction
	for i, a := range list {
		field := "spec.httpHeaders.actions." + direction + "[" + a.Name + "]"
		action := model.HeaderAction{Name: a.Name, Delete: a.Action.Type == operatorv1.Delete}
		if a.Action.Set != nil {
			action.Value = a.Action.Set.Value
		}
		if i >= maxActions {
			r.refuse(field, "is beyond the limit of %d actions", maxActions)
			continue
		}
		if f, problem := action.Problem(fetch, a.Action.Type == operatorv1.Set, reserved); problem != "" {
			r.refuse(field+f, "%s", problem)
			continue
		}
		out = append(out, action)
	}
	return out
}

// pages reads the error pages of spec.httpErrorCodePages, which come as files.
func (r *reader) pages() {
	const field = "spec.httpErrorCodePages"
	if r.spec.HttpErrorCodePages.Name == "" {
		return
	}
	p := &r.out.Render.Pages
	for _, page := range []struct {
		key, text string
		to        *string
	}{
		{"error-page-503.http", r.flags.PageUnavailable, &p.Unavailable},
		{"error-page-404.http", r.flags.PageNotFound, &p.NotFound},
	} {
		switch {
		case page.text == "":
		case !wholeResponse(page.text):
			r.refuse(field, "%s is not a whole HTTP response: a status line, headers, an empty line, a body, at most %d bytes", page.key, maxPage)
		default:
			*page.to = page.text
		}
	}
}

// maxPage is what fits in HAProxy's buffer beside what it keeps free.
const maxPage = 16000

var statusLine = regexp.MustCompile(`^HTTP/1\.[01] [1-5][0-9][0-9]( [^\r\n]*)?\r?\n`)

func wholeResponse(text string) bool {
	if len(text) > maxPage || !statusLine.MatchString(text) {
		return false
	}
	return strings.Contains(text, "\n\n") || strings.Contains(text, "\r\n\r\n")
}
