package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// sessionLife is how long a session lasts at most, and reviewEvery how old the answer
	// about its token may be.
	sessionLife, reviewEvery = 8 * time.Hour, time.Minute
	// sessionsOfOwner and sessionsOfAll bound how many there are: the one that was used least
	// lately ends.
	sessionsOfOwner, sessionsOfAll = 10, 500
)

// session is one browser that has logged in. The cookie has a secret of which the table knows
// the hash only. The token is encrypted with a key that is made of the secret: so the token is
// known while a request of the browser is served, and from what the process keeps it cannot be
// had.
type session struct {
	user   Identity
	sealed []byte
	// ends is when the session or the token does, used when there was the last request, and
	// reviewed when the token was.
	ends, used, reviewed time.Time
}

// sessions is the table of a process. Another replica, or the next process, does not have it:
// users log in again.
type sessions struct {
	now func() time.Time
	// full is called with the owner of a session that ends because there are too many.
	full func(owner string)

	mu  sync.Mutex
	all map[[sha256.Size]byte]*session
}

// owner is whose sessions are counted together: a ServiceAccount's namespace, in which a tenant
// can make any number of ServiceAccounts, or a user.
func (s *session) owner() string {
	if rest, is := strings.CutPrefix(s.user.Name, serviceAccounts); is {
		namespace, _, _ := strings.Cut(rest, ":")
		return serviceAccounts + namespace
	}
	return s.user.Name
}

// begin makes a session, and returns the secret of its cookie.
func (t *sessions) begin(user Identity, token string, ends time.Time) (cookie string) {
	now := t.now()
	cookie = secret(32)
	s := &session{user: user, sealed: seal(cookie, token), used: now, reviewed: now, ends: now.Add(sessionLife)}
	if ends.Before(s.ends) {
		s.ends = ends
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clean(now)
	if n := t.count(s.owner()); n >= sessionsOfOwner {
		t.drop(func(o *session) bool { return o.owner() == s.owner() })
	} else if len(t.all) >= sessionsOfAll {
		t.drop(func(*session) bool { return true })
	}
	t.all[sha256.Sum256([]byte(cookie))] = s
	return cookie
}

func (t *sessions) count(owner string) (n int) {
	for _, s := range t.all {
		if s.owner() == owner {
			n++
		}
	}
	return n
}

// clean forgets sessions that have ended.
func (t *sessions) clean(now time.Time) {
	for key, s := range t.all {
		if !now.Before(s.ends) {
			delete(t.all, key)
		}
	}
}

// drop ends the session of some that was used least lately.
func (t *sessions) drop(of func(*session) bool) {
	var key [sha256.Size]byte
	var oldest *session
	for k, s := range t.all {
		if of(s) && (oldest == nil || s.used.Before(oldest.used)) {
			key, oldest = k, s
		}
	}
	if oldest != nil {
		delete(t.all, key)
		t.full(oldest.owner())
	}
}

// find returns the user of a cookie. Due says that the token is to be reviewed again, which
// the first request that is answered so does: others get the same answer until end or renew
// is called.
func (t *sessions) find(cookie string) (user Identity, token string, due, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	s := t.all[sha256.Sum256([]byte(cookie))]
	if s == nil || !now.Before(s.ends) {
		return user, "", false, false
	}
	s.used = now
	if now.Sub(s.reviewed) < reviewEvery {
		return s.user, "", false, true
	}
	token, ok := unseal(cookie, s.sealed)
	return s.user, token, true, ok
}

// renew notes that the token of a session is still its user's.
func (t *sessions) renew(cookie string, user Identity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.all[sha256.Sum256([]byte(cookie))]; s != nil {
		s.user, s.reviewed = user, t.now()
	}
}

// end ends a session.
func (t *sessions) end(cookie string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, sha256.Sum256([]byte(cookie)))
}

// sealer is for one text: each cookie has a key of its own.
func sealer(cookie string) cipher.AEAD {
	key := sha256.Sum256([]byte("token of the session\n" + cookie))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key is as long as it must be
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the block size of GCM
	}
	return aead
}

func seal(cookie, token string) []byte {
	aead := sealer(cookie)
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails, says its documentation
	return aead.Seal(nonce, nonce, []byte(token), nil)
}

func unseal(cookie string, sealed []byte) (token string, ok bool) {
	aead := sealer(cookie)
	text, err := aead.Open(nil, sealed[:aead.NonceSize()], slices.Clone(sealed[aead.NonceSize():]), nil)
	return string(text), err == nil
}
