package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The demo's pods: which Service each belongs to.
var demoPods = []struct{ name, service string }{
	{"hello-1", "hello"}, {"hello-2", "hello"}, {"blue-1", "blue"}, {"green-1", "green"},
}

const (
	demoNamespace = "demo"
	// demoFile is what messages call the manifests of the pods.
	demoFile = "pods of --demo"
)

// startDemo starts the pods, and returns the manifests that say where they are.
func startDemo(ctx context.Context) ([]byte, error) {
	var ports []int
	for _, pod := range demoPods {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("start the pods of the demo: %w", err)
		}
		at, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			return nil, errors.New("start the pods of the demo: no TCP address")
		}
		server := &http.Server{Handler: echo(pod.name), ReadHeaderTimeout: 5 * time.Second}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		go func() { _ = server.Serve(l) }()
		ports = append(ports, at.Port)
	}
	return demoManifests(ports)
}

// demoManifests say on which ports the pods are; without any they are those of no
// running demo.
func demoManifests(ports []int) ([]byte, error) {
	list := corev1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	for i, pod := range demoPods {
		port := 8000 + i
		if ports != nil {
			port = ports[i]
		}
		text, err := json.Marshal(demoSlice(pod.name, pod.service, int32(port)))
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, runtime.RawExtension{Raw: text})
	}
	return json.Marshal(list)
}

func demoSlice(name, service string, port int32) *discoveryv1.EndpointSlice {
	portName := "http"
	return &discoveryv1.EndpointSlice{
		TypeMeta:    metav1.TypeMeta{APIVersion: discoveryv1.SchemeGroupVersion.String(), Kind: "EndpointSlice"},
		ObjectMeta:  metav1.ObjectMeta{Namespace: demoNamespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Port: &port}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"127.0.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: demoNamespace, Name: name},
		}},
	}
}

// echo answers with the pod's name and what it was asked.
func echo(pod string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "hello from pod %s\n%s %s%s\n", pod, r.Method, r.Host, r.URL.RequestURI()) //nolint:gosec // plain text, of a demo
		for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Proto"} {
			if v := r.Header.Get(name); v != "" {
				fmt.Fprintf(w, "%s: %s\n", name, v) //nolint:gosec // plain text, of a demo
			}
		}
	})
}
