package agent

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fairlead/fairlead/router/agent/htpasswd"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
)

// The groups of verdicts in metrics.
const (
	groupNone          = "none"
	groupBasic         = "basic"
	groupJWT           = "jwt"
	groupExternal      = "external"
	groupAuthorization = "authorization"
)

const (
	// userLife is for how long a right password is not verified again, wrongLife a wrong one.
	userLife  = time.Minute
	wrongLife = 10 * time.Second
	// hashTime is how long a request waits for its password to be verified.
	hashTime = 4 * time.Second
)

// basic is authentication by user and password.
type basic struct {
	users     *htpasswd.File
	challenge Header
	forward   string
	strip     bool
	most      int
	per       time.Duration
}

func newBasic(b *snapshot.Basic) (*basic, error) {
	m := &basic{forward: b.ForwardUser, strip: !b.KeepCredentials, most: b.MaxFailures, per: b.FailurePer}
	if b.Htpasswd != "" {
		m.users, _ = htpasswd.Parse(b.Htpasswd)
	} else {
		m.users, _ = htpasswd.ParseMap(b.Users)
	}
	if m.most <= 0 {
		m.most = 10
	}
	if m.per <= 0 {
		m.per = time.Minute
	}
	realm := b.Realm
	if realm == "" {
		realm = "Restricted"
	}
	m.challenge = Header{"WWW-Authenticate", `Basic realm="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(realm) + `", charset="UTF-8"`}
	switch {
	case m.users.Len() == 0:
		return nil, errors.New("basic: the Secret has no usable user")
	case !spop.ValidValue(realm) || len(realm) > 256:
		return nil, errors.New("basic: the realm has control characters, or more than 256 bytes")
	case m.forward != "" && !spop.ValidName(m.forward):
		return nil, fmt.Errorf("basic: %q is not the name of a header", m.forward)
	}
	return m, nil
}

func (m *basic) mapped() []string {
	if m.forward == "" {
		return nil
	}
	return []string{m.forward}
}

func (m *basic) wrong(reason string) Answer {
	a := refuse(unauthorized, groupBasic, reason)
	a.Client = []Header{m.challenge}
	a.Body = "Unauthorized\n"
	return a
}

// decide verifies the password once for each minute, and a wrong one seldom.
func (m *basic) decide(ctx context.Context, e *Engine, p *policy, q *Question, _ *identity) Answer {
	value, n := q.Headers.Get("authorization")
	user, password, ok := parseBasic(string(value))
	switch {
	case n == 0:
		return m.wrong("no credentials")
	case n > 1 || !ok:
		return m.wrong("unreadable credentials")
	}
	k := e.keyOf(p.hash, groupBasic, user, password)
	a, kept := e.cache.get(k)
	if !kept {
		if wait := e.failures.over(p.hash, q.Client, m.most); wait > 0 {
			a := refuse(tooMany, groupBasic, "too many wrong passwords")
			a.Client = []Header{{"Retry-After", fmt.Sprint(int(wait/time.Second) + 1)}}
			return a
		}
		// The one who asks counts a failure, even where another's answer serves.
		var err error
		a, _, err = e.cache.once(ctx, k, hashTime, func(ctx context.Context) (Answer, time.Duration) {
			return m.verify(ctx, e, p, user, password)
		})
		if err != nil {
			return refuse(unavailable, groupBasic, "no time left")
		}
		if a.Status == unauthorized {
			e.failures.add(p.hash, q.Client, m.per)
		}
	} else {
		a.from = fromCache
	}
	return a
}

func (m *basic) verify(ctx context.Context, e *Engine, p *policy, user, password string) (Answer, time.Duration) {
	right := make(chan bool, 1)
	if err := e.hashes.do(ctx, p.namespace, func() { right <- m.users.Verify(user, password) }); err != nil {
		if errors.Is(err, errBusy) {
			e.metrics.shed.Inc()
		}
		return refuse(unavailable, groupBasic, "too much work"), 0
	}
	select {
	case yes := <-right:
		if !yes {
			return m.wrong("wrong user or password"), wrongLife
		}
	default: // it panicked
		return refuse(unavailable, groupBasic, "internal error"), 0
	}
	a := Answer{Status: allowed, Consumer: user, group: groupBasic, from: fromAgent, TTL: userLife}
	if m.forward != "" {
		a.Set = []Header{{m.forward, user}}
	}
	if m.strip {
		a.Del = []string{"Authorization"}
	}
	return a, userLife
}

// parseBasic reads the value of an Authorization header.
func parseBasic(value string) (user, password string, ok bool) {
	scheme, rest, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "basic") {
		return "", "", false
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
	if err != nil || !utf8.Valid(raw) || len(raw) > htpasswd.MaxUser+1+htpasswd.MaxPassword {
		return "", "", false
	}
	user, password, ok = strings.Cut(string(raw), ":")
	return user, password, ok && spop.ValidValue(user)
}
