package model

import (
	"strconv"
	"time"
)

func milliseconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10)
}

func number[T int | int64](n T) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

func flag(set bool, text string) string {
	if set {
		return text
	}
	return ""
}

// forwardedMode is the first letter of every record that asks for more than a
// cookie.
func forwardedMode(f Forwarded) string {
	switch f {
	case ForwardedReplace:
		return ModeReplace
	case ForwardedIfNone:
		return ModeIfNone
	case ForwardedNever:
		return ModeNever
	case ForwardedAppend:
	}
	return ModeAppend
}
