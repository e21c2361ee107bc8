// Package authentication turns the groups authentication and authorization of what
// holds for a route, with the Secrets and Services that they name, into what the policy
// agent decides by. It is pure.
//
// Whatever cannot be used is a problem, and a problem closes the paths: it is not
// known which clients are to be kept out.
package authentication

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// References are the objects that a policy may name: by NAME those of its own namespace, by
// NAMESPACE/NAME those of others. An error says why one cannot be used, and may have a method
// Reason; one with a method Unknown says that there
// is no knowing, and then the rest is judged without it.
type References interface {
	Secret(name string) (map[string][]byte, error)
	// Endpoints returns the ready pods of a Service at a port: by its name or by the
	// number of the pods' port, or by the only one if it is empty.
	Endpoints(service, port string) ([]netip.AddrPort, error)
	// Authorities returns the text under the key ca.crt of a ConfigMap.
	Authorities(configMap string) (string, error)
}

// Input is what Compile reads.
type Input struct {
	// Spec and Rules are the two groups; either may be nil.
	Spec  *v1alpha1.Authentication
	Rules *v1alpha1.Authorization
	// Listed are addresses that are enough where Spec.Satisfy is Any.
	Listed []netip.Prefix
	// Route has the policy, and Rule is that of its claim.
	Route model.Object
	Rule  string
	// Host, Path and Exact are those of the claim: a login has paths of its own below it.
	Host, Path string
	Exact      bool
	// Namespace has what the policy names.
	Namespace  string
	References References
	// MayAsk reports whether the router may ask a host for the owner of Spec; nil if it may
	// ask each.
	MayAsk func(host string) bool
	// Calls says that requests are calls of gRPC: copies of them have their message.
	Calls bool
	// Bundle reads the certificates of authorities, and revocation lists if there are any; if it
	// is nil, there is no knowing.
	Bundle func(authorities, revocations string) (*model.CA, certificate.Lists, error)
	// Now is the time, or zero where there is no knowing.
	Now time.Time
	// Key is what hashes of API keys are made with, in base64.
	Key string
	// Identities are what limits count by, for which the policy agent is to answer.
	Identities []model.LimitKey
	// Limits are those over all replicas by identity, which the agent counts with what it
	// lets on.
	Limits []model.RateLimit
}

// Result is what a route asks for. Each part may be nil.
type Result struct {
	// Agent is what the policy agent decides, and Keys what HAProxy looks up.
	Agent *model.Agent
	Keys  *model.APIKeys
	// Certificate is what clients show in the handshake.
	Certificate *model.ClientCertificate
	// Until is when it may be another result though nothing changed, or zero.
	Until time.Time
}

// Problem is what is wrong with one field.
type Problem struct {
	// Group is authentication or authorization, and Field the path below it.
	Group   string
	Field   string
	Message string
	// Reason is why something that is named cannot be used, or empty.
	Reason api.Reason
	// Effect is what happens now if nothing closes, or empty where the policy is applied.
	Effect string
	// Closes is false if only a part cannot be used, such as one user of many.
	Closes bool
}

// compiler gathers a policy and what is wrong with it.
type compiler struct {
	in Input
	// group is the one that is being read.
	group string
	out   snapshot.Policy
	keys  *model.APIKeys
	// certified is set if clients have to show a certificate, as certificate says; that is
	// nil where there is no knowing.
	certified   bool
	certificate *model.ClientCertificate
	until       time.Time
	problems    []Problem
	methods     []string
}

// Compile returns what a route asks for, and what is wrong. If something closes, there is
// no result.
func Compile(in Input) (Result, []Problem) {
	c := &compiler{in: in, group: groupAuthentication, out: snapshot.Policy{Namespace: in.Route.Namespace}}
	if in.Spec != nil {
		c.authentication(in.Spec)
	}
	c.group = groupAuthorization
	if in.Rules != nil {
		c.authorization(in.Rules)
	}
	for _, p := range c.problems {
		if p.Closes {
			return Result{}, c.problems
		}
	}
	if c.certificateAlone() {
		return Result{Certificate: c.certificate, Until: c.until}, c.problems
	}
	if c.keys != nil {
		if c.native() {
			return Result{Keys: c.keys, Certificate: c.certificate, Until: c.until}, c.problems
		}
		c.keys.Demanded = c.out.Satisfy != snapshot.Any
	}
	for _, k := range c.in.Identities {
		c.out.Identities = append(c.out.Identities, snapshot.Identity{Claim: k.Name})
	}
	for i := range c.in.Limits {
		c.out.Limits = append(c.out.Limits, counted(in.Route, in.Rule, i, &c.in.Limits[i]))
	}
	agent, err := c.finish()
	if err != nil {
		c.group = groupAuthentication
		c.close("", "%s", err)
		return Result{}, c.problems
	}
	return Result{Agent: agent, Keys: c.keys, Certificate: c.certificate, Until: c.until}, c.problems
}

// native reports whether HAProxy decides alone: by nothing but a key, and without a limit over
// all replicas. It then does so without a policy agent, and on each version.
func (c *compiler) native() bool {
	p := &c.out
	c.keys.Demanded = p.Basic == nil && p.External == nil && p.JWT == nil && p.OIDC == nil && len(p.Authorization)+len(p.Listed) == 0
	return c.keys.Demanded && len(c.in.Limits) == 0
}

// The groups that are read here, as fields of spec.
const (
	groupAuthentication = "authentication"
	groupAuthorization  = "authorization"
)

func (c *compiler) authentication(s *v1alpha1.Authentication) {
	if s.Basic == nil && s.External == nil && s.JWT == nil && s.OIDC == nil && s.APIKeys == nil && s.ClientCertificate == nil {
		c.close("", "names no method; set basic, external, jwt, oidc, apiKeys or clientCertificate")
	}
	if s.ClientCertificate != nil {
		c.clientCertificate(s.ClientCertificate)
	}
	if s.APIKeys != nil {
		c.apiKeys(s.APIKeys)
	}
	if s.JWT != nil {
		c.jwt(s.JWT)
	}
	if s.Basic != nil {
		c.basic(s.Basic)
	}
	if s.External != nil {
		c.external(s.External)
	}
	if s.OIDC != nil {
		c.oidc(s.OIDC)
	}
	c.satisfy(s)
}

// satisfy reads how many of the methods a request must satisfy.
func (c *compiler) satisfy(s *v1alpha1.Authentication) {
	c.oneOf("satisfy", s.Satisfy, string(snapshot.All), string(snapshot.Any))
	if s.Satisfy != string(snapshot.Any) {
		return
	}
	c.out.Satisfy, c.out.Listed = snapshot.Any, c.in.Listed
	if s.ClientCertificate != nil {
		c.close("satisfy", "cannot be Any with clientCertificate, which holds beside all other methods")
	}
	if s.JWT != nil && s.JWT.Optional {
		c.close("jwt.optional", "would admit each request without a token, because satisfy is Any")
	}
	if len(c.in.Listed) > 0 {
		c.methods = append(c.methods, "an address in the list of the same policy")
	}
	c.methods = []string{"any of: " + strings.Join(c.methods, "; ")}
}

// maxPolicy bounds what one policy takes of a snapshot, in bytes.
const maxPolicy = 1 << 20

// finish names the policy by its content. Verdicts of an auth server may depend on the
// route, so policies that ask one have the route in their name.
func (c *compiler) finish() (*model.Agent, error) {
	named := c.out
	owner := ""
	if x := c.out.External; x != nil {
		without := *x
		without.Endpoints = nil
		named.External = &without
		owner = c.in.Route.String() + "\x00" + c.in.Rule
	}
	if len(named.Counted)+len(named.Limits) > 0 {
		owner = c.in.Route.String() + "\x00" + c.in.Rule
	}
	// IDs of limits are the route's, so that the content of two routes may be the same.
	named.Limits = slices.Clone(named.Limits)
	for i := range named.Limits {
		named.Limits[i].ID = ""
	}
	if len(named.Mirrors) > 0 {
		named.Mirrors = slices.Clone(named.Mirrors)
		for i := range named.Mirrors {
			named.Mirrors[i].Endpoints = nil
		}
		owner = c.in.Route.String() + "\x00" + c.in.Rule
	}
	content, err := digest(&named)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(content + "\x00" + owner))
	c.out.ID = hex.EncodeToString(sum[:idBytes])
	text, err := json.Marshal(&c.out)
	if err != nil {
		return nil, fmt.Errorf("cannot be written for the policy agent: %w", err)
	}
	if len(text) > maxPolicy {
		return nil, fmt.Errorf("takes %d bytes with what it names; at most %d are possible", len(text), maxPolicy)
	}
	return &model.Agent{
		ID: c.out.ID, Credentials: c.out.Credentials(), Strips: c.out.Strips(), Content: content,
		Namespace: c.out.Namespace, Policy: string(text), Methods: strings.Join(c.methods, "; "),
	}, nil
}

// idBytes is enough that no policy can be made that has the name of another one.
const idBytes = 16

func digest(p *snapshot.Policy) (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("cannot be written for the policy agent: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:idBytes]), nil
}

// Secrets returns what names the Secrets of a group, which may be nil: NAME or NAMESPACE/NAME.
func Secrets(a *v1alpha1.Authentication) (names []string) {
	if a == nil {
		return nil
	}
	if a.Basic != nil {
		names = append(names, string(a.Basic.Secret))
	}
	if a.External != nil {
		names = append(names, string(a.External.CASecret))
	}
	if a.ClientCertificate != nil {
		names = append(names, string(a.ClientCertificate.CASecret), string(a.ClientCertificate.CRLSecret))
	}
	if a.OIDC != nil {
		names = append(names, string(a.OIDC.ClientSecret), string(a.OIDC.CASecret))
	}
	if a.APIKeys != nil {
		for _, name := range a.APIKeys.Secrets {
			names = append(names, string(name))
		}
	}
	if a.JWT != nil {
		for i := range a.JWT.Issuers {
			names = append(names, string(a.JWT.Issuers[i].Secret))
			if k := a.JWT.Issuers[i].JWKS; k != nil {
				names = append(names, string(k.CASecret))
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// close notes what keeps the policy from being used.
func (c *compiler) close(field, format string, args ...any) {
	c.problems = append(c.problems, Problem{Group: c.group, Field: field, Message: fmt.Sprintf(format, args...), Closes: true})
}

// unresolved notes that something that is named cannot be used.
func (c *compiler) unresolved(reason api.Reason, field, format string, args ...any) {
	c.close(field, format, args...)
	c.problems[len(c.problems)-1].Reason = reason
}

// warn notes a part that is not used.
func (c *compiler) warn(field, format string, args ...any) {
	c.problems = append(c.problems, Problem{Group: c.group, Field: field, Message: fmt.Sprintf(format, args...)})
}

// secret returns the data of a Secret. It reports false if there is a problem, and
// nil if it is not known what the Secret holds.
func (c *compiler) secret(field string, name v1alpha1.ObjectReference) (map[string][]byte, bool) {
	if !objectReference(string(name)) {
		c.close(field, "%q is not the name of a Secret, nor NAMESPACE/NAME", name)
		return nil, false
	}
	data, err := c.in.References.Secret(string(name))
	switch {
	case unknown(err):
		return nil, true
	case err != nil:
		c.unresolved(policy.ReasonOf(err, api.ReasonSecretNotFound), field, "%s", err)
		return nil, false
	case data == nil:
		data = map[string][]byte{}
	}
	return data, true
}

// unknown reports whether an error says that there is no knowing.
func unknown(err error) bool {
	var u interface{ Unknown() bool }
	return errors.As(err, &u) && u.Unknown()
}
