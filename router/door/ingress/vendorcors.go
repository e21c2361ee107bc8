package ingress

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// corsKeys are the annotations about CORS of one controller.
type corsKeys struct {
	// on is the field of the annotation that turns CORS on, or empty.
	on string
	// origins is the field of the list of origins, or empty.
	origins string
	// credentials is nil where nothing is said.
	credentials *bool
	// none admits no origin, whatever the list says.
	none  bool
	group v1alpha1.CORS
}

// CORS with a default for credentials, and for who answers preflights.
func corsOn(credentials, forward bool) func(string, *carried) error {
	return func(value string, into *carried) error {
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
		if !on {
			return nil
		}
		k := &into.cors
		k.on = into.field
		if k.credentials == nil {
			k.credentials = &credentials
		}
		if forward && k.group.Preflight == "" {
			k.group.Preflight = "Forward"
		}
		return nil
	}
}

const effectNoOrigin = "no origin is admitted"

// corsOrigins reads the origins. If one cannot be read, none is admitted: pages that
// the annotation did not mean must not read answers.
func corsOrigins(value string, into *carried) error {
	k := &into.cors
	k.origins, k.group.Origins = into.field, []string{}
	list := words(value)
	if len(list) == 0 {
		return wrong{"the list of origins is empty", effectNoOrigin}
	}
	if slices.Contains(list, "*") {
		k.group.Origins = []string{"*"}
		return nil
	}
	if err := policy.Usable(&v1alpha1.PolicySpec{CORS: &v1alpha1.CORS{Origins: list}}); err != nil {
		return wrong{err.Error(), effectNoOrigin}
	}
	k.group.Origins = list
	return nil
}

var (
	corsMethod = regexp.MustCompile(`^[A-Z]{1,32}$`)
	corsName   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
)

// corsNames reads a list of methods or of names of headers. What cannot be used is
// left out; a list of nothing else admits no origin where there is a default, which
// would admit more than was asked for.
func corsNames(form *regexp.Regexp, usual bool, list func(*v1alpha1.CORS) *[]string) func(string, *carried) error {
	return func(value string, into *carried) error {
		var good []string
		all := words(value)
		for _, name := range all {
			if form.MatchString(name) && len(good) < maxCORSNames {
				good = append(good, name)
			}
		}
		switch {
		case len(good) == 0 && usual:
			into.cors.none = true
			return wrong{fmt.Sprintf("%q holds no name that can be used", value), effectNoOrigin}
		case len(good) < len(all):
			into.differs = "names that cannot be used are left out"
		}
		*list(&into.cors.group) = good
		return nil
	}
}

const maxCORSNames = 50

func corsMethods(c *v1alpha1.CORS) *[]string { return &c.Methods }
func corsHeaders(c *v1alpha1.CORS) *[]string { return &c.Headers }
func corsExpose(c *v1alpha1.CORS) *[]string  { return &c.Expose }

// corsMethodsOrAll is for a controller whose default are all methods.
func corsMethodsOrAll(value string, into *carried) error {
	if value == "*" {
		into.differs = "the methods are GET, PUT, POST, DELETE, PATCH and OPTIONS; name others"
		return nil
	}
	return corsNames(corsMethod, true, corsMethods)(value, into)
}

func corsCredentials(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		off := false
		into.cors.credentials = &off
		return wrong{fmt.Sprintf("%q is neither true nor false", value), "requests with credentials are not admitted"}
	}
	into.cors.credentials = &on
	return nil
}

// maxCORSAge is how long browsers remember a preflight at most.
const maxCORSAge = 24 * time.Hour

func corsMaxAge(value string, into *carried) error {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return fmt.Errorf("%q is not a number of seconds", value)
	}
	into.cors.age(time.Duration(n) * time.Second)
	return nil
}

func corsMaxAgeTime(value string, into *carried) error {
	d, err := api.ParseTime(value)
	if err != nil {
		return err
	}
	into.cors.age(d)
	return nil
}

func (k *corsKeys) age(d time.Duration) {
	seconds := int(max(min(d, maxCORSAge), time.Second) / time.Second)
	k.group.MaxAge = v1alpha1.Duration(strconv.Itoa(seconds) + "s")
}

// corsPreflight says that the controller answers preflights.
func corsPreflight(value string, into *carried) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", value)
	}
	if on {
		into.cors.group.Preflight = "Answer"
	}
	return nil
}

// finishCORS asks for the group. With credentials, an answer must name the origin:
// other controllers repeat whatever the client says, which admits all pages of the
// world to the user's session.
func (c *conversion) finishCORS(into *carried) {
	k := &into.cors
	if _, own := c.in.Ingress.Annotations[policy.AnnotationCORSOrigins]; k.on == "" || own {
		return
	}
	group := k.group
	switch {
	case k.none:
		group.Origins = []string{}
	case group.Origins == nil:
		group.Origins = []string{"*"}
	}
	group.Credentials = *k.credentials
	if group.Credentials && slices.Contains(group.Origins, "*") {
		group.Credentials = false
		field := k.on
		if k.origins != "" {
			field = k.origins
		}
		c.warn(field, api.ReasonForeignAnnotation,
			"all origins are admitted, and credentials are not for all of them; name the origins whose pages may send cookies",
			"pages of all origins may read answers to requests without credentials")
	}
	c.shape(into, k.on, func(s *v1alpha1.PolicySpec) { s.CORS = &group })
}

// corsPattern is for origins by regular expressions, which admit none.
func corsPattern(_ string, into *carried) error {
	into.cors.none = true
	return wrong{"an origin is text, or https://*.DOMAIN for one label; list them", effectNoOrigin}
}
