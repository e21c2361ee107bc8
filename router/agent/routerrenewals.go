package agent

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/fairlead/fairlead/router/share/peers"
)

// mostCalled bounds the renewals that this worker asks others for at a time, of which one namespace
// has a quarter.
const mostCalled = 64

// kindCalled is a session that another router is to renew.
const kindCalled = "renewal of another router"

// renewalQuestion asks the worker that owns a renewal for it. Both have the keys of sessions, and
// what the provider needs to know of the client is in the policy.
type renewalQuestion struct {
	Policy  string `json:"p"`
	Host    string `json:"h"`
	Session string `json:"s"`
}

// Answers to a renewalQuestion besides those of renewalText.
const (
	// notAskedText says that the provider was not asked, and that the other worker may.
	notAskedText = ""
	// noneText says that the provider was asked and has not answered.
	noneText = "none"
)

// elsewhere has the worker that owns a renewal do it, which is the same one for all routers: a
// refresh token that two of them use may end the session. It reports false if that one has not been
// asked, so that this worker may do it. If the other one was and does not answer, nothing is done: the refresh token may
// be used, and the session goes on while its tokens do.
func (v *visit) elsewhere(ctx context.Context, s *userSession) (renewal, bool) {
	if v.called || v.e.member == nil {
		return renewal{}, false
	}
	owner := v.e.member.Owner(v.renewalName(s))
	if owner == "" || !v.e.calls.take(v.p.namespace) {
		return renewal{}, false
	}
	defer v.e.calls.give(v.p.namespace)
	raw, err := json.Marshal(s)
	if err != nil {
		return renewal{}, false
	}
	sealed, err := v.keys.Seal(v.e.now(), raw, v.parts(kindCalled)...)
	if err != nil {
		return renewal{}, false
	}
	question, err := json.Marshal(renewalQuestion{v.p.id, v.q.Host, sealed})
	if err != nil {
		return renewal{}, false
	}
	answer, err := v.e.member.Call(ctx, owner, question)
	switch text := string(answer); {
	case errors.Is(err, peers.ErrNotAsked), err == nil && text == notAskedText:
		return renewal{}, false
	case err != nil || text == noneText:
		return renewal{}, true
	default:
		return v.readRenewal(text), true
	}
}

// answerRenewal renews a session for another router.
func (e *Engine) answerRenewal(ctx context.Context, question []byte) []byte {
	var r renewalQuestion
	w := e.world.Load()
	if json.Unmarshal(question, &r) != nil || !w.sessions.Usable() {
		return []byte(notAskedText)
	}
	p := w.policies[r.Policy]
	if p == nil || p.err != nil || p.login == nil {
		return []byte(notAskedText) // it will be here, or is not any more
	}
	v := &visit{login: p.login, e: e, p: p, q: &Question{Policy: p.id, Host: r.Host, TLS: true}, keys: w.sessions, called: true}
	s, ok := v.openSession(r.Session, kindCalled)
	if !ok || s.Refresh == "" {
		return []byte(notAskedText)
	}
	text := v.renewalText(v.refreshed(ctx, s))
	if text == "" {
		text = noneText
	}
	return []byte(text)
}
