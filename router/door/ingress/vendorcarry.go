package ingress

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/policy"
)

func passthrough(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", value)
	}
	if on {
		into.annotations[annotationTermination] = string(routev1.TLSTerminationPassthrough) // before TLS to the pods
	}
	return nil
}

func serverTLS(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	switch {
	case err != nil:
		return fmt.Errorf("%q is neither true nor false", value)
	case on && !into.tls():
		return errors.New("TLS to the pods needs TLS to the router; add spec.tls")
	case on:
		into.set(annotationTermination, string(routev1.TLSTerminationReencrypt), nil)
	}
	return nil
}

func backendProtocol(value string, into *carried) error {
	switch strings.ToUpper(value) {
	case "HTTP":
		return nil
	case "HTTPS", "GRPCS":
		return serverTLS("true", into)
	case "GRPC":
		into.upstream.protocol = said{policy.ProtocolH2C, into.field}
		return nil
	}
	return fmt.Errorf("%q has no equivalent; there are HTTP, HTTPS, GRPC and GRPCS", value)
}

// snippet judges configuration as text: an error closes the Ingress.
func snippet(judge func(string) error) func(string, *carried) error {
	return func(text string, into *carried) error {
		into.nothing = true
		return judge(text)
	}
}

// sourceHeader matters where there is a list, or a limit by address.
func sourceHeader(_ string, into *carried) error {
	for key := range into.ingress.Annotations {
		if _, name, ok := cutPrefix(key); ok && (strings.Contains(name, "list") || strings.Contains(name, "limit")) {
			return errors.New(insteadHeaderList)
		}
	}
	if keepsOut(into.ingress.Annotations) {
		return errors.New(insteadHeaderList)
	}
	return nil
}

// addresses turns commas into blanks. Single items the routers judge: a wrong
// one admits no client.
func addresses(value string, into *carried) error {
	list := strings.Join(strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }), " ")
	if list == "" {
		return errors.New("the list is empty")
	}
	if _, _, err := policy.Allowlist(list); err != nil {
		return err
	}
	into.set(api.AnnotationAllowlist, list, nil)
	return nil
}

// denied adds to the clients that are refused: those that the Ingress names itself stay.
func denied(value string, into *carried) error {
	list := words(value)
	if len(list) == 0 {
		return errors.New("the list is empty")
	}
	for _, item := range list {
		if _, ok := policy.ParsePrefix(item); !ok {
			return fmt.Errorf("%q is not an IP address or CIDR, and it is not known who is meant", item)
		}
	}
	if own := into.ingress.Annotations[policy.AnnotationDeny]; own != "" {
		into.ingress.Annotations[policy.AnnotationDeny] = own + " " + strings.Join(list, " ")
		return nil
	}
	if other := into.annotations[policy.AnnotationDeny]; other != "" {
		list = append([]string{other}, list...)
	}
	into.annotations[policy.AnnotationDeny] = strings.Join(list, " ")
	return nil
}

// timeout reads seconds. The longer of the times to read and to write counts,
// for websockets, too.
func timeout(value string, into *carried) error {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is not a number of seconds", value)
	}
	longer := func(a, b string) bool { return seconds(a) > seconds(b) }
	text := strconv.FormatUint(n, 10) + "s"
	into.set(api.AnnotationTimeout, text, longer)
	into.set(api.AnnotationTimeoutTunnel, text, longer)
	return nil
}

func seconds(text string) time.Duration {
	d, err := api.ParseTime(text)
	if err != nil {
		return 0
	}
	return d
}

func affinity(value string, _ *carried) error {
	if value != "cookie" {
		return fmt.Errorf("%q has no equivalent; there is cookie, which is on without an annotation", value)
	}
	return nil
}

func algorithm(value string, into *carried) error {
	word, _, _ := strings.Cut(value, " ")
	same := map[string]string{}
	for _, name := range []string{"roundrobin", "leastconn", "source", "random"} {
		same[name] = name
	}
	return oneOf(api.AnnotationBalance, same)(word, into)
}

// ownSecret notes a Secret that an annotation names, as NAME or NAMESPACE/NAME. It must be
// of the Ingress's namespace.
func ownSecret(key *said, value string, into *carried) error {
	name := value
	if namespace, rest, other := strings.Cut(value, "/"); other {
		if namespace != into.ingress.Namespace {
			return fmt.Errorf("%q is a Secret of another namespace, which cannot be read; copy it into this one", value)
		}
		name = rest
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("%q is not the name of a Secret", value)
	}
	return one(key, name, into)
}
