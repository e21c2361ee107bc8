// Package authentication turns the group authentication of a policy, with the Secrets
// and Services that it names, into what the policy agent decides by. It is pure.
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
	"strings"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
)

// References are the objects of one namespace that a policy may name. An error says
// why one cannot be used, without its name; one with a method Unknown says that there
// is no knowing, and then the rest is judged without it.
type References interface {
	Secret(name string) (map[string][]byte, error)
	// Endpoints returns the ready pods of a Service at a port: by its name or by the
	// number of the pods' port, or by the only one if it is empty.
	Endpoints(service, port string) ([]netip.AddrPort, error)
}

// Input is what Compile reads.
type Input struct {
	Spec *v1alpha1.Authentication
	// Route has the policy, and Rule is that of its claim.
	Route model.Object
	Rule  string
	// Namespace has what the policy names.
	Namespace  string
	References References
}

// Problem is what is wrong with one field.
type Problem struct {
	// Field is the path below spec.authentication.
	Field   string
	Message string
	// Closes is false if only a part cannot be used, such as one user of many.
	Closes bool
}

// compiler gathers a policy and what is wrong with it.
type compiler struct {
	in       Input
	out      snapshot.Policy
	problems []Problem
	methods  []string
}

// Compile returns what the agent decides, or nil and what is wrong.
func Compile(in Input) (*model.Agent, []Problem) {
	c := &compiler{in: in, out: snapshot.Policy{Namespace: in.Route.Namespace}}
	s := in.Spec
	if s.Basic == nil && s.External == nil && s.JWT == nil {
		c.close("", "names no method; set basic, external or jwt")
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
	for _, p := range c.problems {
		if p.Closes {
			return nil, c.problems
		}
	}
	agent, err := c.finish()
	if err != nil {
		c.close("", "%s", err)
	}
	return agent, c.problems
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

// Secrets returns the names of the Secrets that a group names, which may be nil.
func Secrets(a *v1alpha1.Authentication) (names []string) {
	if a == nil {
		return nil
	}
	if a.Basic != nil {
		names = append(names, string(a.Basic.Secret))
	}
	if a.External != nil && a.External.CASecret != "" {
		names = append(names, string(a.External.CASecret))
	}
	if a.JWT != nil {
		for i := range a.JWT.Issuers {
			names = append(names, string(a.JWT.Issuers[i].Secret))
		}
	}
	return names
}

// close notes what keeps the policy from being used.
func (c *compiler) close(field, format string, args ...any) {
	c.problems = append(c.problems, Problem{Field: field, Message: fmt.Sprintf(format, args...), Closes: true})
}

// warn notes a part that is not used.
func (c *compiler) warn(field, format string, args ...any) {
	c.problems = append(c.problems, Problem{Field: field, Message: fmt.Sprintf(format, args...)})
}

// secret returns the data of a Secret. It reports false if there is a problem, and
// nil if it is not known what the Secret holds.
func (c *compiler) secret(field string, name v1alpha1.ObjectName) (map[string][]byte, bool) {
	if !objectName(string(name)) {
		c.close(field, "%q is not the name of a Secret", name)
		return nil, false
	}
	data, err := c.in.References.Secret(string(name))
	switch {
	case unknown(err):
		return nil, true
	case err != nil:
		c.close(field, "%s", err)
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
