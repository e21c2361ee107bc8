package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// Ports of the router and the pods.
const (
	HTTPPort   = 8080
	HTTPSPort  = 8443
	StatsPort  = 1936
	PodPort    = 9000
	PodTLSPort = 9443
)

// Namespace holds all objects that a rig makes.
const Namespace = "bench"

// Rig is an API server, pods, and a place for routers. It must be used inside
// the namespace that Enter makes.
type Rig struct {
	// Client talks to the API server without a rate limit.
	Client client.WithWatch
	// HAProxy is the path of the binary that routers run.
	HAProxy string
	// Dir holds logs, and in "w" the routers' work directories, which are
	// in memory as in a pod.
	Dir string

	server *cluster.APIServer
	pods   pods
	// lightPods replace the first of them, or are nil.
	lightPods *exec.Cmd
	CA        *Authority
	router    *Router
	// slots are those of Gateways, as their ConfigMap has them.
	slotsMu sync.Mutex
	slots   gatewayapi.Table
}

// Start starts the API server and the pods. The haproxy is a program of the
// tools folder: "haproxy" or "haproxy-3.0".
func Start(ctx context.Context, dir, haproxy string) (*Rig, error) {
	path, err := toolset.Path(haproxy)
	if err != nil {
		return nil, err
	}
	r := &Rig{Dir: dir, HAProxy: path}
	if r.CA, err = NewAuthority(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(r.work(), 0o700); err != nil {
		return nil, fmt.Errorf("make the work directory: %w", err)
	}
	if err := syscall.Mount("tmpfs", r.work(), "tmpfs", 0, ""); err != nil {
		return nil, fmt.Errorf("mount the work directory: %w", err)
	}
	if r.pods, err = startPods(r.CA); err != nil {
		return nil, err
	}
	if err := r.startAPI(ctx); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// Config leads to the API server.
func (r *Rig) Config() (*rest.Config, error) { return r.server.RESTConfig() }

// Kubeconfig is a file that leads to the API server.
func (r *Rig) Kubeconfig() string { return r.server.Kubeconfig() }

func (r *Rig) work() string { return filepath.Join(r.Dir, "w") }

func (r *Rig) startAPI(ctx context.Context) error {
	root, err := toolset.Root()
	if err != nil {
		return err
	}
	api := filepath.Join(r.Dir, "api")
	if err := os.MkdirAll(api, 0o700); err != nil {
		return fmt.Errorf("make the API server's folder: %w", err)
	}
	if r.server, err = cluster.StartAPIServer(ctx, api); err != nil {
		return err
	}
	if err := r.server.Apply(ctx, filepath.Join(root, "config", "crd")); err != nil {
		return err
	}
	if _, err := r.server.Kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"); err != nil {
		return err
	}
	config, err := r.server.RESTConfig()
	if err != nil {
		return err
	}
	if r.Client, err = newClient(config); err != nil {
		return err
	}
	for _, name := range []string{Namespace, "openshift-ingress", "openshift-ingress-operator"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := r.Client.Create(ctx, ns); err != nil {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	return nil
}

func newClient(config *rest.Config) (client.WithWatch, error) {
	types := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(types), routev1.AddToScheme(types), gatewayv1.Install(types)); err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: types})
	if err != nil {
		return nil, fmt.Errorf("make an API client: %w", err)
	}
	return c, nil
}

// Stop ends the router, the pods and the API server.
func (r *Rig) Stop() error {
	var errs []error
	if r.router != nil {
		r.router.Kill()
	}
	errs = append(errs, r.pods.close())
	if r.lightPods != nil && r.lightPods.Process != nil {
		_ = r.lightPods.Process.Kill() // it may have ended already
		_ = r.lightPods.Wait()
	}
	if r.server != nil {
		errs = append(errs, r.server.Stop())
	}
	if err := syscall.Unmount(r.work(), syscall.MNT_DETACH); err != nil {
		errs = append(errs, fmt.Errorf("unmount the work directory: %w", err))
	}
	return errors.Join(errs...)
}
