package firewall

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/spop"
)

// routeName is the Route that a request is for.
type routeName struct{ namespace, name string }

// readRequest copies a question out of its frame. It reports false for one that is not
// whole.
func readRequest(q *spop.Request) (*Request, routeName, bool) {
	headers, err := spop.ParseHeaders(q.Arg("hdrs").Text())
	if string(q.Message) != "judge" || err != nil {
		return nil, routeName{}, false
	}
	client := q.Arg("src").Addr()
	out := &Request{
		Method: string(q.Arg("method").Text()), Target: string(q.Arg("path").Text()), Version: string(q.Arg("version").Text()),
		Client: client.String(), Body: slices.Clone(q.Arg("body").Text()), Partial: q.Arg("over").True(),
	}
	for n, v := range headers.All() {
		out.Headers = append(out.Headers, Header{string(n), string(v)})
	}
	// The router's name of a backend: KIND:NAMESPACE:ROUTE and a hash.
	parts := strings.SplitN(string(q.Arg("route").Text()), ":", 4)
	var route routeName
	if len(parts) >= 3 {
		route = routeName{parts[1], parts[2]}
	}
	return out, route, out.Method != "" && strings.HasPrefix(out.Target, "/") && client.IsValid()
}

func numbers(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}
