package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

const (
	// maxAncestors is what the CustomResourceDefinition allows.
	maxAncestors = 16
	// policyWorkers write statuses of policies.
	policyWorkers = 2
)

// policyReports are what this router says about policies.
type policyReports struct {
	mu      sync.Mutex
	desired map[model.Object]*policyOpinion
	// queue is nil unless this replica writes.
	queue queue
	// open are those whose objects may not say yet what this replica has to say of them.
	open model.Objects
	// began is when this replica began to write.
	began time.Time
	// lacked are those that some replica lacked when they were last looked at.
	lacked model.Objects
	// ring has this replica look at what is open.
	ring func()
}

type policyOpinion struct {
	report policy.Report
	// since is when the report was made, others what the other replicas made of it.
	since  time.Time
	others agreement
	// urgent is true from a change of the report until it has been written.
	urgent bool
	// written is when the entry was last written.
	written time.Time
	// judged and reported are as those of desired.
	judged   bool
	reported []api.Finding
}

// PublishPolicies takes the newest opinion about some policies. It never blocks.
func (s *StatusWriter) PublishPolicies(reports []policy.Report) {
	p := &s.policies
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range reports {
		o := p.desired[r.Key]
		if o != nil && o.report.Equal(&r) {
			continue
		}
		if o == nil || o.report.UID != r.UID {
			o = &policyOpinion{}
			p.desired[r.Key] = o
		}
		o.report, o.urgent, o.since = r, true, time.Now()
		p.enqueue(r.Key)
		p.reopen(r.Key)
	}
}

// reopen has this replica see whether there is something to say of a policy. The caller
// holds mu.
func (p *policyReports) reopen(key model.Object) {
	p.open[key] = struct{}{}
	p.ring()
}

// seen looks again at a policy whose object changed.
func (p *policyReports) seen(key model.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enqueue(key)
	p.reopen(key)
}

// enqueue asks a worker to look at a policy. The caller holds mu.
func (p *policyReports) enqueue(key model.Object) {
	if p.queue != nil {
		p.queue.Add(key)
	}
}

// writePolicies keeps the statuses until ctx ends.
func (s *StatusWriter) writePolicies(ctx context.Context) {
	q := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[model.Object](10*time.Millisecond, 15*time.Second))
	p := &s.policies
	p.mu.Lock()
	p.queue, p.began = q, time.Now()
	for key := range p.desired {
		q.Add(key)
	}
	p.mu.Unlock()
	var workers sync.WaitGroup
	for range policyWorkers {
		workers.Go(func() {
			for {
				key, end := q.Get()
				if end {
					return
				}
				s.processPolicy(ctx, q, key)
				q.Done(key)
			}
		})
	}
	<-ctx.Done()
	p.mu.Lock()
	p.queue = nil
	p.mu.Unlock()
	q.ShutDown()
	workers.Wait()
	p.ring()
}

// processPolicy brings the status of one policy up to date.
func (s *StatusWriter) processPolicy(ctx context.Context, q queue, key model.Object) {
	stored := s.watcher.policies.get(key)
	p := &s.policies
	p.mu.Lock()
	if stored == nil {
		delete(p.desired, key)
		delete(p.lacked, key)
	}
	opinion := p.desired[key]
	if stored == nil || opinion == nil || opinion.report.UID != stored.UID {
		p.mu.Unlock()
		q.Forget(key)
		return
	}
	report, since, pause := opinion.report, opinion.since, time.Duration(0)
	hold := s.withOthers(stored, opinion, &report)
	if !opinion.urgent {
		pause = repairPause - time.Since(opinion.written)
	}
	p.mu.Unlock()
	if hold > 0 {
		q.AddAfter(key, hold)
		return
	}
	if opinion.others != (agreement{}) {
		defer q.AddAfter(key, replicaAgain)
	}
	if report.Targets == 0 && s.watcher.forOthers(stored) {
		report.Conditions = nil // other routers say what becomes of it
	}
	wanted, differs := withAncestor(stored.Status.Ancestors, s.watcher.ancestor(), &report, metav1.Now().Rfc3339Copy())
	switch {
	case differs && pause > 0:
		q.AddAfter(key, pause)
		return
	case differs:
		if !s.putPolicy(ctx, q, stored, wanted) {
			return
		}
	}
	q.Forget(key)
	p.mu.Lock()
	if differs {
		opinion.written = time.Now()
	}
	if opinion.report.Generation == report.Generation && opinion.since.Equal(since) {
		opinion.urgent = false
	}
	if !opinion.judged && !differs {
		opinion.reported = grave(report.Findings) // the object says so already
	}
	opinion.judged = true
	p.mu.Unlock()
	if !s.policyEvents(stored, opinion, report.Findings) {
		q.AddAfter(key, wait.Jitter(5*time.Second, 3))
	}
}

// policyEvents makes events of findings that are new, and reports false if some have to wait.
func (s *StatusWriter) policyEvents(stored *policy.Object, o *policyOpinion, findings []api.Finding) bool {
	p := &s.policies
	p.mu.Lock()
	reported := o.reported
	p.mu.Unlock()
	said, complete := s.tell(corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion().String(), Kind: string(stored.Key.Kind),
		Namespace: stored.Key.Namespace, Name: stored.Key.Name, UID: types.UID(stored.UID), ResourceVersion: stored.Version,
	}, findings, reported)
	p.mu.Lock()
	o.reported = said
	p.mu.Unlock()
	return complete
}

// withOthers puts what the other replicas say into the report of this one, and returns how
// long to wait for them before that is written. The caller holds mu.
func (s *StatusWriter) withOthers(stored *policy.Object, o *policyOpinion, r *policy.Report) (hold time.Duration) {
	p, now := &s.policies, agreement{}
	if w, known := wordOf(r); s.namespace != "" && known && w == wordLive {
		_, others := s.members.now()
		if r.Generation != stored.Generation && len(others) > 0 {
			return replicaAgain // the next report, which comes soon, is about the version of now
		}
		now = agree(versionOf(r.UID, r.Generation), others, s.spoken(), s.watcher.programmed(stored))
	}
	if o.others != now {
		o.others, o.urgent = now, true
	}
	if now == (agreement{}) {
		delete(p.lacked, stored.Key)
		return 0
	}
	p.lacked[stored.Key] = struct{}{}
	r.Conditions = now.into(r.Conditions)
	if now.refused != 0 {
		return 0
	}
	return replicaWait - min(time.Since(o.since), time.Since(p.began))
}

// putPolicy writes the status and reports whether it was written.
func (s *StatusWriter) putPolicy(ctx context.Context, q queue, o *policy.Object, ancestors []v1alpha1.PolicyAncestor) bool {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": o.UID, "resourceVersion": o.Version},
		"status":   map[string]any{"ancestors": ancestors},
	})
	if err == nil {
		request := s.watcher.clients.fairlead.Patch(types.MergePatchType).Resource("clusterroutepolicies")
		if o.Key.Namespace != "" {
			request = s.watcher.clients.fairlead.Patch(types.MergePatchType).Namespace(o.Key.Namespace).Resource("routepolicies")
		}
		err = request.Name(o.Key.Name).SubResource("status").SetHeader("Accept", onlyMetadata).Body(body).Do(ctx).Error()
	}
	switch {
	case err == nil:
		s.writes.Add(1)
		return true
	case ctx.Err() != nil:
		return false
	case apierrors.IsNotFound(err):
		q.Forget(o.Key)
	case apierrors.IsConflict(err):
		s.conflicts.Add(1)
		q.AddRateLimited(o.Key)
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		s.failures.Add(1)
		s.log.errorLimited("status of a policy refused", "policy", policy.Title(o.Key), "err", err)
		q.AddAfter(o.Key, wait.Jitter(time.Minute, 1))
	default:
		s.failures.Add(1)
		s.log.errorLimited("cannot write the status of a policy, retrying", "policy", policy.Title(o.Key), "err", err)
		q.AddRateLimited(o.Key)
	}
	return false
}

// ancestor names the router's IngressController.
func (w *Watcher) ancestor() v1alpha1.AncestorRef {
	return v1alpha1.AncestorRef{
		Group: operatorv1.GroupName, Kind: "IngressController",
		Namespace: cmp.Or(w.namespace, api.OperatorNamespace), Name: w.name,
	}
}

// withAncestor returns the entries with what a router reports in place of its own
// entry, and whether that is a difference. Entries of others keep their place and
// content. The time of a condition moves only if its status does.
func withAncestor(current []v1alpha1.PolicyAncestor, ref v1alpha1.AncestorRef, r *policy.Report, now metav1.Time) ([]v1alpha1.PolicyAncestor, bool) {
	ours := func(a v1alpha1.PolicyAncestor) bool {
		return a.ControllerName == api.PolicyControllerName && a.AncestorRef == ref
	}
	at := slices.IndexFunc(current, ours)
	if len(r.Conditions) == 0 {
		return slices.DeleteFunc(slices.Clone(current), ours), at >= 0
	}
	entry := v1alpha1.PolicyAncestor{AncestorRef: ref, ControllerName: api.PolicyControllerName}
	var before []metav1.Condition
	if at >= 0 {
		before = current[at].Conditions
	}
	for _, c := range r.Conditions {
		c.ObservedGeneration, c.LastTransitionTime, c.Message = r.Generation, now, shorten(c.Message)
		if i := slices.IndexFunc(before, func(b metav1.Condition) bool { return b.Type == c.Type }); i >= 0 && before[i].Status == c.Status {
			c.LastTransitionTime = before[i].LastTransitionTime
		}
		entry.Conditions = append(entry.Conditions, c)
	}
	switch {
	case at < 0 && len(current) >= maxAncestors:
		return current, false // there is no room, and others have it
	case at < 0:
		return append(slices.Clone(current), entry), true
	case slices.EqualFunc(before, entry.Conditions, sameCondition) && !slices.ContainsFunc(current[at+1:], ours):
		return current, false
	}
	result := slices.Clone(current[:at])
	result = append(result, entry)
	return append(result, slices.DeleteFunc(slices.Clone(current[at+1:]), ours)...), true
}

func sameCondition(a, b metav1.Condition) bool {
	a.LastTransitionTime, b.LastTransitionTime = metav1.Time{}, metav1.Time{}
	return a == b
}
