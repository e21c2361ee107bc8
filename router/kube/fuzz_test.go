package kube

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// oddTexts are what stands in names and values that a tenant may write.
var oddTexts = []string{"web", "a\nb", "a\tb", "a\rb", "a\x00b", "a\fb", "é", "\xff", ""}

// FuzzDecodeList: whatever comes as a list in protobuf, objects are no longer
// than the answer, and an answer that ends early is an error.
func FuzzDecodeList(f *testing.F) {
	for _, text := range oddTexts {
		list := &corev1.ServiceList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []corev1.Service{
			{ObjectMeta: metav1.ObjectMeta{Name: text, Namespace: "shop", Annotations: map[string]string{text: text}}}, {},
		}}
		good := protobufList(f, list)
		f.Add(good)
		f.Add(good[:len(good)-1])
		f.Add(append(bytes.Clone(good), 0x12, 0x00))
	}
	for _, odd := range [][]byte{
		nil, []byte("k8s"), []byte("k8s\x00"), []byte("{}"),
		append([]byte("k8s\x00\x12"), binary.AppendUvarint(nil, math.MaxUint64)...),
		append([]byte("k8s\x00\x12"), binary.AppendUvarint(nil, math.MaxInt64)...),
		append([]byte("k8s\x00\x12\x06\x12"), binary.AppendUvarint(nil, maxObject)...),
		[]byte("k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), []byte("k8s\x00\x13\x00"), []byte("k8s\x00\x08\x01\x12\x00"),
	} {
		f.Add(odd)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		total := 0
		decode := func(text []byte) error {
			total += len(text)
			return new(corev1.Service).Unmarshal(text)
		}
		_, err := decodeList(bytes.NewReader(data), decode)
		if total > len(data) {
			t.Fatalf("objects of %d bytes in an answer of %d", total, len(data))
		}
		stop := errors.New("no more")
		if _, again := decodeList(bytes.NewReader(data), func([]byte) error { return stop }); err == nil && total > 0 && !errors.Is(again, stop) {
			t.Errorf("an error of the store is lost: %v", again)
		}
	})
}

// FuzzDecodeRoutes: whatever comes as a list in JSON, an answer that ends early
// is an error, as is one that is no list.
func FuzzDecodeRoutes(f *testing.F) {
	one := `{"kind":"RouteList","metadata":{"resourceVersion":"9"},"items":[` + routeJSON + `]}`
	for _, text := range []string{
		one, one[:len(one)-1], `{"items":null,"metadata":{"resourceVersion":"9"}}`, `{}`, `[]`, `null`, ``, `{"items":{}}`, `{"items":[[[[`,
		`{"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a\n\t\r\u0000\fb","annotations":{"\n":"\n"}},"spec":{"host":"\u0000"}}]}`,
		`{"metadata":{"resourceVersion":"9"},"items":[null,7]}`, `{"metadata":7}`, `{"metadata":{"resourceVersion":"9"},"items":[],"items":[]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		count := 0
		meta, err := decodeRoutes(bytes.NewReader(data), func(r *routev1.Route) error {
			count++
			stripRoute(r)
			return nil
		})
		if count > len(data) || err == nil && meta.ResourceVersion == "" {
			t.Fatalf("%d routes of version %q in %d bytes", count, meta.ResourceVersion, len(data))
		}
		if err != nil {
			return
		}
		end := bytes.LastIndexByte(data, '}')
		if _, err := decodeRoutes(bytes.NewReader(data[:min(end, 1)]), func(*routev1.Route) error { return nil }); err == nil {
			t.Error("a list that ends early was taken")
		}
	})
}
