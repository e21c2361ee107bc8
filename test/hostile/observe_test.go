package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/wait"
)

const routerPods = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default"

// apply creates or updates the objects of a manifest as a user.
func apply(ctx context.Context, user, manifest string) error {
	c, err := api(user)
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

// send creates or replaces an object of the tenant, at little cost for this program
// and for the API server: what they compute the control plane has not. A merge patch
// of a megabyte takes the API server 0.65 s, and that is no attack on the router.
func send(ctx context.Context, version, kind, resource, name string, annotations, spec map[string]any) error {
	c, err := direct(attackingUser)
	if err != nil {
		return err
	}
	all := []string{"/apis", version, "namespaces/tenant", resource}
	object := append(slices.Clone(all), name)
	for range 3 {
		var was metav1.PartialObjectMetadata
		err = ask(ctx, c.Get().AbsPath(object...), &was)
		metadata := map[string]any{"name": name, "namespace": "tenant", "annotations": annotations}
		write := c.Put().AbsPath(object...)
		switch {
		case apierrors.IsNotFound(err):
			write = c.Post().AbsPath(all...)
		case err != nil:
			return fmt.Errorf("look at %s %s: %w", kind, name, err)
		default:
			metadata["resourceVersion"] = was.ResourceVersion
		}
		body, err := json.Marshal(map[string]any{"apiVersion": version, "kind": kind, "spec": spec, "metadata": metadata})
		if err != nil {
			return err
		}
		err = ask(ctx, write.SetHeader("Content-Type", "application/json").Body(body), &was)
		switch {
		case err == nil:
			return nil
		case !apierrors.IsConflict(err): // a router wrote the status meanwhile
			return fmt.Errorf("send %s %s: %w", kind, name, err)
		}
	}
	return nil
}

// ask sends a request of which only the object's metadata comes back.
func ask(ctx context.Context, r *rest.Request, metadata *metav1.PartialObjectMetadata) error {
	const accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	body, err := r.SetHeader("Accept", accept).DoRaw(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, metadata)
}

// remove deletes an object.
func remove(ctx context.Context, user, namespace, kind, name string) error {
	c, err := api(user)
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
	// Restarts are those of each container.
	Restarts map[string]string
	// HAProxy and Router are the processes of each router pod: a reload makes
	// another HAProxy, and a router that died is started again in its container.
	HAProxy, Router map[string][]int
}

func observe(t *testing.T, p *install.Product) *state {
	t.Helper()
	s := &state{Restarts: map[string]string{}, HAProxy: map[string][]int{}, Router: map[string][]int{}}
	wait.Poll{Limit: time.Minute, Every: wait.Slowly}.For(t, "the owner of the address", func() (err error) {
		s.Owner, err = p.Owner(t.Context())
		return err
	})
	for _, ns := range []string{"openshift-ingress", "openshift-ingress-operator", "metallb-system"} {
		pods := &unstructured.UnstructuredList{}
		pods.SetAPIVersion("v1")
		pods.SetKind("PodList")
		c, err := api(administrator)
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
		s.HAProxy[pod] = processes(t, p, pod, "haproxy", "haproxy")
		// The container's first process starts the router, by /proc/self/exe.
		s.Router[pod] = append(processes(t, p, pod, "router", "router"), processes(t, p, pod, "router", "exe")...)
	}
	return s
}

func (s *state) same(t *testing.T, now *state) {
	t.Helper()
	if d := cmp.Diff(s, now); d != "" {
		t.Errorf("owner of the address, restarts or processes changed (-before +after):\n%s", d)
	}
}

func routers(t *testing.T, p *install.Product) []string {
	t.Helper()
	out, err := p.Cluster.Kubectl(t.Context(), "-n", "openshift-ingress", "get", "pods", "-l", routerPods, "--field-selector", "status.phase=Running", "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil || out == "" {
		t.Fatalf("no router pods: %v", err)
	}
	return strings.Fields(out)
}

func processes(t *testing.T, p *install.Product, pod, container, program string) []int {
	t.Helper()
	pids, err := p.Cluster.Processes(t.Context(), "openshift-ingress", pod, container, program)
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// usage is the memory of the fattest router and HAProxy, in bytes.
type usage struct{ router, haproxy int64 }

// memory only reads files: a program that it started would be among what the
// victim waits for.
func (s *state) memory() usage {
	var u usage
	for _, pids := range s.Router {
		u.router = max(u.router, resident(pids))
	}
	for _, pids := range s.HAProxy {
		u.haproxy = max(u.haproxy, resident(pids))
	}
	return u
}

// resident sums the resident memory of processes.
func resident(pids []int) int64 {
	var sum int64
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // it has ended, which same notices
		}
		_, after, _ := strings.Cut(string(text), "VmRSS:")
		var kb int64
		if _, err := fmt.Sscan(after, &kb); err == nil {
			sum += kb << 10
		}
	}
	return sum
}

// peak is the most memory in use while it runs, and to which cards the address moved.
type peak struct {
	watching sync.WaitGroup
	top      usage
	moves    []string
}

func newPeak(ctx context.Context, s *state, p *install.Product) *peak {
	k := &peak{}
	every := func(pause time.Duration, look func()) {
		k.watching.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for {
				look()
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		})
	}
	every(2*time.Second, func() {
		u := s.memory()
		k.top = usage{max(k.top.router, u.router), max(k.top.haproxy, u.haproxy)}
	})
	last := ""
	every(200*time.Millisecond, func() {
		card, err := p.Cluster.Neighbour("client", p.Address)
		if err != nil || card == "" || card == last {
			return
		}
		if last != "" {
			k.moves = append(k.moves, card+" at "+time.Now().Format(time.TimeOnly))
		}
		last = card
	})
	return k
}

// most waits until nothing is watched any more.
func (k *peak) most() usage {
	k.watching.Wait()
	return k.top
}
