package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Identity is a user as the API server knows one.
type Identity struct {
	Name, UID string
	Groups    []string
	Extra     map[string][]string
}

// key differs between identities whose rights may differ.
func (i Identity) key() string {
	return fmt.Sprintf("%q %q %q %q", i.Name, i.UID, i.Groups, i.Extra)
}

// Rights says who a token is of, and what a user may see: the API server does.
type Rights interface {
	// Review returns whose token it is. An ErrRefused is about the token, any other error
	// about the question.
	Review(ctx context.Context, token string) (Identity, error)
	// MaySee reports whether a user may list the Routes of a namespace, or of all of them
	// if it is empty.
	MaySee(ctx context.Context, user Identity, namespace string) (bool, error)
}

const (
	// rightsFor is how long an answer about rights is remembered, and rightsKept for how long
	// without a request.
	rightsFor, rightsKept = 30 * time.Second, 5 * time.Minute
	// reviewsAtOnce bounds the questions that wait for an answer, of all users together, and
	// reviewsOfUser how many namespaces are asked about for one user each time.
	reviewsAtOnce, reviewsOfUser = 8, 1000
)

// viewer is what a user may see.
type viewer struct {
	name string
	// all says that it is everything; otherwise namespaces has what it is.
	all        bool
	namespaces map[string]struct{}
	// set is the same for users who see the same.
	set string
	// cut says that some namespaces were not asked about.
	cut bool
}

// sees reports whether a user may see a namespace; what is of none belongs to those who see all.
func (v *viewer) sees(namespace string) bool {
	_, may := v.namespaces[namespace]
	return v.all || may
}

// sights remembers what users may see.
type sights struct {
	rights Rights
	now    func() time.Time
	log    *slog.Logger
	gate   chan struct{}

	mu    sync.Mutex
	users map[string]*sight
}

// sight is what one user may see. Its lock is held while the API server is asked, so that
// requests of one user at the same time are one question.
type sight struct {
	mu sync.Mutex
	// at is when it was asked about, and asked when it was used last, which sights.mu holds.
	at, asked time.Time
	viewer    *viewer
	// of are the namespaces that the answer is about.
	of string
}

func newSights(rights Rights, now func() time.Time, log *slog.Logger) *sights {
	return &sights{rights: rights, now: now, log: log, gate: make(chan struct{}, reviewsAtOnce), users: map[string]*sight{}}
}

// of returns what a user may see of namespaces. An error means that there is no knowing, and
// then nothing is shown.
func (s *sights) of(ctx context.Context, user Identity, namespaces []string) (*viewer, error) {
	one := s.entry(user.key())
	one.mu.Lock()
	defer one.mu.Unlock()
	of := setOf(namespaces)
	if one.viewer != nil && s.now().Sub(one.at) < rightsFor && (one.of == of || one.viewer.all) {
		return one.viewer, nil
	}
	began := s.now()
	one.viewer = nil
	v, err := s.ask(ctx, user, namespaces)
	if err != nil {
		return nil, fmt.Errorf("find out what %s may see: %w", user.Name, err)
	}
	one.viewer, one.at, one.of = v, began, of
	return v, nil
}

// entry returns what is remembered of a user, and forgets others.
func (s *sights) entry(key string) *sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for other, one := range s.users {
		if other != key && now.Sub(one.asked) > rightsKept {
			delete(s.users, other)
		}
	}
	one := s.users[key]
	if one == nil {
		one = &sight{}
		s.users[key] = one
	}
	one.asked = now
	return one
}

// ask asks the API server: first about all namespaces, then about each.
func (s *sights) ask(ctx context.Context, user Identity, namespaces []string) (*viewer, error) {
	all, err := s.review(ctx, user, "")
	if err != nil || all {
		return &viewer{name: user.Name, all: all}, err
	}
	v := &viewer{name: user.Name, namespaces: map[string]struct{}{}}
	namespaces = ownFirst(user.Name, namespaces)
	if v.cut = len(namespaces) > reviewsOfUser; v.cut {
		s.log.Warn("too many namespaces to ask about; the user does not see the others", "user", user.Name, "namespaces", len(namespaces), "asked", reviewsOfUser)
		namespaces = namespaces[:reviewsOfUser]
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		namespace string
		may       bool
		err       error
	}
	answers, todo := make(chan answer), make(chan string)
	go func() {
		defer close(todo)
		for _, n := range namespaces {
			select {
			case todo <- n:
			case <-ctx.Done():
				return
			}
		}
	}()
	var workers sync.WaitGroup
	for range min(reviewsAtOnce, len(namespaces)) {
		workers.Go(func() {
			for n := range todo {
				may, err := s.review(ctx, user, n)
				answers <- answer{n, may, err}
			}
		})
	}
	go func() {
		workers.Wait()
		close(answers)
	}()
	for a := range answers {
		switch {
		case a.err != nil && err == nil:
			err = a.err
			cancel()
		case a.may:
			v.namespaces[a.namespace] = struct{}{}
		}
	}
	if err == nil {
		err = ctx.Err() // a request that has ended has not asked about all
	}
	seen := make([]string, 0, len(v.namespaces))
	for n := range v.namespaces {
		seen = append(seen, n)
	}
	slices.Sort(seen)
	v.set = setOf(seen)
	return v, err
}

// review asks one question, when it is its turn.
func (s *sights) review(ctx context.Context, user Identity, namespace string) (bool, error) {
	select {
	case s.gate <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-s.gate }()
	return s.rights.MaySee(ctx, user, namespace)
}

// ownFirst puts the namespace of a ServiceAccount first, so that it is asked about in any case.
func ownFirst(user string, namespaces []string) []string {
	rest, is := strings.CutPrefix(user, serviceAccounts)
	own, _, _ := strings.Cut(rest, ":")
	at := slices.Index(namespaces, own)
	if !is || at < 0 {
		return namespaces
	}
	return slices.Concat([]string{own}, namespaces[:at], namespaces[at+1:])
}

// serviceAccounts begins the names of users that are ServiceAccounts.
const serviceAccounts = "system:serviceaccount:"

// setOf stands for a sorted list of names.
func setOf(names []string) string {
	sum := sha256.New()
	for _, n := range names {
		_, _ = sum.Write([]byte(n + "\n"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
