package ingest

import (
	"crypto/md5" //nolint:gosec // the cookie name that OpenShift's clients know; no secret
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

// options are what a route's annotations ask for.
type options struct {
	balance        model.Balance
	disableCookies bool
	cookieName     string
	sameSite       string
	timeout        time.Duration
	tunnel         time.Duration
	maxConn        int
	checkInterval  time.Duration
	exact          bool
}

// setters parse one annotation each. An error leaves the default in place.
var setters = []struct {
	key string
	set func(*options, string) error
}{
	{api.AnnotationBalance, func(o *options, v string) error {
		switch b := model.Balance(v); b {
		case model.RoundRobin, model.LeastConn, model.SourceHash, model.Random:
			o.balance = b
			return nil
		}
		return errors.New("must be roundrobin, leastconn, source or random")
	}},
	{api.AnnotationDisableCookies, func(o *options, v string) (err error) {
		o.disableCookies, err = parseBool(v)
		return err
	}},
	{api.AnnotationCookieName, func(o *options, v string) error {
		if !cookieName.MatchString(v) {
			return errors.New("must consist of letters, digits, _ and -")
		}
		o.cookieName = v
		return nil
	}},
	{api.AnnotationCookieSameSite, func(o *options, v string) error {
		switch v {
		case "Lax", "Strict", "None":
			o.sameSite = v
			return nil
		}
		return errors.New("must be Lax, Strict or None")
	}},
	{api.AnnotationTimeout, func(o *options, v string) (err error) {
		o.timeout, err = api.ParseTime(v)
		return err
	}},
	{api.AnnotationTimeoutTunnel, func(o *options, v string) (err error) {
		o.tunnel, err = api.ParseTime(v)
		return err
	}},
	{api.AnnotationPodConnections, func(o *options, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n > maxMaxConn {
			return fmt.Errorf("must be a whole number from 0 to %d", maxMaxConn)
		}
		o.maxConn = n
		return nil
	}},
	{api.AnnotationCheckInterval, func(o *options, v string) (err error) {
		o.checkInterval, err = api.ParseTime(v)
		return err
	}},
	{api.AnnotationPathType, func(o *options, v string) error {
		switch v {
		case "Exact":
			o.exact = true
			return nil
		case "Prefix":
			return nil
		}
		return errors.New("must be Prefix or Exact")
	}},
}

// maxMaxConn is far above what one endpoint can take, and below any limit of HAProxy.
const maxMaxConn = 1_000_000

var cookieName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

func parseBool(v string) (bool, error) {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, errors.New("must be true or false")
	}
	return b, nil
}

// readAnnotations parses the annotations that the router knows. Invalid ones
// keep their default and are reported.
func readAnnotations(annotations map[string]string, report func(field string, reason api.Reason, message string)) options {
	o := options{sameSite: "None", checkInterval: 5 * time.Second}
	for _, s := range setters {
		v, ok := annotations[s.key]
		if !ok {
			continue
		}
		keep := o
		if err := s.set(&o, v); err != nil {
			o = keep
			report("metadata.annotations["+s.key+"]", api.ReasonInvalidAnnotation, err.Error())
		}
	}
	return o
}

// defaultCookieName is what OpenShift's router calls a route's cookie.
func defaultCookieName(k model.Key) string {
	return md5Hex(" " + k.Namespace + ":" + k.Name)
}

func md5Hex(s string) string {
	sum := md5.Sum([]byte(s)) //nolint:gosec // an identity, not a secret
	return hex.EncodeToString(sum[:])
}

func milliseconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10)
}
