package fakeaws

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// request is one call.
type request struct {
	cloud   *Cloud
	service string
	action  string
	key     string
	form    form
	body    []byte
	http    *http.Request
	// state is what the call sees: for a stale read an older one.
	state *state
	now   time.Time
}

// operation carries out a call: it returns what the answer holds.
type operation func(*request) (any, error)

// apiError is a refusal with AWS's code.
type apiError struct {
	status        int
	code, message string
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

func refuse(code, format string, args ...any) error {
	return &apiError{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

var scope = regexp.MustCompile(`Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request`)

// maxBody is more than any request of a test has.
const maxBody = 4 << 20

// ServeHTTP answers a call of any service.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the client is gone
	}
	req := &request{cloud: c, http: r, body: body}
	if err := req.identify(); err != nil {
		req.fail(w, err)
		return
	}
	c.handle(w, req)
}

// identify finds out service and action.
func (r *request) identify() error {
	values, err := url.ParseQuery(string(r.body))
	if err != nil {
		values = url.Values{}
	}
	r.form = form{values: values}
	r.action = values.Get("Action")
	authorization := r.http.Header.Get("Authorization")
	if authorization == "" && r.action == "AssumeRoleWithWebIdentity" {
		r.service = "sts"
		return nil
	}
	found := scope.FindStringSubmatch(authorization)
	switch {
	case !strings.HasPrefix(authorization, "AWS4-HMAC-SHA256 ") || found == nil:
		return &apiError{http.StatusForbidden, "MissingAuthenticationToken", "Request is missing Authentication Token"}
	case !strings.Contains(authorization, "host"), r.http.Header.Get("X-Amz-Date") == "":
		return &apiError{http.StatusForbidden, "IncompleteSignature", "the host must be signed, and X-Amz-Date be there"}
	}
	r.key, r.service = found[1], found[4]
	if target := r.http.Header.Get("X-Amz-Target"); target != "" {
		_, r.action, _ = strings.Cut(target, ".")
	}
	if r.service == "route53" {
		r.action = route53Action(r.http)
	}
	return nil
}

// operations returns what a service can do.
func operations(service string) map[string]operation {
	switch service {
	case "elasticloadbalancing":
		return elbOperations()
	case "ec2":
		return ec2Operations()
	case "sts":
		return stsOperations()
	case "acm":
		return acmOperations()
	case "wafv2":
		return wafOperations()
	case "route53":
		return route53Operations()
	}
	return nil
}

// Reading reports whether an action changes nothing.
func Reading(action string) bool {
	for _, prefix := range []string{"Describe", "List", "Get", "AssumeRole"} {
		if strings.HasPrefix(action, prefix) {
			return true
		}
	}
	return false
}

func (c *Cloud) handle(w http.ResponseWriter, r *request) {
	c.mu.Lock()
	effect, acting := c.strike(r)
	if acting && c.interfere(w, r, effect) {
		return // answered, and unlocked
	}
	do := operations(r.service)[r.action]
	if do == nil {
		c.record(r, http.StatusBadRequest, "InvalidAction")
		c.mu.Unlock()
		r.fail(w, refuse("InvalidAction", "The action %s of service %s is not valid for this web service.", r.action, r.service))
		return
	}
	r.now = c.options.Now()
	r.state = c.state
	reading := Reading(r.action)
	switch {
	case reading && c.stale > 0 && r.service != "sts":
		c.stale--
		r.state = c.before
	case !reading && c.options.StaleReads > 0:
		c.before, c.stale = c.state.copy(), c.options.StaleReads
	}
	result, err := do(r)
	if !reading && err == nil {
		c.wake()
		if c.cut != nil {
			*c.cut--
		}
	}
	if acting && effect.kind == acceptThenFail && err == nil {
		err = &apiError{http.StatusInternalServerError, "InternalFailure", "the answer was lost, by the script"}
	}
	status, code := http.StatusOK, ""
	if refused, ok := err.(*apiError); ok { //nolint:errorlint // our own, never wrapped
		status, code = refused.status, refused.code
	}
	c.record(r, status, code)
	c.mu.Unlock()
	if !reading && c.options.Changed != nil {
		c.options.Changed(c)
	}
	if err != nil {
		r.fail(w, err)
		return
	}
	var out bytes.Buffer
	r.write(&out, result)
	text := out.Bytes()
	if acting && effect.kind == truncate {
		text = text[:len(text)/2]
	}
	w.Header().Set("Content-Type", r.contentType())
	_, _ = w.Write(text) // a client that is gone needs no answer
}

func (r *request) contentType() string {
	if r.service == "acm" || r.service == "wafv2" {
		return "application/x-amz-json-1.1"
	}
	return "text/xml"
}

const requestID = "8c0b1f5e-0000-4000-8000-fakefakefake"

// namespaces are those of the answers' root elements.
func namespace(service string) string {
	return map[string]string{
		"elasticloadbalancing": "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/",
		"ec2":                  "http://ec2.amazonaws.com/doc/2016-11-15/",
		"sts":                  "https://sts.amazonaws.com/doc/2011-06-15/",
		"route53":              "https://route53.amazonaws.com/doc/2013-04-01/",
	}[service]
}

// write writes an answer in the service's form.
func (r *request) write(out *bytes.Buffer, result any) {
	if result == nil {
		result = struct{}{}
	}
	switch r.service {
	case "acm", "wafv2":
		must(json.NewEncoder(out).Encode(result))
	case "ec2":
		fmt.Fprintf(out, `<%sResponse xmlns="%s"><requestId>%s</requestId>`, r.action, namespace(r.service), requestID)
		inner(out, result)
		fmt.Fprintf(out, "</%sResponse>", r.action)
	case "route53":
		fmt.Fprintf(out, `<?xml version="1.0"?><%sResponse xmlns="%s">`, r.action, namespace(r.service))
		inner(out, result)
		fmt.Fprintf(out, "</%sResponse>", r.action)
	default:
		fmt.Fprintf(out, `<%sResponse xmlns="%s"><%sResult>`, r.action, namespace(r.service), r.action)
		inner(out, result)
		fmt.Fprintf(out, "</%sResult><ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></%sResponse>", r.action, requestID, r.action)
	}
}

// inner writes the fields of a structure without its own element.
func inner(out *bytes.Buffer, result any) {
	var text bytes.Buffer
	encoder := xml.NewEncoder(&text)
	must(encoder.EncodeElement(result, xml.StartElement{Name: xml.Name{Local: "x"}}))
	out.Write(bytes.TrimSuffix(bytes.TrimPrefix(text.Bytes(), []byte("<x>")), []byte("</x>")))
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("write an answer: %v", err))
	}
}

// fail writes a refusal in the service's form.
func (r *request) fail(w http.ResponseWriter, err error) {
	refused, ok := err.(*apiError) //nolint:errorlint // our own, never wrapped
	if !ok {
		refused = &apiError{http.StatusInternalServerError, "InternalFailure", err.Error()}
	}
	w.Header().Set("Content-Type", r.contentType())
	w.Header().Set("X-Amzn-Requestid", requestID)
	w.WriteHeader(refused.status)
	kind := "Sender"
	if refused.status >= http.StatusInternalServerError {
		kind = "Receiver"
	}
	var code, message bytes.Buffer
	_ = xml.EscapeText(&code, []byte(refused.code)) // a buffer takes everything
	_ = xml.EscapeText(&message, []byte(refused.message))
	switch {
	case r.service == "acm" || r.service == "wafv2":
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": refused.code, "message": refused.message}) // the client may be gone
	case r.service == "ec2":
		fmt.Fprintf(w, "<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>%s</RequestID></Response>", &code, &message, requestID)
	case r.service == "route53" && refused.code == "InvalidChangeBatch":
		fmt.Fprintf(w, `<InvalidChangeBatch xmlns="%s"><Messages><Message>%s</Message></Messages><RequestId>%s</RequestId></InvalidChangeBatch>`,
			namespace(r.service), &message, requestID)
	default:
		fmt.Fprintf(w, `<ErrorResponse xmlns="%s"><Error><Type>%s</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>%s</RequestId></ErrorResponse>`,
			namespace(r.service), kind, &code, &message, requestID)
	}
}
