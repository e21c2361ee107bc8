package kube

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// eventWriter writes Events one by one, beside everything else. StatusWriter tells
// each finding once and bounds their rate, so nothing needs to be summed up.
type eventWriter struct {
	client rest.Interface
	source string
	log    *limitedLog
	queue  chan *corev1.Event
}

const (
	// waitingEvents is the room for those that the API server has not taken yet.
	waitingEvents = 1000
	// eventTries is how often an event is offered to an API server that does
	// not answer, with eventPause in between.
	eventTries = 12
	eventPause = 5 * time.Second
)

func newEventWriter(client rest.Interface, source string, log *limitedLog) *eventWriter {
	return &eventWriter{client: client, source: source, log: log, queue: make(chan *corev1.Event, waitingEvents)}
}

// warn makes an event of type Warning about an object. It does not block; when
// there is no room left the event is lost.
func (w *eventWriter) warn(about corev1.ObjectReference, reason, message string) {
	now := time.Now()
	at, unique := metav1.NewTime(now), fmt.Sprintf(".%x", now.UnixNano())
	const longest = 253 // of a name
	event := &corev1.Event{
		// Of what is in no namespace, the API server takes them in this one only.
		ObjectMeta:     metav1.ObjectMeta{Namespace: cmp.Or(about.Namespace, metav1.NamespaceDefault), Name: about.Name[:min(len(about.Name), longest-len(unique))] + unique},
		InvolvedObject: about,
		Reason:         reason, Message: message, Type: corev1.EventTypeWarning,
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
		Source: corev1.EventSource{Component: w.source}, ReportingController: w.source,
	}
	select {
	case w.queue <- event:
	default:
		w.log.errorLimited("too many events wait for the API server, losing some")
	}
}

// run writes events until ctx ends.
func (w *eventWriter) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.queue:
			w.write(ctx, e)
		}
	}
}

func (w *eventWriter) write(ctx context.Context, e *corev1.Event) {
	for range eventTries {
		err := w.client.Post().Namespace(e.Namespace).Resource("events").Body(e).Do(ctx).Error()
		if err == nil || ctx.Err() != nil {
			return
		}
		w.log.errorLimited("cannot write an event", "object", e.Namespace+"/"+e.InvolvedObject.Name, "reason", e.Reason, "err", err)
		if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown && !apierrors.IsTooManyRequests(err) {
			return // the API server has answered
		}
		pause(ctx, eventPause)
	}
}
