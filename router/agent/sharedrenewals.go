package agent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead/fairlead/router/agent/jwt"
)

// Bounds of the folder that workers share renewals in.
const (
	mostShared = 500
	sharedLook = 20 * time.Millisecond
)

// sharedRenewals is a folder in memory by which the workers of a pod renew a session once:
// many providers take a refresh token once only, and end the session if it comes again.
// What is written there is encrypted as cookies are. An empty folder shares nothing.
type sharedRenewals struct {
	dir string
}

// renewalClaim is the right to ask the provider. The kernel ends it with the process, so that the other
// worker need not guess whether this one still asks.
type renewalClaim struct {
	file *os.File // nil if nothing is shared
	path string
}

// claim returns the right to ask, or what the other worker has handed over. It returns neither if
// that one does not end in time: the refresh token may be used by then.
func (s sharedRenewals) claim(ctx context.Context, name string) (c *renewalClaim, text string) {
	if s.dir == "" || os.MkdirAll(s.dir, 0o700) != nil || s.clean(time.Now()) >= mostShared {
		return &renewalClaim{}, ""
	}
	path := filepath.Join(s.dir, name)
	tick := time.NewTicker(sharedLook)
	defer tick.Stop()
	for {
		mine, err := lockRenewal(path)
		if err != nil {
			return &renewalClaim{}, ""
		}
		// The result is there before the lock ends.
		if text, err := os.ReadFile(path + sharedSuffix); err == nil {
			if mine != nil {
				_ = mine.Close()
			}
			return nil, string(text)
		}
		if mine != nil {
			return &renewalClaim{mine, path}, ""
		}
		select {
		case <-ctx.Done():
			return nil, ""
		case <-tick.C:
		}
	}
}

// lockRenewal returns the locked file, or nil if the other worker has it.
func lockRenewal(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		_ = f.Close()
		return nil, nil //nolint:nilnil // the other worker has it
	}
	opened, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(path); err == nil && os.SameFile(opened, there) {
			now := time.Now()
			_ = os.Chtimes(path, now, now)
			return f, nil
		}
	}
	_ = f.Close()   // it was removed meanwhile, for its age
	return nil, nil //nolint:nilnil // the next look finds another file
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

// end hands the renewal to the other worker. An empty text says that there is none, and
// that the other one may ask.
func (c *renewalClaim) end(text string) {
	if c.file == nil {
		return
	}
	if text != "" {
		path := c.path + sharedSuffix
		fresh := path + ".new"
		if os.WriteFile(fresh, []byte(text), 0o600) == nil {
			_ = os.Rename(fresh, path)
		}
	}
	_ = c.file.Close()
}

const kindRenewal = "renewal"

// renewalName names a renewal, the same for all workers of all routers.
func (v *visit) renewalName(s *userSession) string {
	return v.keys.Hash(v.bound, v.place(), s.Refresh)
}

// once renews a session, unless another worker does: of the router that owns the renewal, or of this pod.
func (v *visit) once(ctx context.Context, s *userSession) renewal {
	if r, done := v.elsewhere(ctx, s); done {
		return r
	}
	c, text := v.e.shared.claim(ctx, v.renewalName(s))
	switch {
	case text != "":
		return v.readRenewal(text)
	case c == nil:
		return renewal{}
	}
	r := renewal{}
	defer func() { c.end(v.renewalText(r)) }()
	r = v.refresh(ctx, s)
	return r
}

// rejectedText says that the provider does not renew a session.
const rejectedText = "rejected"

// renewalText is what another worker gets of a renewal; empty if there is none.
func (v *visit) renewalText(r renewal) string {
	switch {
	case r.session != nil:
		if raw, err := json.Marshal(r.session); err == nil {
			text, _ := v.keys.Seal(v.e.now(), raw, v.parts(kindRenewal)...)
			return text
		}
	case r.rejected:
		return rejectedText
	}
	return ""
}

// readRenewal reads what another worker has written.
func (v *visit) readRenewal(text string) renewal {
	if strings.HasPrefix(text, rejectedText) {
		return renewal{rejected: true}
	}
	s, ok := v.openSession(text, kindRenewal)
	if !ok {
		return renewal{}
	}
	return renewal{session: s}
}

// openSession reads a session that is encrypted as one of a kind.
func (v *visit) openSession(text, kind string) (*userSession, bool) {
	raw, ok := v.keys.Open(text, v.parts(kind)...)
	var s userSession
	if !ok || json.Unmarshal(raw, &s) != nil {
		return nil, false
	}
	claims, err := jwt.ReadClaims(s.Claims)
	if err != nil {
		return nil, false
	}
	s.claims = claims
	return &s, true
}
