package ingress

import (
	"errors"
	"regexp"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/policy"
)

var hashVariable = regexp.MustCompile(`^\$(?:\{([a-z0-9_]+)\}|([a-z0-9_]+))$`)

// hashBy reads one variable of nginx. What it leads to would not be its pod if the
// sticky cookie had the first word, which that controller has only where it is asked for.
func hashBy(value string, into *carried) error {
	m := hashVariable.FindStringSubmatch(strings.TrimSpace(value))
	if m == nil {
		return errors.New("is not one variable; there are $request_uri, $uri, $host, $remote_addr, $http_…, $cookie_… and $arg_…")
	}
	name := m[1] + m[2]
	by, known := map[string]string{"request_uri": "uri", "uri": "path", "host": "host", "remote_addr": "address", "binary_remote_addr": "address"}[name]
	for prefix, source := range map[string]string{"http_": "header:", "cookie_": "cookie:", "arg_": "query:"} {
		rest, cut := strings.CutPrefix(name, prefix)
		if !cut || rest == "" {
			continue
		}
		if source == "header:" { // nginx writes dashes so
			rest = strings.ReplaceAll(rest, "_", "-")
		}
		by, known = source+rest, true
	}
	if !known {
		return errors.New("$" + name + " has no equivalent; there are $request_uri, $uri, $host, $remote_addr, $http_…, $cookie_… and $arg_…")
	}
	into.set(policy.AnnotationHashBy, by, nil)
	if into.ingress.Annotations[prefixNginx+"affinity"] != "cookie" {
		into.set(api.AnnotationDisableCookies, "true", nil)
	}
	return nil
}
