package render

import (
	"regexp"
	"slices"
	"strings"
)

// settingRule is one that sets a variable of the request on a condition to a value, which may stand
// between the brackets of a format as it is.
var settingRule = regexp.MustCompile(`^http-request set-var\((txn\.\w+(?:,ifnotempty)?)\) ([\w.,()/+*<>:|=-]+)( if .+)$`)

// unread is a variable that is set for the sake of others, and that no rule reads.
const unread = "txn.unread"

// together sets variables that neighbours set under one condition by one rule: a request to
// which the condition does not apply, as to most, walks by one condition and not by each. A
// value that is not there sets nothing, as before. Without a condition there is nothing to save, and
// writing the values that no rule reads is 200 instructions for each.
//
// HAProxy writes all values into one buffer, and stops at the first that does not fit: those
// behind it would not be set. Values of a tenant's are parts of one record, which has 15,360
// bytes at most, and those of a client are parts of one request; a buffer has 16 KiB at least.
func together(rules []string) []string {
	var out []string
	for i := 0; i < len(rules); {
		n, merged := setTogether(rules[i:])
		out = append(out, merged)
		i += n
	}
	return out
}

// setTogether makes one rule of the first ones, and returns of how many.
func setTogether(rules []string) (n int, merged string) {
	var format strings.Builder
	var names []string
	condition := ""
	for _, rule := range rules {
		m := settingRule.FindStringSubmatch(rule)
		if m == nil || n > 0 && m[3] != condition || slices.ContainsFunc(names, func(name string) bool { return strings.Contains(m[3], name) }) {
			break
		}
		condition = m[3]
		name, _, _ := strings.Cut(m[1], ",")
		names = append(names, name)
		format.WriteString("%[" + m[2] + ",set-var(" + m[1] + ")]")
		n++
	}
	if n < 2 {
		return 1, rules[0]
	}
	return n, `http-request set-var-fmt(` + unread + `) "` + format.String() + `"` + condition
}
