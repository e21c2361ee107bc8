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
	"sync/atomic"
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
	// rightsFor is how long an answer about rights is remembered, rightsAhead after how long it is
	// asked for again while the former one is still in use, so that no request waits, and rightsKept
	// for how long they are remembered without a request.
	rightsFor, rightsAhead, rightsKept = 30 * time.Second, 15 * time.Second, 5 * time.Minute
	// rightsPatience is how long a request waits for answers about namespaces that are new.
	rightsPatience = 250 * time.Millisecond
	// deniedFor is how long the answer "no" about a namespace is remembered at most: it is longer
	// each time, beginning with rightsFor. That is safe, because it shows less.
	deniedFor = 2 * time.Minute
	// reviewsAtOnce bounds the questions that wait for an answer, of all users together, and
	// reviewsAhead those of a user for whom no request waits.
	reviewsAtOnce, reviewsAhead = 8, 2
	// reviewsOfUser is how many namespaces are asked about for one user, and reviewsAgain how many of
	// those that the user may not see are asked about again at a time.
	reviewsOfUser, reviewsAgain = 1000, 32
	// usersAtOnce is for how many users more than reviewsAtOnce questions are asked at the same time.
	usersAtOnce = 2
	// reviewsWithin bounds all questions about one user.
	reviewsWithin = time.Minute
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
	// many is for users about whom there is much to ask while a request waits: the first ones are shown
	// something early, in place of all of them late.
	many chan struct{}

	mu    sync.Mutex
	users map[string]*sight
}

// sight is what one user may see.
type sight struct {
	// asked is when it was used last, which sights.mu holds.
	asked time.Time

	mu     sync.Mutex
	viewer *viewer
	// at is when the oldest question was asked whose answer lets the viewer see something.
	at time.Time
	// of are the namespaces that the answer is about.
	of string
	// answers are those about namespaces.
	answers map[string]reviewed
	// asking is closed when the questions that are under way have ended, nil if none are: requests of
	// one user at the same time are one question. Err is how they ended.
	asking chan struct{}
	err    error
}

// reviewed is an answer about a namespace: when it was asked for, and how often it was "no" on end.
type reviewed struct {
	at time.Time
	no int
}

func newSights(rights Rights, now func() time.Time, log *slog.Logger) *sights {
	return &sights{rights: rights, now: now, log: log, gate: make(chan struct{}, reviewsAtOnce), many: make(chan struct{}, usersAtOnce), users: map[string]*sight{}}
}

// of returns what a user may see of namespaces. An error means that there is no knowing, and
// then nothing is shown.
func (s *sights) of(ctx context.Context, user Identity, namespaces []string) (*viewer, error) {
	one := s.entry(user.key())
	of := setOf(namespaces)
	for {
		v, asking, current := s.known(ctx, one, user, namespaces, of)
		if v != nil && current {
			return v, nil
		}
		var patience <-chan time.Time
		if v != nil { // of new namespaces nothing is shown until there is an answer
			patience = time.After(rightsPatience)
		}
		select {
		case <-asking:
		case <-patience:
			return v, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		one.mu.Lock()
		err := one.err
		one.mu.Unlock()
		switch {
		case err != nil && v != nil:
			return v, nil
		case err != nil:
			return nil, fmt.Errorf("find out what %s may see: %w", user.Name, err)
		}
	}
}

// known returns what is known of a user, nil if that is nothing or too old, and whether it is about these
// namespaces. It has the user asked about if that is due; asking is closed when the questions have ended.
func (s *sights) known(ctx context.Context, one *sight, user Identity, namespaces []string, of string) (v *viewer, asking <-chan struct{}, current bool) {
	one.mu.Lock()
	defer one.mu.Unlock()
	age := s.now().Sub(one.at)
	if age >= rightsFor {
		one.viewer = nil
	}
	current = one.viewer != nil && (one.of == of || one.viewer.all)
	if one.asking == nil && (!current || age >= rightsAhead) {
		one.asking = make(chan struct{})
		go s.renew(context.WithoutCancel(ctx), one, user, namespaces, current)
	}
	return one.viewer, one.asking, current
}

// forget has a user asked about from the beginning, so that a log-in shows at once what the user may
// see since.
func (s *sights) forget(user Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.users, user.key())
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

// renew asks what has to be asked about a user. Ahead says that no request waits for it.
func (s *sights) renew(ctx context.Context, one *sight, user Identity, namespaces []string, ahead bool) {
	ctx, cancel := context.WithTimeout(ctx, reviewsWithin)
	defer cancel()
	one.mu.Lock()
	before := one.answers
	one.mu.Unlock()
	asked := s.now()
	v, answers, err := s.ask(ctx, user, namespaces, before, ahead)
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.err = err; err == nil {
		one.viewer, one.of, one.answers, one.at = v, setOf(namespaces), answers, asked
		for n := range v.namespaces {
			if at := answers[n].at; at.Before(one.at) {
				one.at = at
			}
		}
	}
	close(one.asking)
	one.asking = nil
}

// ask asks the API server: first about all namespaces, then about each whose answer is too old.
func (s *sights) ask(ctx context.Context, user Identity, namespaces []string, before map[string]reviewed, ahead bool) (*viewer, map[string]reviewed, error) {
	all, err := s.review(ctx, user, "")
	if err != nil || all {
		return &viewer{name: user.Name, all: all}, nil, err
	}
	v := &viewer{name: user.Name, namespaces: map[string]struct{}{}}
	namespaces = ownFirst(user.Name, namespaces)
	if v.cut = len(namespaces) > reviewsOfUser; v.cut {
		s.log.Warn("too many namespaces to ask about; the user does not see the others", "user", user.Name, "namespaces", len(namespaces), "asked", reviewsOfUser)
		namespaces = namespaces[:reviewsOfUser]
	}
	atOnce := reviewsAtOnce
	if ahead {
		atOnce = reviewsAhead
	}
	now := s.now()
	answers, todo := s.due(namespaces, before, now)
	if !ahead && len(todo) > reviewsAtOnce {
		select {
		case s.many <- struct{}{}:
			defer func() { <-s.many }()
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	may, err := s.reviewEach(ctx, user, todo, atOnce)
	for i, n := range todo {
		a := reviewed{at: now}
		if !may[i] {
			a.no = before[n].no + 1
		}
		answers[n] = a
	}
	seen := make([]string, 0, len(answers))
	for n, a := range answers {
		if a.no == 0 {
			v.namespaces[n] = struct{}{}
			seen = append(seen, n)
		}
	}
	slices.Sort(seen)
	v.set = setOf(seen)
	return v, answers, err
}

// due returns the answers that are still in use, and the namespaces that are to be asked about: those
// without an answer, those that the user may see, and a few of the others, the oldest first.
func (s *sights) due(namespaces []string, before map[string]reviewed, now time.Time) (answers map[string]reviewed, todo []string) {
	answers = make(map[string]reviewed, len(namespaces))
	var again []string
	for _, n := range namespaces {
		a, known := before[n]
		age := now.Sub(a.at)
		switch {
		case !known, a.no == 0 && age >= rightsAhead:
			todo = append(todo, n)
			continue
		case a.no > 0 && age >= min(deniedFor, rightsFor<<min(a.no-1, 8)):
			again = append(again, n)
		}
		answers[n] = a
	}
	slices.SortStableFunc(again, func(a, b string) int { return before[a].at.Compare(before[b].at) })
	return answers, append(todo, first(again, reviewsAgain)...)
}

// reviewEach asks about each namespace.
func (s *sights) reviewEach(ctx context.Context, user Identity, namespaces []string, atOnce int) (may []bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	may = make([]bool, len(namespaces))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(atOnce, len(namespaces)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(namespaces) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				var err error
				if may[i], err = s.review(ctx, user, namespaces[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return may, context.Cause(ctx)
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
