package api

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/check/bundle"
	"github.com/fairlead/fairlead/check/collect"
)

// collectAs makes an archive with the rights of a user, "" for the administrator, and
// returns its files without their folder.
func collectAs(ctx context.Context, t *testing.T, user string, options collect.BundleOptions) (map[string]string, *bundle.Summary) {
	t.Helper()
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		config = rest.CopyConfig(config)
		config.Impersonate.UserName = user
	}
	options.Now, options.Progress = time.Now, func(string) {}
	var out bytes.Buffer
	summary, err := collect.Bundle(ctx, config, bundle.NewArchive(&out, "folder", 100<<20, time.Now()), options)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, summary
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name, ok := strings.CutPrefix(h.Name, "folder/")
		if !ok || h.Mode != 0o600 || path.Clean(name) != name {
			t.Errorf("%s with mode %o", h.Name, h.Mode)
		}
		files[name] = string(text)
	}
}

// TestCollect: the archive has the objects of a real API server, no Secret, and none of the
// keys and passwords in other objects; what a user may not read is listed.
func TestCollect(t *testing.T) {
	t.Parallel()
	admin := newClient(t)
	ns := routeNamespace(t, admin)
	const hush = "HUSHhushHUSH"
	key := "-----BEGIN PRIVATE KEY-----\n" + hush + "\n-----END PRIVATE KEY-----\n"
	for _, o := range []client.Object{
		&routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop", Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": hush, "haproxy.router.openshift.io/timeout": "31s"}},
			Spec: routev1.RouteSpec{
				Host: ns + ".collect.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "shop"},
				TLS: &routev1.TLSConfig{Termination: routev1.TLSTerminationEdge, Key: key},
			},
		},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, StringData: map[string]string{"password": hush}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Data: map[string]string{"password": hush}},
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "metallb.io/v1beta2", "kind": "BGPPeer", "metadata": map[string]any{"namespace": "metallb-system", "name": ns},
			"spec": map[string]any{"myASN": int64(64512), "peerASN": int64(64513), "peerAddress": "192.0.2.1", "password": hush},
		}},
	} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	files, summary := collectAs(t.Context(), t, "", collect.BundleOptions{})
	routes := files["objects/"+ns+"/routes.route.openshift.io.yaml"]
	if !strings.Contains(routes, "host: "+ns+".collect.example.com") || !strings.Contains(routes, "timeout: 31s") || !strings.Contains(routes, "key: (left out)") {
		t.Errorf("%s", routes)
	}
	if !strings.Contains(files["objects/metallb-system/bgppeers.metallb.io.yaml"], "password: (left out)") {
		t.Error("no BGPPeer")
	}
	for name, text := range files {
		if strings.Contains(text, hush) || strings.HasPrefix(path.Base(name), "secrets.") {
			t.Errorf("%s has a password", name)
		}
	}
	var inside bundle.Summary
	if err := json.Unmarshal([]byte(files["collect.json"]), &inside); err != nil || inside.Schema != bundle.Schema || inside.Files != len(files) || inside.Files != summary.Files || !slices.Equal(inside.Unread, summary.Unread) {
		t.Errorf("%v: %+v", err, inside)
	}
	for _, name := range []string{"status.txt", "status.json", "preflight.txt", "preflight.json", "objects/namespaces.yaml", "objects/openshift-ingress-operator/deployments.apps.yaml"} {
		if files[name] == "" {
			t.Errorf("no file %s", name)
		}
	}

	files, _ = collectAs(t.Context(), t, "", collect.BundleOptions{Namespace: ns, Anonymise: true})
	for name, text := range files {
		if strings.Contains(text, "collect.example.com") {
			t.Errorf("%s has a host", name)
		}
		if name != "objects/metallb-system/bgppeers.metallb.io.yaml" && (strings.Contains(text, "namespace: "+ns+"\n") || strings.Contains(name, ns)) {
			t.Errorf("%s has a namespace", name)
		}
	}

	// With the roles of the manifests, only tokens for routers and ports of speakers are beyond a user.
	collector := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "collect-collector"}}
	grants := []client.Object{&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "collect-collector"}, Subjects: collector,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-collector"},
	}}
	for _, namespace := range []string{names.OperatorNamespace, names.OperandNamespace, names.CanaryNamespace, names.ProviderNamespace} {
		grants = append(grants, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "collect-collector"}, Subjects: collector,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-log-collector"},
		})
	}
	for _, o := range grants {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error {
		files, summary = collectAs(t.Context(), t, "collect-collector", collect.BundleOptions{Own: ns})
		for _, what := range summary.Unread {
			if strings.Contains(what, "you have no right to") && !strings.HasPrefix(what, "metrics of ") {
				return errors.New(what)
			}
		}
		if !strings.Contains(files["preflight.json"], `"partial": false`) {
			return errors.New(files["preflight.json"])
		}
		return nil
	})

	files, summary = collectAs(t.Context(), t, "collect-visitor", collect.BundleOptions{Own: ns})
	if summary.Complete() || len(summary.Unread) < 20 || !slices.ContainsFunc(summary.Unread, func(s string) bool {
		return strings.HasPrefix(s, "routes.route.openshift.io of namespace "+ns+": you have no right to")
	}) {
		t.Errorf("%q", summary.Unread)
	}
	for name := range files {
		if strings.HasPrefix(name, "objects/") {
			t.Errorf("a user without rights has %s", name)
		}
	}
}
