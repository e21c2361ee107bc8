// Package configstate writes the ConfigurationState of one consumer of the
// configuration: the controller's, or that of a node's speaker. It never
// delays who reports: writing, and trying again, is done apart.
package configstate

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/lbprovider/config"
)

const (
	// retry is how soon a write is tried again.
	retry = 5 * time.Second
	// defaultCheck is the default of Options.Check.
	defaultCheck = time.Minute
)

// Options say whose state is written, and where.
type Options struct {
	// Reader reads without a cache: one object is not worth a watch.
	Reader client.Reader
	Writer client.Client
	// Namespace is the provider's.
	Namespace string
	// Node is the speaker's node, with which the object goes; empty for the
	// controller.
	Node string
	// Check is how often the object is read although nothing new was reported: a
	// person or program may have deleted or changed it. The default is a minute.
	Check time.Duration
	Log   *slog.Logger
}

// Reporter writes one ConfigurationState. It is a manager.Runnable.
type Reporter struct {
	opts Options
	// latest has the newest state that was not written yet.
	latest chan v1beta1.ConfigurationStateStatus
}

// New returns a Reporter, which writes nothing until it is started.
func New(opts Options) *Reporter {
	if opts.Check == 0 {
		opts.Check = defaultCheck
	}
	return &Reporter{opts: opts, latest: make(chan v1beta1.ConfigurationStateStatus, 1)}
}

// Report has the state written. One goroutine may call it.
func (r *Reporter) Report(state v1beta1.ConfigurationStateStatus) {
	select {
	case <-r.latest: // one that is older
	default:
	}
	r.latest <- state
}

// NeedLeaderElection says that it runs everywhere; who does not lead reports
// nothing.
func (r *Reporter) NeedLeaderElection() bool { return false }

// Start writes what is reported until ctx ends.
func (r *Reporter) Start(ctx context.Context) error {
	var again <-chan time.Time
	var state v1beta1.ConfigurationStateStatus
	for {
		select {
		case <-ctx.Done():
			return nil
		case state = <-r.latest:
		case <-again:
		}
		again = time.After(r.opts.Check)
		if err := r.write(ctx, state); err != nil && ctx.Err() == nil {
			r.opts.Log.Error("configuration state", "err", err)
			again = time.After(retry)
		}
	}
}

// write brings the object up to date; it changes it only if it differs.
func (r *Reporter) write(ctx context.Context, state v1beta1.ConfigurationStateStatus) error {
	is := &v1beta1.ConfigurationState{ObjectMeta: metav1.ObjectMeta{Namespace: r.opts.Namespace, Name: r.name()}}
	err := r.opts.Reader.Get(ctx, client.ObjectKeyFromObject(is), is)
	if apierrors.IsNotFound(err) {
		if is, err = r.create(ctx); apierrors.IsNotFound(err) {
			return nil // there is no such namespace, hence no configuration
		}
	}
	if err != nil {
		return fmt.Errorf("configuration state %s: %w", r.name(), err)
	}
	want := is.DeepCopy()
	want.Status.Result, want.Status.ErrorSummary = state.Result, state.ErrorSummary
	for _, c := range state.Conditions {
		meta.SetStatusCondition(&want.Status.Conditions, c)
	}
	if equality.Semantic.DeepEqual(is.Status, want.Status) {
		return nil
	}
	if err := r.opts.Writer.Status().Update(ctx, want); err != nil {
		return fmt.Errorf("write configuration state %s: %w", r.name(), err)
	}
	return nil
}

func (r *Reporter) name() string {
	if r.opts.Node == "" {
		return string(config.Controller)
	}
	return string(config.Speaker) + "-" + r.opts.Node
}

func (r *Reporter) create(ctx context.Context) (*v1beta1.ConfigurationState, error) {
	state := &v1beta1.ConfigurationState{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.opts.Namespace, Name: r.name(),
		Labels: map[string]string{v1beta1.LabelComponentType: string(config.Controller)},
	}}
	if r.opts.Node != "" {
		var node corev1.Node
		if err := r.opts.Reader.Get(ctx, client.ObjectKey{Name: r.opts.Node}, &node); err != nil {
			return nil, fmt.Errorf("get node: %w", err)
		}
		state.Labels = map[string]string{v1beta1.LabelComponentType: string(config.Speaker), v1beta1.LabelNodeName: r.opts.Node}
		state.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	}
	return state, r.opts.Writer.Create(ctx, state)
}
