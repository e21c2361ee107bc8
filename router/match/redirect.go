package match

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// RedirectTable returns the keys by which a backend's redirects are found. Without
// expressions, each redirect has its own, and the longest one wins. With them, one key for
// every path has a list of all, in their order (templates/redirect.lua):
//
//	?ENTRY;…
//	ENTRY    e:PATH:RECORD         for that path
//	         p:PATH:RECORD         for the path and what is below it
//	         s:PATH:RECORD         for what is below it
//	         LONGEST:REGEX:RECORD  an expression, for paths of at most LONGEST bytes
//
// PATH, REGEX and RECORD are in hexadecimal.
func RedirectTable(backend string, all []model.Redirect) Table {
	if !model.Patterned(all) {
		return NewTable(backend, redirectRules(all))
	}
	if list := RedirectList(all); list != "" {
		return NewTable(backend, []Rule{{Value: list}})
	}
	return nil
}

// RedirectList returns the list of redirects, or "" if none is applied.
func RedirectList(all []model.Redirect) string {
	var entries []string
	for i := range all {
		r := &all[i]
		kind, text := "p", strings.TrimSuffix(r.Path, "/")
		switch rule := RuleOfRedirect(r); {
		case r.Regex != nil && r.Regex.Unused:
			continue
		case r.Regex != nil:
			kind, text = strconv.Itoa(r.Regex.Longest), r.Regex.Pattern
		case r.Exact:
			kind, text = "e", r.Path
		case rule.root():
			text = ""
		case rule.slashed():
			kind = "s"
		}
		entries = append(entries, kind+":"+hex.EncodeToString([]byte(text))+":"+hex.EncodeToString([]byte(r.Record())))
	}
	if len(entries) == 0 {
		return ""
	}
	return listMark + strings.Join(entries, ";")
}

// RuleOfRedirect is what a redirect matches.
func RuleOfRedirect(r *model.Redirect) Rule {
	if r.Regex != nil {
		return Rule{Path: r.Beginning, Conditions: &model.Conditions{Path: &model.PathExpression{Pattern: r.Regex.Pattern, Longest: r.Regex.Longest, Written: r.Path}}}
	}
	return Rule{Path: r.Path, Exact: r.Exact}
}

func redirectRules(all []model.Redirect) []Rule {
	rules := make([]Rule, len(all))
	for i := range all {
		rules[i] = RuleOfRedirect(&all[i])
		rules[i].Value = all[i].Record()
	}
	return rules
}

// Redirected returns the redirect that a path has, and the path that it leads to; or nil.
func Redirected(all []model.Redirect, path string) (r *model.Redirect, to string) {
	if model.Patterned(all) {
		for i := range all {
			if to, ok := redirectPath(&all[i], path); ok {
				return &all[i], to
			}
		}
		return nil, ""
	}
	rules := redirectRules(all)
	for i := range rules {
		rules[i].Value = strconv.Itoa(i)
	}
	if i, err := strconv.Atoi(NewTable("", rules).lookup(path + end)); err == nil {
		return &all[i], all[i].Target(path)
	}
	return nil, ""
}

// redirectPath returns the path that one redirect of a list leads to; false if it does not
// match.
func redirectPath(r *model.Redirect, path string) (string, bool) {
	switch {
	case r.Regex == nil:
		rule := RuleOfRedirect(r)
		return r.Target(path), rule.Covers(Rule{Path: path, Exact: true})
	case r.Regex.Unused || len(path) > r.Regex.Longest || regex.Match(r.Regex.Pattern, path) == nil:
		return "", false
	case !r.Replaced():
		return r.Target(path), true
	}
	o := regex.Replace(r.Regex.Pattern, r.Regex.Replacement, r.Regex.Longest, path)
	return o.Path, !o.TooLong
}

// RedirectPath returns the path that a redirect makes of one that it matches.
func RedirectPath(r *model.Redirect, path string) string {
	if r.Regex == nil {
		return r.Target(path)
	}
	to, _ := redirectPath(r, path)
	return to
}

func redirects(p *model.Policy, c *Client) (Answer, bool) {
	if len(p.Redirects) == 0 {
		return Answer{}, false
	}
	r, to := Redirected(p.Redirects, c.Path)
	if r == nil {
		return Answer{}, false
	}
	base := ""
	switch {
	case r.Scheme != "" || r.Host != "" || r.Port != 0:
		base = strings.TrimPrefix(r.Scheme+"://", "://")
		if r.Scheme == "" {
			base = "//"
		}
		host := r.Host
		if host == "" {
			host = Host(c.Host)
		}
		base += host
	case !r.Whole:
		base = "//" + c.Host
	}
	if r.Port != 0 {
		base += ":" + strconv.Itoa(r.Port)
	}
	location := base
	switch {
	case r.Replaced():
		location += strings.ReplaceAll(to, "|", "%7C")
	case r.Whole:
		location += strings.ReplaceAll(r.To, "|", "%7C")
	default:
		location += strings.ReplaceAll(r.To, "|", "%7C") + c.Path[min(r.Strip, len(c.Path)):]
	}
	if r.Query {
		location += c.Query
	}
	return Answer{Status: r.Status, Location: location, Why: "the route redirects this path", Group: groupRedirects}, true
}
