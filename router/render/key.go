package render

import (
	"fmt"
	"regexp"
)

// keyText is what stands in HAProxy's configuration without quotes.
var keyText = regexp.MustCompile(`^[A-Za-z0-9+/]{1,86}={0,2}$`)

// Globals are lines of the section global: how many counters a request may have, the
// key of the pod, which rules call proc.key, and when a session has ended last, proc.session_end.
func Globals(key string) []string {
	lines := []string{fmt.Sprintf("tune.stick-counters %d", counters)}
	if keyText.MatchString(key) {
		lines = append(lines, "set-var proc.key str("+key+")", "set-var proc.session_end int(0)")
	}
	return lines
}
