package policy

import (
	"errors"
	"strings"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// The values of www, and what is said of others.
const (
	wwwAdd   = "Add"
	wwwStrip = "Strip"
	wwwForm  = "must be Add or Strip"
)

const wwwPrefix = "www."

var wwwRow = Annotation{
	Key: AnnotationWWW, Group: GroupRedirects, Values: "Add or Strip", Default: "none", Terminations: http,
	Doc: "The Route answers for a second host, too, and redirects its requests to its own with 308: with Strip for www.HOST beside HOST, with Add for HOST beside www.HOST.",
	set: func(s *Spec, v string) error {
		if v != wwwAdd && v != wwwStrip {
			return errors.New(wwwForm)
		}
		s.setRedirects(func(r *v1alpha1.Redirects) { r.WWW = v })
		return nil
	},
}

// OtherName returns the second host of a route whose own is host, or an empty text if
// none is asked for. The error says why there can be none.
func (s *Spec) OtherName(host string) (string, error) {
	if s.Groups.Redirects == nil {
		return "", nil
	}
	const longest = 253
	rest, has := strings.CutPrefix(host, wwwPrefix)
	switch way := s.Groups.Redirects.WWW; {
	case way != wwwAdd && way != wwwStrip:
		return "", nil
	case strings.HasPrefix(host, "*"):
		return "", errors.New("a wildcard host has no second name")
	case way == wwwAdd && !has:
		return "", errors.New("the value Add is for hosts that begin with www.; set spec.host to the name that requests are to be redirected to")
	case way == wwwStrip && has:
		return "", errors.New("the value Strip is for hosts without www.; set spec.host to the name that requests are to be redirected to")
	case has && !strings.Contains(rest, "."):
		return "", errors.New("nothing but a top-level domain is left without its first label")
	case has:
		return rest, nil
	case len(wwwPrefix+host) > longest:
		return "", errors.New("the host is too long for www. before it")
	}
	return wwwPrefix + host, nil
}
