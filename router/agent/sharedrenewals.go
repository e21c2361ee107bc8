package agent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/agent/jwt"
)

// Bounds of the folder that workers share renewals in.
const (
	mostShared = 500
	// sharedPatience is how long a worker waits for the other one's renewal.
	sharedPatience = 3 * time.Second
	sharedLook     = 20 * time.Millisecond
)

// sharedRenewals is a folder in memory by which the workers of a pod renew a session once:
// many providers take a refresh token once only, and end the session if it comes again.
// What is written there is encrypted as cookies are. An empty folder shares nothing.
type sharedRenewals struct {
	dir string
}

// claim reports whether this worker is to ask the provider: the first one that asks, or
// each if nothing can be shared.
func (s sharedRenewals) claim(name string, now time.Time) bool {
	if s.dir == "" || os.MkdirAll(s.dir, 0o700) != nil {
		return true
	}
	if s.clean(now) >= mostShared {
		return true
	}
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return false
	}
	if err == nil {
		_ = f.Close()
	}
	return true
}

// clean removes what is too old to be asked for, and returns how much is left.
func (s sharedRenewals) clean(now time.Time) (left int) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return mostShared
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > renewalLife {
			_ = os.Remove(filepath.Join(s.dir, e.Name()))
			continue
		}
		left++
	}
	return left
}

const sharedSuffix = ".done"

// put hands the renewal to the other worker. An empty text says that there is none, and
// that the other one may ask.
func (s sharedRenewals) put(name, text string) {
	switch {
	case s.dir == "":
		return
	case text == "":
		_ = os.Remove(filepath.Join(s.dir, name))
		return
	}
	path := filepath.Join(s.dir, name+sharedSuffix)
	fresh := path + ".new"
	if os.WriteFile(fresh, []byte(text), 0o600) == nil {
		_ = os.Rename(fresh, path)
	}
}

// wait returns what the other worker has handed over, or false if it did not in time, or
// will not.
func (s sharedRenewals) wait(ctx context.Context, name string) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, sharedPatience)
	defer cancel()
	tick := time.NewTicker(sharedLook)
	defer tick.Stop()
	for {
		if text, err := os.ReadFile(filepath.Join(s.dir, name+sharedSuffix)); err == nil {
			return string(text), true
		}
		if _, err := os.Stat(filepath.Join(s.dir, name)); err != nil {
			return "", false
		}
		select {
		case <-ctx.Done():
			return "", false
		case <-tick.C:
		}
	}
}

const kindRenewal = "renewal"

// once renews a session, unless the other worker does.
func (v *visit) once(ctx context.Context, s *userSession) renewal {
	name := v.keys.Hash(v.bound, v.host(), s.Refresh)
	shared := v.e.shared
	if !shared.claim(name, time.Now()) {
		if text, ok := shared.wait(ctx, name); ok {
			return v.readRenewal(text)
		}
	}
	r := v.refresh(ctx, s)
	text := ""
	switch {
	case r.session != nil:
		if raw, err := json.Marshal(r.session); err == nil {
			text, _ = v.keys.Seal(v.e.now(), raw, v.parts(kindRenewal)...)
		}
	case r.rejected:
		text = "rejected"
	}
	shared.put(name, text)
	return r
}

// readRenewal reads what the other worker has written.
func (v *visit) readRenewal(text string) renewal {
	if strings.HasPrefix(text, "rejected") {
		return renewal{rejected: true}
	}
	raw, ok := v.keys.Open(text, v.parts(kindRenewal)...)
	var s userSession
	if !ok || json.Unmarshal(raw, &s) != nil {
		return renewal{}
	}
	claims, err := jwt.ReadClaims(s.Claims)
	if err != nil {
		return renewal{}
	}
	s.claims = claims
	return renewal{session: &s}
}
