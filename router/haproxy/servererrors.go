package haproxy

import (
	"bytes"
	"strings"

	"github.com/fairlead/fairlead/router/outlier"
)

// Columns of "show stat" (HAProxy management guide 9.1) that count errors of servers, and
// the last one of them.
const (
	statConnectErrors = 13
	statAnswerErrors  = 14
	statServerErrors  = 43
)

// ServerErrors asks what the servers of backends have failed since HAProxy started, by
// backend and server. A backend that HAProxy does not have is left out.
func (r *Runtime) ServerErrors(backends []string) (map[string]map[string]outlier.Errors, error) {
	all := make(map[string]map[string]outlier.Errors, len(backends))
	for len(backends) > 0 {
		var line strings.Builder
		for len(backends) > 0 && line.Len()+len(backends[0]) < minCommand/2 {
			const servers = "4"
			if checkWord(backends[0]) == nil {
				line.WriteString("show stat " + backends[0] + " " + servers + " -1;")
			}
			backends = backends[1:]
		}
		err := r.streamBytes(strings.TrimSuffix(line.String(), ";"), func(l []byte) {
			if backend, server, errors, ok := parseErrors(l); ok {
				if all[backend] == nil {
					all[backend] = map[string]outlier.Errors{}
				}
				all[backend][server] = errors
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func parseErrors(l []byte) (backend, server string, e outlier.Errors, ok bool) {
	var f [statServerErrors + 1][]byte
	if len(l) == 0 || l[0] == '#' {
		return "", "", e, false
	}
	for i := range f {
		if f[i], l, ok = bytes.Cut(l, []byte(",")); !ok {
			return "", "", e, false
		}
	}
	e = outlier.Errors{Connections: int64(number(f[statConnectErrors])), Answers: int64(number(f[statAnswerErrors])), Statuses: int64(number(f[statServerErrors]))}
	return string(f[statName]), string(f[statRow]), e, true
}
