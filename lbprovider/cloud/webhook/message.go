// Package webhook lets a program outside of Fairlead be the hook to a cloud:
// Client is a hook.LoadBalancerHook and a hook.DNSHook that asks it over HTTP,
// and Handler is the other side, around any hook written in Go.
//
// Every method is a POST of JSON; docs/cloud/webhook.md describes the protocol,
// and test/hookconformance tests an implementation of it.
package webhook

import (
	"net/http"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Paths of the methods.
const (
	PathCapabilities = "/v1/capabilities"
	PathValidate     = "/v1/validate"
	PathEnsure       = "/v1/ensure"
	PathTargets      = "/v1/targets"
	PathDescribe     = "/v1/describe"
	PathDelete       = "/v1/delete"
	PathOwned        = "/v1/owned"
	PathEnsureRecord = "/v1/dns/ensure"
	PathDeleteRecord = "/v1/dns/delete"
	PathZone         = "/v1/dns/zone"
)

// HeaderIdempotency names the state that a call asks for: two calls with the
// same value ask for the same.
const HeaderIdempotency = "Idempotency-Key"

// maxBody is the largest message, either way.
const maxBody = 4 << 20

// Request is the body of every call. Each method uses the fields that its Go
// method has as parameters.
type Request struct {
	APIVersion string     `json:"apiVersion"`
	Spec       *hook.Spec `json:"spec,omitempty"`
	Ref        *hook.Ref  `json:"ref,omitempty"`
	// Annotations and Orphan are those of a hook.Deletion.
	Annotations map[string]string  `json:"annotations,omitempty"`
	Orphan      bool               `json:"orphan,omitempty"`
	Record      *hook.Record       `json:"record,omitempty"`
	Zone        *hook.Zone         `json:"zone,omitempty"`
	Selector    *hook.ZoneSelector `json:"selector,omitempty"`
}

// Problems is the answer of PathValidate.
type Problems struct {
	Problems []hook.FieldProblem `json:"problems"`
}

// Owned is the answer of PathOwned.
type Owned struct {
	Refs []hook.Ref `json:"refs"`
}

// Failure is the body of an answer that is not 200 or 202. With PathEnsure it
// may hold a result too: what is there anyway.
type Failure struct {
	Error  FailureError `json:"error"`
	Result *hook.Result `json:"result,omitempty"`
}

// FailureError is a hook.Error as JSON.
type FailureError struct {
	Class             hook.Class `json:"class"`
	Code              string     `json:"code,omitempty"`
	Action            string     `json:"action,omitempty"`
	Message           string     `json:"message"`
	Field             string     `json:"field,omitempty"`
	RetryAfterSeconds int        `json:"retryAfterSeconds,omitempty"`
}

// statuses are the HTTP status of each class; others have 500.
func statuses() map[hook.Class]int {
	return map[hook.Class]int{
		hook.ClassConflict: http.StatusConflict, hook.ClassInvalidConfig: http.StatusUnprocessableEntity, hook.ClassThrottled: http.StatusTooManyRequests,
		hook.ClassDenied: http.StatusForbidden, hook.ClassNotFound: http.StatusNotFound, hook.ClassUnsupported: http.StatusNotImplemented,
		hook.ClassUnavailable: http.StatusServiceUnavailable, hook.ClassQuota: http.StatusInsufficientStorage, hook.ClassBusy: http.StatusLocked,
		hook.ClassProtected: http.StatusPreconditionFailed,
	}
}

// classOf returns the class that a status stands for, where an answer names none.
func classOf(status int) hook.Class {
	for class, s := range statuses() {
		if s == status {
			return class
		}
	}
	switch {
	case status == http.StatusUnauthorized:
		return hook.ClassDenied
	case status >= http.StatusInternalServerError:
		return hook.ClassUnavailable
	}
	return hook.ClassInternal
}

// Times that a call may take.
const (
	callTime   = 30 * time.Second
	ensureTime = 60 * time.Second
	// maxRetryAfter is the longest pause that an answer may ask for.
	maxRetryAfter = 5 * time.Minute
)
