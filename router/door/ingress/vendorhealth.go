package ingress

import (
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/router/policy"
)

// checkHTTP reads "[METHOD] PATH [VERSION]" (HAProxy manual, option httpchk), which
// becomes the path that the router asks for. A path may stand in a whole address.
func checkHTTP(value string, into *carried) error {
	words := strings.Fields(value)
	method := ""
	if len(words) > 1 && !strings.HasPrefix(words[0], "/") {
		method, words = words[0], words[1:]
	}
	if len(words) == 0 || len(words) > 2 {
		return fmt.Errorf("%q is not a path, with a method before it if wanted", value)
	}
	path := words[0]
	if _, rest, ok := strings.Cut(path, "://"); ok {
		_, path, _ = strings.Cut(rest, "/")
		path = "/" + path
		into.differs = "the Host header is the address of the pod"
	}
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("%q is not a path", path)
	}
	if method != "" && method != "GET" {
		into.differs = "pods are asked with GET, not " + method
	}
	into.set(policy.AnnotationHealthPath, path, nil)
	return nil
}
