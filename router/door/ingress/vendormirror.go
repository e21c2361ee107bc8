package ingress

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// mirrorKeys are the annotations about copies of requests.
type mirrorKeys struct{ target, body, host said }

// nginxMirror are the annotations of ingress-nginx about copies of requests.
func nginxMirror(t map[string]vendorAnnotation) {
	t["mirror-target"] = vendorAnnotation{
		carry: mirrorTarget, becomes: "`mirror.targets`",
		differs: "a Service of the namespace, or a host that a ClusterRoutePolicy allows, with `$request_uri` and no other path; bodies of up to 16 KiB; without Authorization and Cookie",
	}
	t["mirror-request-body"] = vendorAnnotation{carry: mirrorBody, becomes: "`bodyBytes`"}
	t["mirror-host"] = vendorAnnotation{carry: mirrorHost, becomes: "`hostHeader`", differs: "without variables"}
}

var (
	mirrorService = regexp.MustCompile(`^http://(` + label + `)\.(` + label + `)\.svc(?:\.cluster\.local)?(?::([0-9]{1,5}))?/?\$request_uri$`)
	mirrorAddress = regexp.MustCompile(`^(https?://[A-Za-z0-9](?:[-A-Za-z0-9.]{0,251}[A-Za-z0-9])?(?::[0-9]{1,5})?)/?\$request_uri$`)
)

// maxMirrorBody is the longest body that is copied.
const maxMirrorBody = 16 << 10

func mirrorTarget(value string, into *carried) error {
	if !mirrorAddress.MatchString(value) {
		return fmt.Errorf("%q is not http://SERVICE.NAMESPACE.svc:PORT$request_uri, or http:// or https://, a host and $request_uri; copies have the path of the request", value)
	}
	if m := mirrorService.FindStringSubmatch(value); m != nil && m[2] != into.ingress.Namespace {
		return fmt.Errorf("%q is a Service of namespace %s; copies go to Services of namespace %s", m[1], m[2], into.ingress.Namespace)
	}
	into.mirror.target = said{value, into.field}
	return nil
}

func mirrorBody(value string, into *carried) error {
	if value != "on" && value != "off" {
		return fmt.Errorf("%q is neither on nor off", value)
	}
	into.mirror.body = said{value, into.field}
	return nil
}

func mirrorHost(value string, into *carried) error {
	if len(value) > maxHost || !mirrorHostText.MatchString(value) {
		return errors.New("must be a host name in lower case; variables have no equivalent")
	}
	into.mirror.host = said{value, into.field}
	return nil
}

var mirrorHostText = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?$`)

// mirrorServiceName returns the Service that gets copies, or "".
func mirrorServiceName(i *networkingv1.Ingress) string {
	if m := mirrorService.FindStringSubmatch(i.Annotations[prefixNginx+"mirror-target"]); m != nil && m[2] == i.Namespace {
		return m[1]
	}
	return ""
}

// mirrorPort names a port of a Service as policies do: the number in the address is that
// of the Service.
func (c *conversion) mirrorPort(field string, s *v1alpha1.MirrorService, wanted string) (ok bool) {
	service := c.in.Services[string(s.Name)]
	if service == nil {
		c.warn(field, api.ReasonBackendNotFound, fmt.Sprintf("Service %s does not exist", s.Name), "nothing is copied until it does")
		return false
	}
	if s.Port, ok = namedPort(service, wanted); !ok {
		c.warn(field, api.ReasonForeignAnnotation, fmt.Sprintf("Service %s has no port %s", s.Name, wanted), effectNone)
	}
	return ok
}

func (c *conversion) finishMirror(into *carried) {
	k := &into.mirror
	if k.target.field == "" {
		return
	}
	t := v1alpha1.MirrorTarget{HostHeader: k.host.value, BodyBytes: maxMirrorBody}
	if k.body.value == "off" {
		t.BodyBytes = 0
	}
	if m := mirrorService.FindStringSubmatch(k.target.value); m != nil {
		t.Service = &v1alpha1.MirrorService{Name: v1alpha1.ObjectName(m[1])}
		if !c.mirrorPort(k.target.field, t.Service, cmp.Or(m[3], "80")) {
			return
		}
		if t.HostHeader == "" { // that of the address, as there
			t.HostHeader = m[1] + "." + m[2] + ".svc"
		}
	} else {
		t.URL = mirrorAddress.FindStringSubmatch(k.target.value)[1]
	}
	c.shape(into, k.target.field, func(s *v1alpha1.PolicySpec) {
		s.Mirror = &v1alpha1.Mirror{Targets: []v1alpha1.MirrorTarget{t}}
	})
}
