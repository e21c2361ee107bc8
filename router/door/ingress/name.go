package ingress

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
)

const (
	// maxNameLength keeps names usable as labels.
	maxNameLength = 63
	hashLength    = 8
)

// routeName returns the name of the Route of a path. Earlier versions named
// those with passthrough by the empty path; such a Route keeps its name, so that
// its host is always held.
func (c *conversion) routeName(key hostPath) string {
	name := routeName(c.in.Ingress.Name, key)
	if c.in.Routes[name] != nil || key.path != "/" || key.exact || key.fallback {
		return name
	}
	key.path = ""
	if old := routeName(c.in.Ingress.Name, key); c.in.Routes[old] != nil {
		return old
	}
	return name
}

// routeName returns the name of the Route of a path: the same claim of the
// same Ingress has the same name for ever, so that nothing needs to be
// remembered to find it again, and manifests and dashboards can refer to it.
func routeName(ingress string, key hostPath) string {
	text := key.host + "\x00" + key.path + "\x00" + strconv.FormatBool(key.exact)
	if key.fallback {
		text += "\x00fallback"
	}
	if key.kind != "" {
		text += "\x00" + key.kind
	}
	sum := sha256.Sum256([]byte(text))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashLength]
	base := ingress
	if limit := maxNameLength - hashLength - 1; len(base) > limit {
		base = strings.TrimRight(base[:limit], "-.")
	}
	return base + "-" + hash
}
