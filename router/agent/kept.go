package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/agent/jwt"
)

// For how long what was read from an issuer is used.
const (
	shortestKeys = time.Minute
	defaultKeys  = 10 * time.Minute
	longestKeys  = 24 * time.Hour
	// staleKeys is for how long it is used when nothing newer can be read.
	staleKeys = 24 * time.Hour
	// refetchAfter is the pause between two reads because of unknown keys or failures.
	refetchAfter = 30 * time.Second
	// firstPause is the same as long as nothing was ever read. Without requests it doubles with
	// each failure, up to refetchAfter.
	firstPause = 2 * time.Second
	fetchTime  = 3 * time.Second
	// mostSets bounds what is fetched of each kind, and mostTended how many fetches may be under
	// way for others to begin that no request has asked for.
	mostSets   = 1000
	mostTended = 64
	// silentFailures is how many reads in a row may fail while the last good version serves,
	// before that is reported: one that fails once is no news.
	silentFailures = 1
)

// kept is what is fetched from an issuer, and the last good version of it.
type kept[T any] struct {
	// kind is that of snapshot.Trouble, and address what the policy names.
	kind, issuer, address string
	now                   func() time.Time
	log                   *slog.Logger
	source                source
	// load makes it of what a source says, and returns for how long to use it.
	load func(context.Context, source) (*T, time.Duration, error)
	// documents keeps it for the next process, as name.
	documents documents
	name      string

	mu      sync.Mutex
	value   *T
	read    time.Time
	expires time.Time
	tried   time.Time
	// misses is what is left of the reads for tokens with unknown keys, and owed is true while
	// one was taken of which it is not known whether it found a key.
	misses   misses
	owed     bool
	fetching chan struct{}
	err      error
	// failures counts those since the last success; recalled is true until that, if the value
	// is of a process before this one.
	failures int
	recalled bool
	// logged is the class of the last error in the log, empty after a success.
	logged string
}

// keySet is a set of keys.
type keySet = kept[jwt.Keys]

// get returns the value. The first time it waits for it; later a newer one is fetched
// beside the requests. It returns jwt.ErrNoKeys if there is none that may be used.
func (s *kept[T]) get(ctx context.Context) (*T, error) {
	s.mu.Lock()
	now := s.now()
	if !now.Before(s.expires) {
		s.start(now)
	}
	value, wait := s.usable(now), s.fetching
	s.mu.Unlock()
	if value == nil && wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
		}
		s.mu.Lock()
		value = s.usable(s.now())
		s.mu.Unlock()
	}
	if value == nil {
		return nil, jwt.ErrNoKeys
	}
	return value, nil
}

// newer returns what was read after the keys that a token did not fit. It reads them again if
// enough is left of the reads for such tokens, and the last attempt did not fail: a provider may
// replace its keys right after a read that their age was the reason of.
func (s *kept[T]) newer(ctx context.Context, than *T) (*T, bool) {
	s.mu.Lock()
	if now := s.now(); s.value == than {
		if s.failures == 0 && s.fetching == nil && s.misses.take(now) {
			s.tried, s.owed = time.Time{}, true
		}
		s.start(now)
	}
	wait := s.fetching
	s.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, s.value != nil && s.value != than
}

// verify checks a token by a value that was got, and if that has not the token's key, by what is
// read after it.
func (s *kept[T]) verify(ctx context.Context, got *T, check func(*T) error) error {
	err := check(got)
	if !errors.Is(err, jwt.ErrUnknownKey) {
		return err
	}
	newer, ok := s.newer(ctx, got)
	if !ok {
		return err
	}
	if err = check(newer); err == nil {
		s.fit()
	}
	return err
}

// fit says that a token fits what newer has returned: the read was for a key that the issuer
// has, so it is given back.
func (s *kept[T]) fit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owed {
		s.owed = false
		s.misses.found()
	}
}

func (s *kept[T]) usable(now time.Time) *T {
	if s.value == nil || now.After(s.expires.Add(staleKeys)) {
		return nil
	}
	return s.value
}

// start begins to fetch, unless that is going on or was tried just now.
func (s *kept[T]) start(now time.Time) {
	pause := refetchAfter
	if s.value == nil {
		pause = firstPause
	}
	if s.fetching != nil || !s.tried.IsZero() && now.Before(s.tried.Add(pause)) {
		return
	}
	s.tried = now
	done := make(chan struct{})
	s.fetching = done
	go s.fetch(done)
}

func (s *kept[T]) fetch(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	from := &recorder{source: s.source}
	value, life, err := s.load(ctx, from)
	s.mu.Lock()
	if s.err = err; err == nil {
		s.value, s.read = value, s.now()
		s.expires = s.read.Add(life)
		s.failures, s.recalled, s.logged = 0, false, ""
	} else {
		s.failures++
		s.logError(err)
	}
	d := document{Read: s.read, Expires: s.expires, Parts: from.parts}
	s.fetching = nil
	s.mu.Unlock()
	close(done)
	if err == nil {
		s.documents.put(s.name, &d)
	}
}

// logError logs what only the administrator reads: the policy's status has the class alone. The
// caller holds mu.
func (s *kept[T]) logError(err error) {
	if class := whyNot(err); class != s.logged {
		s.logged = class
		s.log.Error("an issuer cannot be read", "address", terminal.Excerpt(s.address, mostLogged), "err", terminal.Excerpt(err.Error(), mostLogged))
	}
}

// mostLogged bounds what a line of the log has of an address, or of an error, in which may be
// what another server says.
const mostLogged = 400

// recall takes the value that a process before this one has read, if it may still be used.
// It is judged as what comes from the issuer is.
func (s *kept[T]) recall(now time.Time) {
	d := s.documents.get(s.name)
	if d == nil || d.Read.After(now.Add(time.Minute)) || d.Expires.Before(d.Read) || d.Expires.Sub(d.Read) > longestKeys || now.After(d.Expires.Add(staleKeys)) {
		return
	}
	value, _, err := s.load(context.Background(), d)
	if err != nil {
		return
	}
	s.value, s.read, s.expires, s.recalled = value, d.Read, d.Expires, true
}

// tend begins to fetch what has not been read, or not for long, and reports whether a fetch is
// under way. It needs no request, so that what is wrong with an issuer is known before a user is
// refused, and that an issuer is back.
func (s *kept[T]) tend(now time.Time, may bool) (fetching bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if may && !now.Before(s.expires) {
		pause := refetchAfter
		if s.failures < 5 { // 2, 4, 8, 16 s
			pause = firstPause << max(s.failures-1, 0)
		}
		if s.tried.IsZero() || !now.Before(s.tried.Add(pause)) {
			s.start(now)
		}
	}
	return s.fetching != nil
}

// collection is what policies name, by what it is and its CA.
type collection[T any] struct {
	mu   sync.Mutex
	sets map[[2]string]*kept[T]
}

func newCollection[T any]() collection[T] { return collection[T]{sets: map[[2]string]*kept[T]{}} }

// errManySets is a set too many.
var errManySets = errors.New("more than 1000 key sets are fetched")

// open returns the set of a URI, and begins to fetch it unless one that was read lately is
// there.
func (k *collection[T]) open(uri, ca string, fresh func() *kept[T]) (*kept[T], error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.sets[[2]string{uri, ca}]
	if s == nil {
		if len(k.sets) >= mostSets {
			return nil, errManySets
		}
		s = fresh()
		s.name = documentName(s.kind, uri, ca)
		k.sets[[2]string{uri, ca}] = s
		s.mu.Lock()
		now := s.now()
		if s.recall(now); !now.Before(s.expires) {
			s.start(now)
		}
		s.mu.Unlock()
	}
	return s, nil
}

// keep drops the sets that no policy names any more, and returns the names of the others.
func (k *collection[T]) keep(used map[*kept[T]]bool) (names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for at, s := range k.sets {
		if !used[s] {
			delete(k.sets, at)
			continue
		}
		names = append(names, s.name)
	}
	return names
}

// tend is that of each, and returns how many fetches are under way.
func (k *collection[T]) tend(now time.Time, running int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.sets {
		if s.tend(now, false) {
			running++
		}
	}
	for _, s := range k.sets {
		if running >= mostTended {
			break
		}
		if before := s.tend(now, false); !before && s.tend(now, true) {
			running++
		}
	}
	return running
}
