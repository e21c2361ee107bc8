package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

const (
	mostMatchPaths   = 8
	longestMatchPath = 256
)

// limitMethods are those that a limit may be for. One that nothing sends would leave the limit
// without effect.
func limitMethods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE"}
}

// readMatch reads which requests a limit is for; nil is all of them.
func readMatch(m *v1alpha1.LimitMatch) (out model.RequestMatch, err error) {
	if m == nil {
		return out, nil
	}
	if len(m.Methods)+len(m.Paths) == 0 {
		return out, errors.New("match must have methods or paths")
	}
	for i, method := range m.Methods {
		if !slices.Contains(limitMethods(), method) || slices.Contains(m.Methods[:i], method) {
			return out, fmt.Errorf("match.methods[%d]: unknown method %q, or one that stands twice; use some of: %s", i, method, strings.Join(limitMethods(), ", "))
		}
	}
	if len(m.Paths) > mostMatchPaths {
		return out, fmt.Errorf("match.paths has more than %d paths", mostMatchPaths)
	}
	out.Methods = slices.Clone(m.Methods)
	for i, p := range m.Paths {
		if p.Type != "" && p.Type != "Exact" && p.Type != "Prefix" {
			return out, fmt.Errorf("match.paths[%d].type must be Exact or Prefix", i)
		}
		if normal, same := match.Normal(p.Value); !same || normal != p.Value || !strings.HasPrefix(p.Value, "/") || len(p.Value) > longestMatchPath || !printable(p.Value) {
			return out, fmt.Errorf("match.paths[%d].value must be a path that begins with /, as programs read it: without query, encoding, empty and dot segments; %d bytes at most", i, longestMatchPath)
		}
		out.Paths = append(out.Paths, model.RequestPath{Value: p.Value, Exact: p.Type == "Exact"})
	}
	if n := len(out.Record()); n > model.MaxMatchBytes {
		return out, fmt.Errorf("match: its methods and paths take %d bytes, encoded; at most %d are possible", n, model.MaxMatchBytes)
	}
	return out, nil
}

// printable reports whether a path has no control characters, and nothing that ends it.
func printable(path string) bool {
	return !strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f || r == '?' || r == '#' || r == 0xfffd })
}
