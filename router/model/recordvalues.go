package model

import (
	"strconv"
	"strings"
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

// RecordField returns a field of what Record wrote.
func RecordField(record string, f Field) string {
	for ; f > 1; f-- {
		_, rest, more := strings.Cut(record, separator)
		if !more {
			return ""
		}
		record = rest
	}
	value, _, _ := strings.Cut(record, separator)
	return value
}
