package plan

import (
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// exemptKeys are the keys of addresses that some limits do not count, with the digits
// of these limits. HAProxy finds the longest key only, so each has the digits of the
// shorter ones that it begins with, too.
func exemptKeys(rates []model.RateLimit) map[string]string {
	limits := map[string]uint{}
	for i := range rates {
		for _, prefix := range rates[i].Exempt {
			for _, key := range allowKeys(prefix) {
				limits[key] |= 1 << i
			}
		}
	}
	digits := make(map[string]string, len(limits))
	for key := range limits {
		var all uint
		for n := strings.IndexByte(key, '/') + 1; n <= len(key); n++ {
			all |= limits[key[:n]]
		}
		var text []byte
		for i := range rates {
			if all&(1<<i) != 0 {
				text = append(text, byte('1'+i))
			}
		}
		digits[key] = string(text)
	}
	return digits
}
