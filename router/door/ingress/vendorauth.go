package ingress

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/authentication"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// authKeys are the annotations by which clients show who they are.
type authKeys struct {
	// kind, secret and realm are about passwords.
	kind, secret, realm said
	// url and the others are about an auth server.
	url, signIn, param, headers, always, cacheKey, cacheTime said
	// named is set for a controller that gives pods all headers of an answer unless it
	// is told which.
	named bool
	// withoutGlobal does without what an administrator has clients show.
	withoutGlobal bool
}

// keep notes what an annotation says until all of them are known.
func keep(key func(*authKeys) *said) func(string, *carried) error {
	return func(value string, into *carried) error {
		*key(&into.auth) = said{value, into.field}
		return nil
	}
}

// authKind is basic in the word of a controller; digests and others have no
// equivalent.
func authKind(word string) func(string, *carried) error {
	return func(value string, into *carried) error {
		if value != word {
			return fmt.Errorf("%q has no equivalent; there is %s", value, word)
		}
		into.auth.kind = said{value, into.field}
		return nil
	}
}

func authSecret(value string, into *carried) error { return ownSecret(&into.auth.secret, value, into) }

// globalAuth does without the authentication of an administrator's policy, if that allows
// it. What else the Ingress asks for is asked for.
func globalAuth(value string, into *carried) error {
	if on, err := strconv.ParseBool(value); err != nil || on {
		return errors.New("the ConfigMap of ingress-nginx is not read; write a RoutePolicy or ClusterRoutePolicy with the group authentication")
	}
	into.auth.withoutGlobal = true
	return nil
}

// authSecretKind says what the Secret looks like, which is seen.
func authSecretKind(value string, _ *carried) error {
	if value != "auth-file" && value != "auth-map" {
		return fmt.Errorf("%q has no equivalent; there are auth-file and auth-map", value)
	}
	return nil
}

// satisfy says whether both the list of addresses and a password must admit a client, or
// one of them is enough.
func satisfy(value string, into *carried) error {
	switch value {
	case "all":
		return nil
	case "any":
		into.set(policy.AnnotationSatisfy, policy.SatisfyAny, nil)
		return nil
	}
	return fmt.Errorf("%q is neither all nor any", value)
}

// authMethod is that of the question.
func authMethod(value string, _ *carried) error {
	if strings.EqualFold(value, "GET") {
		return nil
	}
	return fmt.Errorf("the auth server is asked with GET; %q would get other answers", value)
}

// authRequestRedirect is what the server is told that the client asked for.
func authRequestRedirect(value string, into *carried) error {
	if value != "$request_uri" && value != "$escaped_request_uri" {
		into.differs = "the auth server gets path and query of the request as X-Auth-Request-Redirect"
	}
	return nil
}

// label is a part of a host name.
const label = `[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?`

// Forms of the address of an auth server that is a Service.
var (
	serviceName = regexp.MustCompile(`^http://(` + label + `)\.(` + label + `)\.svc(?:\.cluster\.local)?(?::([0-9]{1,5}))?(/[!-~]{0,999})?$`)
	serviceLink = regexp.MustCompile(`^(?:svc|service)://(?:(` + label + `)/)?(` + label + `)(?::([a-z0-9][-a-z0-9]{0,14}))?(/[!-~]{0,999})?$`)
)

// authServer is what an address names.
type authServer struct{ namespace, name, port, path string }

// readAuthServer returns the Service of an address.
func readAuthServer(value, namespace string) (authServer, error) {
	s := authServer{namespace: namespace}
	if m := serviceName.FindStringSubmatch(value); m != nil {
		s = authServer{m[2], m[1], m[3], m[4]}
	} else if m := serviceLink.FindStringSubmatch(value); m != nil {
		s.name, s.port, s.path = m[2], m[3], m[4]
		if m[1] != "" {
			s.namespace = m[1]
		}
	}
	switch {
	case s.name == "" && strings.HasPrefix(value, "https://") && strings.Contains(value, ".svc"):
		return s, errors.New("the certificate of an auth server is verified; write a RoutePolicy with authentication.external, service.tls and caSecret")
	case s.name == "":
		return s, fmt.Errorf("%q is not http://SERVICE.%s.svc:PORT/PATH; only a Service of the namespace can be asked", value, namespace)
	case s.namespace != namespace:
		return s, fmt.Errorf("%q is a Service of namespace %s; only one of namespace %s can be asked", s.name, s.namespace, namespace)
	case strings.ContainsAny(s.path, "$#"):
		return s, fmt.Errorf("the path %q has a variable; the auth server is asked at one path", s.path)
	}
	return s, nil
}

// authServiceName returns the Service that annotations ask about clients, or "".
func authServiceName(i *networkingv1.Ingress) string {
	for _, prefix := range []string{prefixNginx, prefixHAProxy2} {
		if value := i.Annotations[prefix+"auth-url"]; value != "" {
			if s, err := readAuthServer(value, i.Namespace); err == nil {
				return s.name
			}
		}
	}
	return ""
}

func authURL(value string, into *carried) error {
	if _, err := readAuthServer(value, into.ingress.Namespace); err != nil {
		return err
	}
	return one(&into.auth.url, value, into)
}

// one notes what annotations of several controllers may say, if they agree.
func one(to *said, value string, into *carried) error {
	if to.field != "" && to.value != value {
		return fmt.Errorf("%q is not what %s says, and only one can hold", value, to.field)
	}
	*to = said{value, into.field}
	return nil
}

// authURLNamed is authURL of a controller that gives pods all headers of an answer.
func authURLNamed(value string, into *carried) error {
	into.auth.named = true
	return authURL(value, into)
}

// authHeaders are the headers of the answer for the pod, and those that the client may
// not send.
func authHeaders(value string, into *carried) error {
	if value == "-" {
		into.auth.headers = said{"", into.field}
		return nil
	}
	list := words(value)
	if slices.ContainsFunc(list, func(name string) bool { return name == "*" || !corsName.MatchString(name) }) || len(list) == 0 {
		return fmt.Errorf("%q is not a list of names of headers; name those that pods get", value)
	}
	into.auth.headers = said{strings.Join(list, " "), into.field}
	return nil
}

// finishAuthentication asks for passwords, and for the auth server.
func (c *conversion) finishAuthentication(into *carried) {
	if into.auth.withoutGlobal && !into.passthrough() {
		into.groups.Authentication = &v1alpha1.Authentication{None: true}
	}
	k, own := &into.auth, c.in.Ingress.Annotations
	if k.kind.field != "" && k.secret.field == "" {
		c.protect(k.kind.field, "there is no annotation auth-secret beside it that names the Secret with the users", false)
	}
	if k.secret.field != "" {
		c.passwords(into)
	}
	if _, set := own[policy.AnnotationAuthURL]; k.url.field != "" && !set {
		c.external(into)
	}
}

// passwords asks for those of a Secret.
func (c *conversion) passwords(into *carried) {
	k := &into.auth
	if into.passthrough() {
		c.protect(k.secret.field, "with passthrough the router sees no requests", false)
		return
	}
	into.set(policy.AnnotationBasicSecret, k.secret.value, nil)
	if k.realm.value == "" {
		return
	}
	if err := checkAuthentication(&v1alpha1.Authentication{Basic: &v1alpha1.BasicAuthentication{Secret: "users", Realm: k.realm.value}}); err != nil {
		c.warn(k.realm.field, api.ReasonInvalidAnnotation, err.Error(), "browsers show Restricted")
		return
	}
	into.set(policy.AnnotationBasicRealm, k.realm.value, nil)
}

// external asks an auth server.
func (c *conversion) external(into *carried) {
	k := &into.auth
	if k.named && k.headers.field == "" {
		c.protect(k.url.field, "pods got all headers of the answer; name them in auth-headers-succeed, or - for none: what clients send in them is removed", false)
		return
	}
	server, err := readAuthServer(k.url.value, into.ingress.Namespace)
	if err != nil {
		c.protect(k.url.field, err.Error(), false)
		return
	}
	x := &v1alpha1.ExternalAuthentication{Service: &v1alpha1.AuthService{Name: v1alpha1.ObjectName(server.name), Path: server.path}}
	if port, ok := c.authPort(k.url.field, server); ok {
		x.Service.Port = port
	} else {
		return
	}
	for name := range strings.FieldsSeq(k.headers.value) {
		x.ResponseHeaders = append(x.ResponseHeaders, v1alpha1.HeaderName(name))
	}
	c.authExtras(into, x)
	sample := *x
	sample.SignIn = c.signInSample(x.SignIn)
	if err := checkAuthentication(&v1alpha1.Authentication{External: &sample}); err != nil {
		c.protect(k.url.field, err.Error(), false)
		return
	}
	c.guard(into, k.url.field, func(s *v1alpha1.PolicySpec) { s.Authentication = &v1alpha1.Authentication{External: x} })
}

// authPort returns the port of a Service as policies name it: the number in the
// address is that of the Service.
func (c *conversion) authPort(field string, server authServer) (port *intstr.IntOrString, ok bool) {
	service := c.in.Services[server.name]
	if service == nil {
		c.warn(field, api.ReasonBackendNotFound, fmt.Sprintf("Service %s does not exist", server.name), "the paths answer 503 until it does")
		return nil, true
	}
	wanted := cmp.Or(server.port, "80")
	if port, ok = namedPort(service, wanted); !ok {
		c.protect(field, fmt.Sprintf("Service %s has no port %s", server.name, wanted), false)
	}
	return port, ok
}

// namedPort returns a port of a Service by its name, nil for the only one.
func namedPort(service *corev1.Service, wanted string) (port *intstr.IntOrString, ok bool) {
	for _, p := range service.Spec.Ports {
		if strconv.Itoa(int(p.Port)) != wanted && p.Name != wanted {
			continue
		}
		if p.Name == "" {
			return nil, true // Only the single port of a Service can be without a name.
		}
		name := intstr.FromString(p.Name)
		return &name, true
	}
	return nil, false
}

// authExtras are what is not the door itself: where one of them cannot be used, the
// door stays closed to those that it was closed to.
func (c *conversion) authExtras(into *carried, x *v1alpha1.ExternalAuthentication) {
	k := &into.auth
	if k.always.field != "" {
		on, err := strconv.ParseBool(k.always.value)
		if err != nil {
			c.invalid(k.always.field, fmt.Errorf("%q is neither true nor false", k.always.value))
		}
		x.SetCookieAlways = on
	}
	if k.signIn.field != "" {
		signIn, err := readSignIn(k.signIn.value, k.param.value)
		if err != nil {
			c.warn(k.signIn.field, api.ReasonInvalidAnnotation, err.Error(), "clients that may not pass get 401")
		}
		x.SignIn = signIn
		c.reportSignIn(into, x.SignIn)
	}
	if k.cacheKey.field != "" {
		cache, err := readCache(k.cacheKey.value, k.cacheTime.value)
		if err != nil {
			c.warn(k.cacheKey.field, api.ReasonForeignAnnotation, err.Error(), "the auth server is asked about each request")
			return
		}
		x.Cache = cache
	}
}

// cacheVariable is a variable of a key that answers are kept by.
var cacheVariable = regexp.MustCompile(`\$\{?([a-z0-9_]+)\}?`)

// checkAuthentication returns what the routers would refuse of a group, whatever
// stands in what it names.
func checkAuthentication(a *v1alpha1.Authentication) error {
	_, problems := authentication.Compile(authentication.Input{Spec: a, Route: model.Object{}, References: nothingKnown{}})
	for _, p := range problems {
		if p.Closes {
			return fmt.Errorf("%s: %s", p.Field, p.Message)
		}
	}
	return nil
}
