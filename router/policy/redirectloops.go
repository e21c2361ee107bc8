package policy

import (
	"cmp"
	"strings"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// Site is where a route answers.
type Site struct {
	// Host is that of the claim.
	Host string
	// Path is the rule of the claim.
	Path match.Rule
	// HTTP and HTTPS say on which listeners.
	HTTP, HTTPS bool
}

// WithoutLoops returns the redirects that lead out of themselves, and the first
// matched path of each that does not.
func WithoutLoops(all []model.Redirect, site Site) (good []model.Redirect, loops []string) {
	for i := range all {
		if site.loops(all, &all[i]) {
			loops = append(loops, all[i].Path)
		} else {
			good = append(good, all[i])
		}
	}
	return good, loops
}

// loops follows a redirect from a path that it matches, as long as it stays on the
// site.
func (s Site) loops(all []model.Redirect, from *model.Redirect) bool {
	for _, secure := range []bool{false, true} {
		if secure && !s.HTTPS || !secure && !s.HTTP {
			continue
		}
		path := s.start(from)
		if path == "" {
			return false
		}
		to, on, r := match.RedirectPath(from, path), secure, from
		for range len(all) + 1 {
			var stays bool
			if path, on, stays = s.follow(r, to, on); !stays {
				r = nil
				break
			}
			if r, to = match.Redirected(all, path); r == nil {
				break
			}
		}
		if r != nil {
			return true
		}
	}
	return false
}

// start is a path of the site that a redirect matches. Of an expression it is a short one, or
// "" if none is known.
func (s Site) start(from *model.Redirect) string {
	if from.Regex != nil {
		if path := regex.Example(from.Regex.Pattern); path != "" && s.has(path) {
			return path
		}
		return ""
	}
	if !s.has(from.Path) {
		return cmp.Or(s.Path.Path, "/")
	}
	return cmp.Or(from.Path, "/")
}

// follow returns the path that a redirect leads to, whose target is given, and whether the
// site answers there.
func (s Site) follow(r *model.Redirect, target string, secure bool) (to string, on, stays bool) {
	on = secure
	if r.Scheme != "" {
		on = r.Scheme == "https"
	}
	usual := r.Port == 0 || r.Port == 80 && !on || r.Port == 443 && on
	stays = (r.Host == "" || r.Host == s.Host) && usual && (on && s.HTTPS || !on && s.HTTP)
	to, _, _ = strings.Cut(target, "?")
	if to == "" {
		to = "/"
	}
	return to, on, stays && s.has(to)
}

// has reports whether a path is the route's.
func (s Site) has(path string) bool { return s.Path.Covers(match.Rule{Path: path, Exact: true}) }
