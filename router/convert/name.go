package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxName is the longest name of an object, and of a listener.
const maxName = 253

// numbered appends a number from 2 on, and shortens what is too long.
func numbered(name string, n int) string {
	if n == 1 {
		return shortened(name)
	}
	suffix := "-" + strconv.Itoa(n)
	return shorter(name, maxName-len(suffix)) + suffix
}

func shortened(name string) string { return shorter(name, maxName) }

// shorter cuts a name that is too long, and tells those apart that begin alike.
func shorter(name string, most int) string {
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:5])
	return strings.TrimRight(name[:most-len(hash)-1], "-.") + "-" + hash
}

// listenerName names a listener by its protocol and host.
func listenerName(protocol, host string) string {
	switch base, wildcard := strings.CutPrefix(host, "*."); {
	case host == "":
		return protocol
	case wildcard:
		return shortened("wildcard-" + protocol + "-" + base)
	}
	return shortened(protocol + "-" + host)
}

// meta is that of a converted object.
func meta(namespace, name, from string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{Origin: from}}
}
