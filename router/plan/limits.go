package plan

import (
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// Marks of limits in the map of exempt addresses: the first one's, and those of the others
// follow it.
const (
	FirstRate       = '1'
	FirstIdentified = 'a'
)

// exemptOf returns exemptKeys of all limits of a policy.
func exemptOf(p *model.Policy) map[string]string {
	limits := append(slices.Clone(p.Rates), p.Identified...)
	marks := make([]byte, 0, len(limits))
	for i := range p.Rates {
		marks = append(marks, byte(FirstRate+i))
	}
	for i := range p.Identified {
		marks = append(marks, byte(FirstIdentified+i))
	}
	return exemptKeys(limits, marks)
}

// exemptKeys are the keys of addresses that some limits do not count, with the marks
// of these limits. HAProxy finds the longest key only, so each has the marks of the
// shorter ones that it begins with, too.
func exemptKeys(rates []model.RateLimit, marks []byte) map[string]string {
	limits := map[string]uint{}
	for i := range rates {
		for _, prefix := range rates[i].Exempt {
			for _, key := range allowKeys(prefix) {
				limits[key] |= 1 << i
			}
		}
	}
	found := make(map[string]string, len(limits))
	for key := range limits {
		var all uint
		for n := strings.IndexByte(key, '/') + 1; n <= len(key); n++ {
			all |= limits[key[:n]]
		}
		var text []byte
		for i := range rates {
			if all&(1<<i) != 0 {
				text = append(text, marks[i])
			}
		}
		found[key] = string(text)
	}
	return found
}
