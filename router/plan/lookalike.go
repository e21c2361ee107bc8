package plan

import (
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// fewHyphens is up to how many hyphens all spellings of a name are removed: seven
// for three. Of names with more only those with a single underscore, and the one
// without a hyphen.
const fewHyphens = 3

// withoutLookalikes adds to the changes of a request's headers the removal of
// those that differ from a changed one by underscores for hyphens. Programs that
// read headers as CGI variables take both for the same, so a client could say
// what only the route may. What is added stands beside the client's values anyway.
func withoutLookalikes(actions []model.HeaderAction) []model.HeaderAction {
	out := slices.Clone(actions)
	changed := map[string]bool{}
	for _, a := range actions {
		changed[strings.ToLower(a.Name)] = true
	}
	for _, a := range actions {
		if a.Add {
			continue
		}
		for _, name := range lookalikes(strings.ToLower(a.Name)) {
			if !changed[name] {
				changed[name] = true
				out = append(out, model.HeaderAction{Name: name, Delete: true})
			}
		}
	}
	return out
}

func lookalikes(name string) []string {
	parts := strings.Split(name, "-")
	hyphens := len(parts) - 1
	if hyphens == 0 {
		return nil
	}
	if hyphens > fewHyphens {
		names := []string{strings.Join(parts, "_")}
		for i := 1; i <= hyphens; i++ {
			names = append(names, strings.Join(parts[:i], "-")+"_"+strings.Join(parts[i:], "-"))
		}
		return names
	}
	var names []string
	for way := 1; way < 1<<hyphens; way++ {
		var b strings.Builder
		for i, part := range parts {
			if i > 0 {
				b.WriteByte("-_"[way>>(i-1)&1])
			}
			b.WriteString(part)
		}
		names = append(names, b.String())
	}
	return names
}
