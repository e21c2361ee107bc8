package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
)

// Class says what kind of failure an Error is, and so what the caller does.
type Class string

// The classes.
const (
	// ClassThrottled: too many calls. Tried again after a while; users hear
	// of it only if it lasts.
	ClassThrottled Class = "Throttled"
	// ClassUnavailable: the cloud does not answer. Tried again.
	ClassUnavailable Class = "Unavailable"
	// ClassQuota: a limit of the account is reached. Tried again every five
	// minutes.
	ClassQuota Class = "Quota"
	// ClassInvalidConfig: what the Service asks for is impossible. Tried
	// again when the Service changes, or after ten minutes.
	ClassInvalidConfig Class = "InvalidConfig"
	// ClassConflict: something of the needed name belongs to another owner.
	// It is never changed.
	ClassConflict Class = "Conflict"
	// ClassDenied: the credentials are wrong, expired or not sufficient.
	ClassDenied Class = "Denied"
	// ClassBusy: the cloud must finish something first. Tried again soon.
	ClassBusy Class = "Busy"
	// ClassNotFound: what was asked about is not there.
	ClassNotFound Class = "NotFound"
	// ClassProtected: it must not be deleted, by a setting of the cloud.
	ClassProtected Class = "Protected"
	// ClassUnsupported: the hook cannot do it.
	ClassUnsupported Class = "Unsupported"
	// ClassInternal: anything else.
	ClassInternal Class = "Internal"
)

// Classes returns all classes.
func Classes() []Class {
	return []Class{
		ClassThrottled, ClassUnavailable, ClassQuota, ClassInvalidConfig, ClassConflict, ClassDenied,
		ClassBusy, ClassNotFound, ClassProtected, ClassUnsupported, ClassInternal,
	}
}

// Error is a failure with its class.
type Error struct {
	Class Class `json:"class"`
	// Code is the cloud's own word for it.
	Code string `json:"code,omitempty"`
	// Action is the call that failed, such as "CreateLoadBalancer".
	Action    string `json:"action,omitempty"`
	Message   string `json:"message"`
	RequestID string `json:"requestID,omitempty"`
	// Field is the annotation or field of the Service that caused it, or empty.
	Field string `json:"field,omitempty"`
	// RetryAfter is when to try again; 0 leaves it to the caller.
	RetryAfter time.Duration `json:"-"`
	// Cause is the error that this one is made of, or nil.
	Cause error `json:"-"`
}

// Error returns action, code and message.
func (e *Error) Error() string {
	s := e.Message
	if e.Code != "" {
		s = e.Code + ": " + s
	}
	if e.Action != "" {
		s = e.Action + ": " + s
	}
	if e.Field != "" {
		s = e.Field + ": " + s
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// MaxText is the longest message in bytes, which an event can hold.
const MaxText = 1000

// Errorf returns an Error of a class. Its message is printable.
func Errorf(class Class, format string, args ...any) *Error {
	return &Error{Class: class, Message: terminal.Excerpt(fmt.Sprintf(format, args...), MaxText)}
}

// ClassOf returns the class of the first Error in err's tree, or Internal, or
// "" for nil.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	e := (*Error)(nil)
	if errors.As(err, &e) {
		return e.Class
	}
	return ClassInternal
}

// AsError returns err as an Error.
func AsError(err error) *Error {
	e := (*Error)(nil)
	if errors.As(err, &e) {
		return e
	}
	return &Error{Class: ClassInternal, Message: err.Error(), Cause: err}
}

// MarshalJSON writes whole seconds, rounded up.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(int64(math.Ceil(d.Std().Seconds())))
}

// UnmarshalJSON reads seconds. More than a day counts as a day.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var seconds float64
	if err := json.Unmarshal(data, &seconds); err != nil {
		return fmt.Errorf("read a number of seconds: %w", err)
	}
	const day = 24 * 60 * 60
	*d = Duration(math.Min(math.Max(seconds, 0), day) * float64(time.Second))
	return nil
}
