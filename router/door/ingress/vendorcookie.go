package ingress

import (
	"fmt"
	"strconv"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// cookieKeys are the annotations about the sticky cookie, but for its name.
type cookieKeys struct {
	cookie v1alpha1.AffinityCookie
	// field is that of the first annotation, or empty.
	field string
}

// nginxCookies are those of ingress-nginx.
func nginxCookies(t map[string]vendorAnnotation) {
	t["session-cookie-path"] = vendorAnnotation{carry: cookieText(func(c *v1alpha1.AffinityCookie) *string { return &c.Path }), becomes: "`affinity.cookie.path`", differs: "without it the path is /"}
	t["session-cookie-domain"] = vendorAnnotation{carry: cookieText(cookieDomain), becomes: "`affinity.cookie.domain`", differs: "the host or a domain above it"}
	t["session-cookie-samesite"] = vendorAnnotation{carry: cookieText(func(c *v1alpha1.AffinityCookie) *string { return &c.SameSite }), becomes: "`affinity.cookie.sameSite`"}
	t["session-cookie-secure"] = vendorAnnotation{carry: cookieSecure, becomes: "`affinity.cookie.secure`"}
	t["session-cookie-partitioned"] = vendorAnnotation{carry: cookiePartitioned, becomes: "`affinity.cookie.partitioned`", differs: "of cookies that are Secure"}
	add(t, vendorAnnotation{carry: cookieAge, becomes: "`affinity.cookie.maxAge`", differs: "400 days at most, as browsers have it; max-age counts before expires"}, "session-cookie-max-age session-cookie-expires")
	add(t, vendorAnnotation{instead: "SameSite=None is sent to all browsers"}, "session-cookie-conditional-samesite-none")
}

func cookieDomain(c *v1alpha1.AffinityCookie) *string { return &c.Domain }

// setCookie takes a field over if it can be used.
func (c *carried) setCookie(set func(*v1alpha1.AffinityCookie)) error {
	var alone v1alpha1.AffinityCookie
	set(&alone)
	if err := policy.Usable(&v1alpha1.PolicySpec{Affinity: &v1alpha1.Affinity{Cookie: &alone}}); err != nil {
		return err
	}
	set(&c.cookies.cookie)
	if c.cookies.field == "" {
		c.cookies.field = c.field
	}
	return nil
}

// cookieText takes a text over.
func cookieText(field func(*v1alpha1.AffinityCookie) *string) func(string, *carried) error {
	return func(value string, into *carried) error {
		if value == "" {
			return nil
		}
		return into.setCookie(func(c *v1alpha1.AffinityCookie) { *field(c) = value })
	}
}

func cookieSecure(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", value)
	}
	return into.setCookie(func(c *v1alpha1.AffinityCookie) { c.Secure = &on })
}

func cookiePartitioned(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", value)
	}
	return into.setCookie(func(c *v1alpha1.AffinityCookie) { c.Partitioned = on })
}

// longestCookie is how many seconds browsers keep a cookie at most.
const longestCookie = 400 * 24 * 3600

// cookieAge reads seconds. The annotation with the last name of both counts, which is
// max-age.
func cookieAge(value string, into *carried) error {
	n, err := strconv.ParseUint(value, 10, 62)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is not a number of seconds", value)
	}
	if n > longestCookie {
		n, into.differs = longestCookie, "browsers keep cookies for 400 days at most"
	}
	return into.setCookie(func(c *v1alpha1.AffinityCookie) { c.MaxAge = strconv.FormatUint(n, 10) + "s" })
}

// cookieNone is HAProxy Ingress' word for cookies that other sites may send.
func cookieNone(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	switch {
	case err != nil:
		return fmt.Errorf("%q is neither true nor false", value)
	case on:
		return into.setCookie(func(c *v1alpha1.AffinityCookie) { c.SameSite, c.Secure = "None", &on })
	}
	return nil
}

// finishCookies puts what the annotations say together into a group.
func (c *conversion) finishCookies(into *carried) {
	if into.cookies.field == "" {
		return
	}
	c.shape(into, into.cookies.field, func(g *v1alpha1.PolicySpec) { g.Affinity = &v1alpha1.Affinity{Cookie: &into.cookies.cookie} })
}
