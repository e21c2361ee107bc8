package hostile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/test/product"
)

const routerPods = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default"

// api is the cluster's API server, asked as its administrator.
var api = sync.OnceValues(func() (client.Client, error) {
	config, err := installed.Cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 1000, 1000
	return client.New(config, client.Options{})
})

// apply creates or updates the objects of a manifest.
func apply(ctx context.Context, manifest string) error {
	c, err := api()
	if err != nil {
		return err
	}
	docs := kyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		doc, err := docs.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(bytes.TrimSpace(doc)) == 0:
			continue
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(doc, &o.Object); err != nil {
			return err
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("hostile"), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
}

// remove deletes an object.
func remove(ctx context.Context, namespace, kind, name string) error {
	c, err := api()
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(map[string]string{"route": "route.openshift.io/v1", "ingress": "networking.k8s.io/v1"}[kind])
	o.SetKind(map[string]string{"route": "Route", "ingress": "Ingress"}[kind])
	o.SetNamespace(namespace)
	o.SetName(name)
	return client.IgnoreNotFound(c.Delete(ctx, o))
}

// state is what no attack may change.
type state struct {
	Owner string
	// Restarts are those of each container, HAProxy the processes that serve: a
	// reload makes another.
	Restarts map[string]string
	HAProxy  map[string][]int
}

func observe(t *testing.T, p *product.Product) *state {
	t.Helper()
	s := &state{Restarts: map[string]string{}, HAProxy: map[string][]int{}}
	if err := product.Until(t.Context(), 20*time.Second, func() (err error) { s.Owner, err = p.Owner(t.Context()); return err }); err != nil {
		t.Fatal(err)
	}
	for _, ns := range []string{"openshift-ingress", "openshift-ingress-operator", "metallb-system"} {
		pods := &unstructured.UnstructuredList{}
		pods.SetAPIVersion("v1")
		pods.SetKind("PodList")
		c, err := api()
		if err == nil {
			err = c.List(t.Context(), pods, client.InNamespace(ns))
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods.Items {
			containers, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
			for _, c := range containers {
				status := c.(map[string]any)
				s.Restarts[fmt.Sprint(ns, "/", pod.GetName(), "/", status["name"])] = fmt.Sprint(status["restartCount"])
			}
		}
	}
	for _, pod := range routers(t, p) {
		pids, err := p.Cluster.Processes(t.Context(), "openshift-ingress", pod, "haproxy", "haproxy")
		if err != nil {
			t.Fatal(err)
		}
		s.HAProxy[pod] = pids
	}
	return s
}

func (s *state) same(t *testing.T, now *state) {
	t.Helper()
	if d := cmp.Diff(s, now); d != "" {
		t.Errorf("owner of the address, restarts or processes changed (-before +after):\n%s", d)
	}
}

func routers(t *testing.T, p *product.Product) []string {
	t.Helper()
	out, err := p.Cluster.Kubectl(t.Context(), "-n", "openshift-ingress", "get", "pods", "-l", routerPods, "--field-selector", "status.phase=Running", "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil || out == "" {
		t.Fatalf("no router pods: %v", err)
	}
	return strings.Fields(out)
}

// usage is the memory of the fattest router and HAProxy, in bytes.
type usage struct{ router, haproxy int64 }

func memory(t *testing.T, p *product.Product) usage {
	t.Helper()
	var u usage
	for _, pod := range routers(t, p) {
		u.router = max(u.router, resident(t, p, pod, "router", "router"))
		u.haproxy = max(u.haproxy, resident(t, p, pod, "haproxy", "haproxy"))
	}
	return u
}

// resident sums the resident memory of a container's processes.
func resident(t *testing.T, p *product.Product, pod, container, program string) int64 {
	t.Helper()
	pids, err := p.Cluster.Processes(t.Context(), "openshift-ingress", pod, container, program)
	if err != nil {
		t.Error(err)
	}
	var sum int64
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // it has ended, which observe notices
		}
		_, after, _ := strings.Cut(string(text), "VmRSS:")
		var kb int64
		if _, err := fmt.Sscan(after, &kb); err == nil {
			sum += kb << 10
		}
	}
	return sum
}

// peak is the most memory in use while it runs.
type peak struct {
	watching sync.WaitGroup
	top      usage
}

func newPeak(ctx context.Context, t *testing.T, p *product.Product) *peak {
	t.Helper()
	k := &peak{}
	k.watching.Go(func() {
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				u := memory(t, p)
				k.top = usage{max(k.top.router, u.router), max(k.top.haproxy, u.haproxy)}
			}
		}
	})
	return k
}

// most waits until nothing is watched any more.
func (k *peak) most() usage {
	k.watching.Wait()
	return k.top
}
