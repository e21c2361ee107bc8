package policy

import (
	"errors"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// AnnotationHashBy is that of the group loadBalancing, beside OpenShift's.
const AnnotationHashBy = "fairlead.dev/hash-by"

// The algorithms of the group.
const (
	algorithmRoundRobin = "RoundRobin"
	algorithmLeastConn  = "LeastConnections"
	algorithmRandom     = "Random"
	algorithmHash       = "Hash"
)

// hashAddress is the type of key that HAProxy knows by itself.
const hashAddress = "Address"

var hashSources = map[string]model.HashSource{
	"Header": model.HashHeader, "Cookie": model.HashCookie, "Query": model.HashQuery,
	"Path": model.HashPath, "URI": model.HashURI, "Host": model.HashHost,
}

// balanceRow is that of OpenShift's annotation.
var balanceRow = Annotation{
	Key: api.AnnotationBalance, Values: "roundrobin, leastconn, source or random", Terminations: all,
	Default: "random with one weighted service (source for passthrough), else roundrobin",
	Doc:     "How servers share the requests.",
	Group:   GroupLoadBalancing,
	set:     setBalance,
}

// hashByRow is the annotation's row in the table. It comes after that of
// api.AnnotationBalance.
var hashByRow = Annotation{
	Key: AnnotationHashBy, OfServices: true, Group: GroupLoadBalancing, Terminations: http, Default: "none",
	Values: "address, host, path, uri, header:NAME, cookie:NAME or query:NAME",
	Doc:    "Requests with the same value go to the same server, in place of what haproxy.router.openshift.io/balance says.",
	set:    setHashBy,
}

// compileLoadBalancing sets what requests are shared out by. It protects nothing, so
// what cannot be read is the default.
func compileLoadBalancing(l *v1alpha1.LoadBalancing, p *model.Policy) []Problem {
	if l == nil {
		return nil
	}
	p.Hash = nil
	_, key, field, err := readLoadBalancing(l)
	if err != nil {
		return []Problem{{Key: "loadBalancing." + field, Severity: api.SeverityWarning, Reason: api.ReasonInvalidField, Message: err.Error(), Effect: effectDefault}}
	}
	p.Hash = key
	return nil
}

// readLoadBalancing also returns the field that is wrong.
func readLoadBalancing(l *v1alpha1.LoadBalancing) (model.Balance, *model.HashKey, string, error) {
	switch l.Algorithm {
	case algorithmRoundRobin:
		return model.RoundRobin, nil, "", nil
	case algorithmLeastConn:
		return model.LeastConn, nil, "", nil
	case algorithmRandom:
		return model.Random, nil, "", nil
	case algorithmHash:
	default:
		return "", nil, "algorithm", errors.New("must be RoundRobin, LeastConnections, Random or Hash")
	}
	if l.Hash == nil {
		return "", nil, "hash", errors.New("must say what requests are shared out by")
	}
	if l.Hash.Type == hashAddress {
		return model.SourceHash, nil, "", nil
	}
	source, known := hashSources[l.Hash.Type]
	switch {
	case !known:
		return "", nil, "hash.type", errors.New("must be Address, Header, Cookie, Query, Path, URI or Host")
	case source == model.HashHeader || source == model.HashCookie || source == model.HashQuery:
		if !nameInRecord(l.Hash.Name) {
			return "", nil, "hash.name", errors.New("must be the name of a header, cookie or parameter")
		}
		return model.KeyHash, &model.HashKey{Source: source, Name: l.Hash.Name}, "", nil
	}
	return model.KeyHash, &model.HashKey{Source: source}, "", nil
}

// Balance is the algorithm that is asked for, or empty. A passthrough route has no
// values but addresses.
func (s *Spec) Balance(passthrough bool) model.Balance {
	if s.Groups.LoadBalancing == nil {
		return ""
	}
	b, _, _, err := readLoadBalancing(s.Groups.LoadBalancing)
	if err != nil || passthrough && b == model.KeyHash {
		return ""
	}
	return b
}

// withoutPassthroughBalance are the fields that a passthrough connection has no use for.
func withoutPassthroughBalance(l *v1alpha1.LoadBalancing) []string {
	if b, _, _, err := readLoadBalancing(l); err == nil && b == model.KeyHash {
		return []string{"hash"}
	}
	return nil
}

// setBalance reads OpenShift's annotation.
func setBalance(s *Spec, v string) error {
	l := &v1alpha1.LoadBalancing{}
	switch model.Balance(v) {
	case model.RoundRobin:
		l.Algorithm = algorithmRoundRobin
	case model.LeastConn:
		l.Algorithm = algorithmLeastConn
	case model.Random:
		l.Algorithm = algorithmRandom
	case model.SourceHash:
		l.Algorithm, l.Hash = algorithmHash, &v1alpha1.HashKey{Type: hashAddress}
	case model.KeyHash:
		fallthrough
	default:
		return errors.New("must be roundrobin, leastconn, source or random")
	}
	s.Groups.LoadBalancing = l
	return nil
}

// setHashBy reads fairlead.dev/hash-by.
func setHashBy(s *Spec, v string) error {
	l := &v1alpha1.LoadBalancing{Algorithm: algorithmHash, Hash: &v1alpha1.HashKey{}}
	l.Hash.Type = map[string]string{"address": hashAddress, "host": "Host", "path": "Path", "uri": "URI"}[v]
	if m := keyText.FindStringSubmatch(v); m != nil {
		l.Hash.Type, l.Hash.Name = map[string]string{"header": "Header", "cookie": "Cookie", "query": "Query"}[m[1]], m[2]
	}
	if _, _, _, err := readLoadBalancing(l); err != nil {
		return errors.New("must be address, host, path, uri, header:NAME, cookie:NAME or query:NAME")
	}
	s.Groups.LoadBalancing = l
	return nil
}
