// Package notice writes Events about objects. Unlike client-go's recorders it
// takes no two Events for equal that differ in their text: an Ingress with two
// missing Services has two. Each is reported once, and again if it was gone for a
// while. What one namespace may cause is bounded.
package notice

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/operator/budget"
)

const (
	// waiting is the room for Events that the API server has not taken yet.
	waiting = 1000
	// perSecond and burst are how many Events a namespace may have.
	perSecond = 0.5
	burst     = 100
	// longest is that of a text. kubectl shows it on one line.
	longest = 2048
	// tries is how often an Event is offered to an API server that does not
	// answer, with pause in between.
	tries = 12
	pause = 5 * time.Second
)

// Recorder writes Events.
type Recorder struct {
	client client.Client
	source string
	log    *slog.Logger
	queue  chan *corev1.Event
	budget *budget.Budgets

	mu sync.Mutex
	// said is what was reported last of each object. A recorder is for one kind.
	said map[client.ObjectKey]map[string]bool
}

// New returns a recorder that runs with the manager. The source is the name of
// the component in the Events.
func New(mgr ctrl.Manager, source string, log *slog.Logger) (*Recorder, error) {
	r := newRecorder(mgr.GetClient(), source, log)
	if err := mgr.Add(r); err != nil {
		return nil, fmt.Errorf("add the writer of Events: %w", err)
	}
	return r, nil
}

func newRecorder(c client.Client, source string, log *slog.Logger) *Recorder {
	return &Recorder{
		client: c, source: source, log: log, queue: make(chan *corev1.Event, waiting),
		budget: budget.New(perSecond, burst), said: map[client.ObjectKey]map[string]bool{},
	}
}

// Say writes one Event of type Normal or Warning. It reports false if there is no
// room or no budget for it; then it is not written. It does not wait.
func (r *Recorder) Say(about client.Object, kind string, reason api.Reason, text string) bool {
	e, err := r.event(about, kind, reason, text)
	if err != nil {
		r.log.Error("cannot make an event", "object", about.GetNamespace()+"/"+about.GetName(), "reason", string(reason), "err", err)
		return true // The next time is no better.
	}
	if r.budget.Take(e.Namespace) > 0 {
		return false
	}
	select {
	case r.queue <- e:
		return true
	default:
		return false
	}
}

// Publish writes an Event for each finding about an object that was not among those
// of the last call. It reports false if some could not be reported yet: the next call
// tries them again.
func (r *Recorder) Publish(about client.Object, findings []api.Finding) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := client.ObjectKeyFromObject(about)
	before, now, all := r.said[key], make(map[string]bool, len(findings)), true
	for _, f := range findings {
		kind := corev1.EventTypeWarning
		if f.Severity == api.SeverityInfo {
			kind = corev1.EventTypeNormal
		}
		id := string(about.GetUID()) + "\x00" + string(f.Reason) + "\x00" + f.Text()
		switch {
		case now[id]:
		case before[id] || r.Say(about, kind, f.Reason, f.Text()):
			now[id] = true
		default:
			all = false
		}
	}
	if len(now) == 0 {
		delete(r.said, key)
	} else {
		r.said[key] = now
	}
	return all
}

// Forget drops what was said about an object.
func (r *Recorder) Forget(about client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.said, about)
}

// event makes an Event. Its name depends on its text, so that a process that starts
// again does not repeat all that another one has said.
func (r *Recorder) event(about client.Object, kind string, reason api.Reason, text string) (*corev1.Event, error) {
	gvk, err := apiutil.GVKForObject(about, r.client.Scheme())
	if err != nil {
		return nil, fmt.Errorf("find the kind: %w", err)
	}
	namespace := about.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	text = terminal.Excerpt(text, longest)
	sum := sha256.Sum256([]byte(r.source + "\x00" + gvk.Kind + "\x00" + string(about.GetUID()) + "\x00" + kind + "\x00" + string(reason) + "\x00" + text))
	unique := "." + hex.EncodeToString(sum[:8])
	name, now := about.GetName(), metav1.Now()
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name[:min(len(name), 253-len(unique))] + unique},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
			Namespace: about.GetNamespace(), Name: name, UID: about.GetUID(), ResourceVersion: about.GetResourceVersion(),
		},
		Type: kind, Reason: string(reason), Message: text,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: r.source}, ReportingController: r.source,
	}, nil
}

// Start writes Events until ctx ends. The manager calls it.
func (r *Recorder) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-r.queue:
			r.write(ctx, e)
		}
	}
}

func (r *Recorder) write(ctx context.Context, e *corev1.Event) {
	for range tries {
		err := r.client.Create(ctx, e)
		if apierrors.IsAlreadyExists(err) {
			err = r.again(ctx, e)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		r.log.Error("cannot write an event", "object", e.Namespace+"/"+e.InvolvedObject.Name, "reason", e.Reason, "err", err)
		if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown && !apierrors.IsTooManyRequests(err) {
			return // The API server has answered.
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// again says that what an Event says is true once more.
func (r *Recorder) again(ctx context.Context, e *corev1.Event) error {
	patch, err := json.Marshal(map[string]any{"lastTimestamp": e.LastTimestamp})
	if err != nil {
		return fmt.Errorf("encode the time: %w", err)
	}
	there := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name}}
	return r.client.Patch(ctx, there, client.RawPatch(types.MergePatchType, patch))
}
