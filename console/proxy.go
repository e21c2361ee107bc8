package console

import (
	"net/http"
	"strings"
)

// Proxy says how a proxy that has logged users in names them. It counts only for connections
// with a certificate of the proxy's CA, which the listener has verified.
type Proxy struct {
	// User and Groups are headers.
	User, Groups string
}

// identity is the user that the proxy names in a request. Anything but one name is refused: a
// client may have sent a header of its own that the proxy has left beside its own.
func (p *Proxy) identity(r *http.Request) (Identity, error) {
	names := r.Header.Values(p.User)
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(names) != 1 || strings.TrimSpace(names[0]) == "" {
		return Identity{}, ErrRefused
	}
	user := Identity{Name: strings.TrimSpace(names[0]), Groups: []string{"system:authenticated"}}
	for _, line := range r.Header.Values(p.Groups) {
		for group := range strings.SplitSeq(line, ",") {
			if group = strings.TrimSpace(group); group != "" {
				user.Groups = append(user.Groups, group)
			}
		}
	}
	return user, nil
}
