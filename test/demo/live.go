package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// liveLimit is what a new Route may take until it answers. On an idle machine it takes a few milliseconds.
const liveLimit = 2 * time.Second

// newRoute creates Routes one by one and measures from the API's answer to the first right response at the client.
func (d *demo) newRoute(ctx context.Context) error {
	config, err := d.cluster.RESTConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 100
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make an API client: %w", err)
	}
	routes := api.Resource(schema.GroupVersionResource{Group: "route.openshift.io", Version: "v1", Resource: "routes"}).Namespace("demo")
	client := d.httpClient(time.Second)
	var added, removed []time.Duration
	for i := range 10 {
		host := fmt.Sprintf("new-%d.apps.example.com", i)
		if _, err := d.statusAt(ctx, client, d.product.Address, host); err != nil { // also opens the connection
			return err
		}
		if _, err := routes.Create(ctx, newRouteObject(host), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create a Route: %w", err)
		}
		took, err := d.awaitStatus(ctx, client, d.product.Address, host, http.StatusOK)
		if err != nil {
			return err
		}
		added = append(added, took)
		if err := routes.Delete(ctx, fmt.Sprintf("new-%d", i), metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete a Route: %w", err)
		}
		if took, err = d.awaitStatus(ctx, client, d.product.Address, host, http.StatusNotFound); err != nil {
			return err
		}
		removed = append(removed, took)
	}
	slices.Sort(added)
	slices.Sort(removed)
	d.say("10 Routes, one after the other, from the API server's answer to the first response at the client:")
	d.say("created: median %s, slowest %s", milliseconds(added[len(added)/2]), milliseconds(added[len(added)-1]))
	d.say("deleted: median %s, slowest %s", milliseconds(removed[len(removed)/2]), milliseconds(removed[len(removed)-1]))
	return nil
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

func newRouteObject(host string) *unstructured.Unstructured {
	name, _, _ := strings.Cut(host, ".")
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "route.openshift.io/v1", "kind": "Route",
		"metadata": map[string]any{"name": name, "namespace": "demo"},
		"spec": map[string]any{
			"host": host, "port": map[string]any{"targetPort": "http"},
			"to": map[string]any{"kind": "Service", "name": "demo-v1"},
		},
	}}
}

// httpClient follows no redirects, and sends every request from the host client to the announced address.
func (d *demo) httpClient(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout: timeout, Transport: &http.Transport{DialContext: d.cluster.Dial("client")},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (d *demo) statusAt(ctx context.Context, client *http.Client, address, host string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/text", nil)
	if err != nil {
		return 0, fmt.Errorf("ask %s: %w", host, err)
	}
	req.Host = host
	answer, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0, fmt.Errorf("ask %s: %w", host, err)
	}
	return answer.StatusCode, nil
}

// awaitStatus asks without pause until the host answers with the status, and returns how long that took.
func (d *demo) awaitStatus(ctx context.Context, client *http.Client, address, host string, want int) (time.Duration, error) {
	began := time.Now()
	for {
		got, err := d.statusAt(ctx, client, address, host)
		took := time.Since(began)
		switch {
		case err == nil && got == want:
			return took, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case took > liveLimit:
			return 0, fmt.Errorf("%s answers %d (%w) after %v, want %d", host, got, err, liveLimit, want)
		}
	}
}
