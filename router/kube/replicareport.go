package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/router/model"
)

// Pauses of what a replica says. The elected one waits for the others before it writes
// that some lack a policy, so that a change is one write of its status.
const (
	replicaPause  = 200 * time.Millisecond // between two annotations
	replicaLook   = 20 * time.Millisecond  // between two looks at what there is to say
	replicaRetry  = time.Second            // after a failure, and while this pod is not ready
	replicaRepeat = 10 * time.Second       // of what was said and is not in the object yet
	replicaWait   = time.Second            // of the elected one for the others
	replicaAgain  = time.Second            // between two looks at a policy that some lack
	replicaClean  = 10 * time.Minute       // between two looks for annotations of pods that are gone
)

// replicaReport is what this replica says to the elected one.
type replicaReport struct {
	// wake has room for one value.
	wake chan struct{}
	// written are the words of the last annotation, said at.
	written words
	said    time.Time
	// count is how many were written.
	count atomic.Uint64
}

func (r *replicaReport) ring() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// news reports whether words have to be written: some that were not, or others than were.
func (r *replicaReport) news(say, withdrawn words) bool {
	for v, w := range say {
		if r.written[v] != w {
			return true
		}
	}
	for v := range withdrawn {
		if _, said := r.written[v]; said {
			return true
		}
	}
	return false
}

func (s *StatusWriter) replicasName() string { return "router-" + s.watcher.name + "-replicas" }

// speak writes what this replica says until ctx ends.
func (s *StatusWriter) speak(ctx context.Context) {
	rest := time.Hour
	for {
		timer := time.NewTimer(rest)
		select {
		case <-ctx.Done():
		case <-s.replica.wake:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
		rest = s.speakOnce(ctx)
		pause(ctx, replicaLook)
	}
}

// speakOnce says what there is to say, and returns the pause until it looks again, unless
// something changes before.
func (s *StatusWriter) speakOnce(ctx context.Context) time.Duration {
	say, withdrawn, open, leading := s.words()
	if leading || open == 0 {
		return time.Hour
	}
	me, others := s.members.now()
	switch {
	case me == "" || len(others) == 0:
		return replicaRetry
	case !s.replica.news(say, withdrawn) && (len(say) == 0 || time.Since(s.replica.said) < replicaRepeat):
		return replicaRepeat
	}
	if err := s.annotate(ctx, map[string]any{replicaPrefix + me: say.text(most(len(others) + 1))}); err != nil {
		if ctx.Err() == nil {
			s.log.errorLimited("cannot say what this replica has, retrying", "err", err)
		}
		return replicaRetry
	}
	s.replica.written, s.replica.said = say, time.Now()
	s.replica.count.Add(1)
	pause(ctx, replicaPause)
	return replicaRepeat
}

// most is how many words each of so many replicas may write.
func most(replicas int) int { return min(mostWords, mostWordBytes/wordBytes/replicas) }

// words returns what this replica has to say, the complaints that no longer hold, and how
// many objects are open.
func (s *StatusWriter) words() (say, withdrawn words, open int, leading bool) {
	say, withdrawn = words{}, words{}
	open, leading = s.policyWords(say, withdrawn)
	return say, withdrawn, open + s.listenerWords(say, withdrawn), leading
}

// consider adds what there is to say about a version, and reports whether the object says so.
func (r *replicaReport) consider(v objectVersion, w word, programmed bool, say, withdrawn words) bool {
	switch {
	case w != wordLive || !programmed:
		say[v] = w
	case r.written[v] != 0 && r.written[v] != wordLive:
		withdrawn[v] = w
	default:
		return true
	}
	return false
}

// policyWords adds what this replica has to say about policies, and returns how many are open
// and whether it is elected.
func (s *StatusWriter) policyWords(say, withdrawn words) (open int, leading bool) {
	p := &s.policies
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.open {
		stored, o := s.watcher.policies.get(key), p.desired[key]
		switch {
		case stored == nil:
			delete(p.open, key)
			continue
		case o == nil || o.report.UID != stored.UID || o.report.Generation != stored.Generation:
			continue // soon
		case len(o.report.Conditions) == 0:
			delete(p.open, key)
			continue
		}
		w, known := wordOf(&o.report)
		if !known {
			continue // soon; until then what was said stands
		}
		if s.replica.consider(versionOf(stored.UID, stored.Generation), w, s.watcher.programmed(stored), say, withdrawn) {
			delete(p.open, key)
		}
	}
	return len(p.open), p.queue != nil
}

// annotate changes annotations of the Lease, which it makes if it is not there.
func (s *StatusWriter) annotate(ctx context.Context, annotations map[string]any) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encode annotations: %w", err)
	}
	leases, name := s.watcher.clients.coordination, s.replicasName()
	write := func() error {
		return leases.Patch(types.MergePatchType).Namespace(s.namespace).Resource("leases").Name(name).SetHeader("Accept", onlyMetadata).Body(body).Do(ctx).Error()
	}
	if err = write(); apierrors.IsNotFound(err) {
		err = leases.Post().Namespace(s.namespace).Resource("leases").Body(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		}).Do(ctx).Error()
		if err == nil || apierrors.IsAlreadyExists(err) {
			err = write()
		}
	}
	if err != nil {
		return fmt.Errorf("write lease %s/%s: %w", s.namespace, name, err)
	}
	return nil
}

// listen keeps what the others say until ctx ends. Only the elected replica does.
func (s *StatusWriter) listen(ctx context.Context) {
	if s.namespace == "" {
		return
	}
	st := newStore(kindLease, part(readSpoken), func(_ model.Object, before, after *spoken) {
		s.policies.heard(before, after)
		s.gateways.heard(before, after)
	})
	s.heard.Store(st)
	defer s.heard.Store(nil)
	f := clientFeed(s.watcher.clients.coordination, "leases", s.namespace, s.replicasName(), &coordinationv1.Lease{})
	f.store, f.log = st, s.log.Logger
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.run(ctx)
	}()
	clean := time.NewTicker(replicaClean)
	defer clean.Stop()
	for {
		select {
		case <-ctx.Done():
			<-done
			return
		case <-clean.C:
			s.forgetGone(ctx)
		}
	}
}

// spoken returns what the others say, or nil.
func (s *StatusWriter) spoken() *spoken {
	st := s.heard.Load()
	if st == nil {
		return nil
	}
	return st.get(model.Object{Kind: kindLease, Namespace: s.namespace, Name: s.replicasName()})
}

// forgetGone removes the annotations of pods that are not ready. One that is again repeats
// what it says.
func (s *StatusWriter) forgetGone(ctx context.Context) {
	said := s.spoken()
	if said == nil {
		return
	}
	gone := map[string]any{}
	for name := range said.by {
		gone[replicaPrefix+name] = nil
	}
	me, others := s.members.now()
	for _, name := range append(others, me) {
		delete(gone, replicaPrefix+name)
	}
	if len(gone) == 0 {
		return
	}
	if err := s.annotate(ctx, gone); err != nil && ctx.Err() == nil {
		s.log.errorLimited("cannot remove what replicas said that are gone", "err", err)
	}
}

// heard looks again at the policies that some replica lacked, and at all if one says that
// it lacks something, or no longer does.
func (p *policyReports) heard(before, after *spoken) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !maps.Equal(before.complaints(), after.complaints()) {
		for key := range p.desired {
			p.enqueue(key)
		}
		return
	}
	for key := range p.lacked {
		p.enqueue(key)
	}
}
