package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/explain"
)

// certsPage is the list of certificates.
type certsPage struct {
	Query string
	// ByEnd says that the one that ends first comes first; else they go by host.
	ByEnd bool
	Items []explain.Cert
	// Counts are how many have each state.
	Counts         []certCount
	Window         window
	Previous, Next string
	ByHostQuery    string
	ByEndQuery     string
	// Unread is how many are in Secrets that could not be read; UnreadCommand shows them to
	// users with the right to, and is empty if there is no such command.
	Unread        int
	UnreadCommand string
}

// certCount is how many certificates have a state.
type certCount struct {
	State string
	Count int
	Query string
}

// certs lists what clients are shown.
func (v *visit) certs() answer {
	items, err := v.world.certificates(v.pages)
	if err != nil {
		return missing(err.Error())
	}
	data := certsPage{Query: v.values.Get("q"), ByEnd: v.values.Get("sort") == "ends"}
	counts := map[string]int{}
	var chosen []explain.Cert
	words := strings.Fields(strings.ToLower(data.Query[:min(len(data.Query), queryBytes)]))
	for i := range items {
		counts[items[i].State]++
		if items[i].Unread {
			data.Unread++
		}
		if certMatches(&items[i], words) {
			chosen = append(chosen, items[i])
		}
	}
	for _, state := range sortedNames(counts) {
		data.Counts = append(data.Counts, certCount{state, counts[state], "?" + url.Values{"q": {state}}.Encode()})
	}
	if data.ByEnd {
		slices.SortStableFunc(chosen, func(a, b explain.Cert) int { return cmp.Compare(endOf(&a), endOf(&b)) })
	}
	page, err := strconv.Atoi(v.values.Get("page"))
	if err != nil {
		page = 1
	}
	data.Window = windowOf(len(chosen), max(1, page))
	data.Items = part(chosen, data.Window)
	data.ByHostQuery, data.ByEndQuery = certQuery(data.Query, false, 1), certQuery(data.Query, true, 1)
	if w := data.Window; w.Page > 1 {
		data.Previous = certQuery(data.Query, data.ByEnd, w.Page-1)
	}
	if w := data.Window; w.Page < w.Pages {
		data.Next = certQuery(data.Query, data.ByEnd, w.Page+1)
	}
	line := Line{Command: "certs", Flags: []string{"-A"}}
	if v.options.Command != nil {
		data.UnreadCommand = v.options.Command(line)
	}
	return answer{name: "certs", title: "Certificates", data: data, line: line}
}

// certMatches reports whether all words are in what the line shows.
func certMatches(c *explain.Cert, words []string) bool {
	text := strings.ToLower(strings.Join([]string{c.Host, c.Route, c.Listener, c.From, c.CertManager.Text(), c.Issuer, c.Key, c.State}, " "))
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// endOf orders certificates by their end; those that are not known come last.
func endOf(c *explain.Cert) int64 {
	if c.NotAfter == nil {
		return time.Unix(1<<40, 0).Unix()
	}
	return c.NotAfter.Unix()
}

func certQuery(q string, byEnd bool, page int) string {
	v := url.Values{}
	if q != "" {
		v.Set("q", q)
	}
	if byEnd {
		v.Set("sort", "ends")
	}
	if page > 1 {
		v.Set("page", strconv.Itoa(page))
	}
	return "?" + v.Encode()
}

// settings shows what the IngressController says.
func (v *visit) settings() answer {
	var s *explain.Settings
	v.ask(v.world, func(of *explain.Snapshot) { s = of.Settings() })
	data := struct {
		*explain.Settings
		Fields bounded[explain.Setting]
		Wrong  bounded[explain.Finding]
	}{s, boundedList(s.Written), boundedList(s.Findings)}
	return answer{name: "settings", title: "Settings of router " + s.Router, data: data, line: Line{Command: "render"}}
}
