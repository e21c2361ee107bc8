package kube

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead/fairlead/router/kube/jsonwatch"
)

// This file reads the first lists, which are most of a start, and the events of
// routes. One plain list costs the API server, and even more the router, less than
// the same objects as a stream of events; and of each object only what its store
// keeps outlives its decoding.

// listed is the answer to a list: what a store keeps of each object.
type listed[T comparable] struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []*entry[T]
}

// DeepCopyObject implements runtime.Object.
func (l *listed[T]) DeepCopyObject() runtime.Object {
	c := *l
	return &c
}

// reader reads a list and hands its objects on.
type reader func(ctx context.Context, o metav1.ListOptions, each func(any) error) (metav1.ListMeta, error)

// list makes of a reader what a feed of this store asks for its first state.
func (s *store[T]) list(read reader) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		if o.ResourceVersion == "0" {
			// Whatever is at hand would do, says the reflector. But a router that
			// starts must not fall behind what the one before it has served.
			o.ResourceVersion = ""
		}
		o.Limit = 0 // pages would cost the API server a half more
		l := &listed[T]{}
		var err error
		l.ListMeta, err = read(ctx, o, func(obj any) error {
			e, err := s.entry(obj)
			l.Items = append(l.Items, e)
			return err
		})
		if err != nil {
			return nil, err
		}
		return l, nil
	}
}

// plainLists keeps the reflector from asking for the first list as a stream of
// events.
type plainLists struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is what the reflector asks for.
func (plainLists) IsWatchListSemanticsUnSupported() bool { return true }

// decodable is a pointer to an API type that the API server has in protobuf.
type decodable[O any] interface {
	*O
	Unmarshal([]byte) error
}

// readList reads a list in protobuf.
func readList[O any, P decodable[O]](client rest.Interface, resource string) reader {
	return func(ctx context.Context, o metav1.ListOptions, each func(any) error) (metav1.ListMeta, error) {
		body, err := client.Get().Resource(resource).VersionedParams(&o, metav1.ParameterCodec).
			SetHeader("Accept", runtime.ContentTypeProtobuf).Stream(ctx)
		if err != nil {
			return metav1.ListMeta{}, err // as it is: the reflector looks at it
		}
		defer func() { _ = body.Close() }()
		meta, err := decodeList(body, func(text []byte) error {
			object := P(new(O))
			if err := object.Unmarshal(text); err != nil {
				return err
			}
			return each(object)
		})
		if err != nil {
			return meta, fmt.Errorf("read the list of %s: %w", resource, err)
		}
		return meta, nil
	}
}

// readRoutes reads the list of routes. As they are a custom resource it comes as
// JSON, and is decoded route by route while the API server is writing it.
func readRoutes(client rest.Interface) reader {
	return func(ctx context.Context, o metav1.ListOptions, each func(any) error) (metav1.ListMeta, error) {
		body, err := client.Get().Resource("routes").VersionedParams(&o, metav1.ParameterCodec).Stream(ctx)
		if err != nil {
			return metav1.ListMeta{}, err // as it is: the reflector looks at it
		}
		defer func() { _ = body.Close() }()
		meta, err := decodeRoutes(body, func(r *routev1.Route) error { return each(r) })
		if err != nil {
			return meta, fmt.Errorf("read the list of routes: %w", err)
		}
		return meta, nil
	}
}

// readJSON reads a list of another custom resource in the same way.
func readJSON(client rest.Interface, resource string, decode func(*jsontext.Decoder) (any, error)) reader {
	return func(ctx context.Context, o metav1.ListOptions, each func(any) error) (metav1.ListMeta, error) {
		body, err := client.Get().Resource(resource).VersionedParams(&o, metav1.ParameterCodec).Stream(ctx)
		if err != nil {
			return metav1.ListMeta{}, err // as it is: the reflector looks at it
		}
		defer func() { _ = body.Close() }()
		meta, err := decodeJSONList(body, func(d *jsontext.Decoder) error {
			object, err := decode(d)
			if err != nil {
				return err
			}
			return each(object)
		})
		if err != nil {
			return meta, fmt.Errorf("read the list of %s: %w", resource, err)
		}
		return meta, nil
	}
}

// watchRoutes watches routes, of which it decodes what the router reads.
func watchRoutes(client rest.Interface) func(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return jsonwatch.Start(ctx, client, "routes", o, func(d *jsontext.Decoder) (runtime.Object, error) {
			l := listedRoute{}
			err := json.UnmarshalDecode(d, &l)
			return l.route(), err
		})
	}
}

// listedRoute is of a Route what the router reads; above all not managedFields.
type listedRoute struct {
	Metadata struct {
		Namespace         string            `json:"namespace"`
		Name              string            `json:"name"`
		UID               types.UID         `json:"uid"`
		ResourceVersion   string            `json:"resourceVersion"`
		CreationTimestamp metav1.Time       `json:"creationTimestamp"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
		OwnerReferences   []listedOwner     `json:"ownerReferences"`
	} `json:"metadata"`
	Spec   routev1.RouteSpec   `json:"spec"`
	Status routev1.RouteStatus `json:"status"`
}

// listedOwner is of an owner reference what tells whether an Ingress controls the
// Route.
type listedOwner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller *bool  `json:"controller"`
}

func controllers(owners []listedOwner) []metav1.OwnerReference {
	for _, o := range owners {
		if o.Controller != nil && *o.Controller {
			intern(&o.APIVersion, &o.Kind)
			return []metav1.OwnerReference{{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, Controller: o.Controller}}
		}
	}
	return nil
}

func (l *listedRoute) route() *routev1.Route {
	m := &l.Metadata
	return &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
			CreationTimestamp: m.CreationTimestamp, Labels: m.Labels, Annotations: m.Annotations,
			OwnerReferences: controllers(m.OwnerReferences),
		},
		Spec: l.Spec, Status: l.Status,
	}
}

// decodeRoutes decodes a list of Routes.
func decodeRoutes(from io.Reader, each func(*routev1.Route) error) (metav1.ListMeta, error) {
	return decodeJSONList(from, func(d *jsontext.Decoder) error {
		var l listedRoute
		if err := json.UnmarshalDecode(d, &l); err != nil {
			return err
		}
		return each(l.route())
	})
}

// decodeJSONList decodes a list in JSON; item decodes one of its items.
func decodeJSONList(from io.Reader, item func(*jsontext.Decoder) error) (metav1.ListMeta, error) {
	var meta metav1.ListMeta
	d := jsonwatch.NewDecoder(from)
	if err := expect(d, '{'); err != nil {
		return meta, err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return meta, err
		}
		switch name.String() {
		case "metadata":
			err = json.UnmarshalDecode(d, &meta)
		case "items":
			err = decodeItems(d, item)
		default:
			err = d.SkipValue()
		}
		if err != nil {
			return meta, err
		}
	}
	if err := expect(d, '}'); err != nil {
		return meta, err
	}
	if meta.ResourceVersion == "" {
		return meta, errors.New("the answer is not a list: it has no resource version")
	}
	return meta, nil
}

func decodeItems(d *jsontext.Decoder, item func(*jsontext.Decoder) error) error {
	switch open, err := d.ReadToken(); {
	case err != nil:
		return err
	case open.Kind() == 'n':
		return nil // null
	case open.Kind() != '[':
		return fmt.Errorf("items begin with %v", open)
	}
	for d.PeekKind() != ']' {
		if err := item(d); err != nil {
			return err
		}
	}
	return expect(d, ']')
}

func expect(d *jsontext.Decoder, want jsontext.Kind) error {
	got, err := d.ReadToken()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil && got.Kind() != want {
		err = fmt.Errorf("found %v instead of %v", got, want)
	}
	return err
}
