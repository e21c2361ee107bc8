package model

import (
	"regexp"
	"strings"
)

// The grammar of header actions, the same for Routes (route.openshift.io/v1)
// and IngressControllers (operator.openshift.io/v1): literal text, "%%", and
// fetches of a header or of the client's certificate with their converters.
var (
	headerName  = regexp.MustCompile("^[-!#$%&'*+.0-9A-Z^_`a-z|~]{1,255}$") // RFC 9110 5.6.2
	headerValue = map[string]*regexp.Regexp{
		"req": headerGrammar("req"),
		"res": headerGrammar("res"),
	}
)

func headerGrammar(fetch string) *regexp.Regexp {
	return regexp.MustCompile(`^(?:%(?:%|(?:\{[-+]?[QXE](?:,[-+]?[QXE])*\})?\[(?:` + fetch +
		`\.hdr\([0-9A-Za-z-]+\)|ssl_c_der)(?:,(?:lower|base64))*\])|[^%[:cntrl:]])+$`)
}

// maxNameInRecord is how long names may be that policies write, as in the CRD.
const maxNameInRecord = 128

// HeaderName reports whether a policy may name a header so. What begins or ends in a
// record besides needs a look of its own: a name may hold "|" and "+".
func HeaderName(name string) bool {
	return len(name) <= maxNameInRecord && headerName.MatchString(name)
}

// FixedHeaders reports whether actions do the same to every message, in any
// order: each name comes once, and no value has a fetch.
func FixedHeaders(actions []HeaderAction) bool {
	names := make(map[string]bool, len(actions))
	for _, a := range actions {
		name := strings.ToLower(a.Name)
		if names[name] || strings.Contains(strings.ReplaceAll(a.Value, "%%", ""), "%") {
			return false
		}
		names[name] = true
	}
	return true
}

// ReservedHeaders may not be changed by routes and policies: they belong to the
// router, or would undo what protects it.
func ReservedHeaders() []string {
	return []string{"strict-transport-security", "proxy", "cookie", "set-cookie"}
}

// HeaderValueForm says what the value of an action may be.
func HeaderValueForm(fetch string) string {
	return "text that may hold %[" + fetch + ".hdr(NAME)] and %[ssl_c_der], each with ,lower and ,base64, and %% for a percent sign"
}

// maxHeaderValue is the API's limit of a value, in bytes.
const maxHeaderValue = 16384

// Problem returns what is wrong with an action and the field below the action
// that has it, or two empty texts. Fetch is "req" for requests and "res" for
// responses, known says whether the action is one of Set and Delete, and
// reserved lists the headers that it may not change, in lower case.
func (a HeaderAction) Problem(fetch string, known bool, reserved []string) (field, problem string) {
	if !headerName.MatchString(a.Name) {
		return ".name", "is not the name of a header"
	}
	for _, name := range reserved {
		if strings.EqualFold(name, a.Name) {
			return ".name", "may not be changed: " + strings.Join(reserved, ", ")
		}
	}
	if a.Delete {
		return "", ""
	}
	if !known || len(a.Value) > maxHeaderValue || !headerValue[fetch].MatchString(a.Value) {
		return ".action", "must be Delete, or Set with " + HeaderValueForm(fetch)
	}
	return "", ""
}
