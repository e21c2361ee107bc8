// Package jsonwatch watches custom resources, which come as JSON. A tenant's object
// may have a megabyte, and each of its changes keeps those of others waiting in the
// same watch: client-go goes over the text of an event eight times, this package
// once.
package jsonwatch

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// Start watches a resource of all namespaces. Object decodes the object of an
// event, which of a bookmark has its version alone. Errors are the API server's,
// for a reflector to look at.
func Start(ctx context.Context, client rest.Interface, resource string, o metav1.ListOptions, object func(*jsontext.Decoder) (runtime.Object, error)) (watch.Interface, error) {
	o.Watch = true
	body, err := client.Get().Resource(resource).VersionedParams(&o, metav1.ParameterCodec).Stream(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // the reflector looks at it
	}
	return watch.NewStreamWatcher(NewEvents(body, object), apierrors.NewClientErrorReporter(http.StatusInternalServerError, "watch", "ClientWatchDecoding")), nil
}

// Events decodes the events of a watch.
type Events struct {
	body   io.Closer
	d      *jsontext.Decoder
	object func(*jsontext.Decoder) (runtime.Object, error)
}

var _ watch.Decoder = (*Events)(nil)

// NewEvents decodes what comes from a body.
func NewEvents(body io.ReadCloser, object func(*jsontext.Decoder) (runtime.Object, error)) *Events {
	return &Events{body, NewDecoder(body), object}
}

// Close implements watch.Decoder.
func (e *Events) Close() { _ = e.body.Close() }

// NewDecoder decodes what the API server wrote, as it is.
func NewDecoder(from io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(from, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Decode implements watch.Decoder. Its error is io.EOF at the end of the stream.
func (e *Events) Decode() (kind watch.EventType, object runtime.Object, err error) {
	if open, err := e.d.ReadToken(); err != nil || open.Kind() != '{' {
		if err == nil {
			err = fmt.Errorf("an event begins with %v", open)
		}
		return "", nil, err
	}
	for e.d.PeekKind() == '"' {
		token, err := e.d.ReadToken()
		if err != nil {
			return "", nil, err
		}
		switch name := token.String(); {
		case name == "type":
			err = json.UnmarshalDecode(e.d, &kind)
		case name == "object" && kind == watch.Error:
			status := &metav1.Status{}
			object, err = status, json.UnmarshalDecode(e.d, status)
		case name == "object" && kind != "":
			object, err = e.object(e.d)
		default:
			err = fmt.Errorf("an event of type %q begins with %q", kind, name)
		}
		if err != nil {
			return "", nil, err
		}
	}
	if _, err := e.d.ReadToken(); err != nil { // the end
		return "", nil, err
	}
	switch kind {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error:
	default:
		return "", nil, fmt.Errorf("an event of type %q", kind)
	}
	if object == nil {
		return "", nil, fmt.Errorf("an event of type %q without object", kind)
	}
	return kind, object, nil
}
