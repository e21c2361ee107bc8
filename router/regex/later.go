package regex

import (
	"regexp"
	"sync"
)

// Later returns a function that compiles an expression of the router's own when it is first
// called. A bounded repeat such as {1,1000} takes 100 kB, and most routers never meet what
// it is for. The expression must be right: a wrong one panics.
func Later(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
