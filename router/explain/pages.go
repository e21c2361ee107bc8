package explain

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// statuses lists those with a page, in ranges.
func statuses(uses map[int]model.PageUse) string {
	var words []string
	all := slices.Sorted(maps.Keys(uses))
	for i := 0; i < len(all); {
		last := i
		for last+1 < len(all) && all[last+1] == all[last]+1 {
			last++
		}
		word := strconv.Itoa(all[i])
		if last > i {
			word += "-" + strconv.Itoa(all[last])
		}
		words = append(words, word)
		i = last + 1
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, " ")
}
