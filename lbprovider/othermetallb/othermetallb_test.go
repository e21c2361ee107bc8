package othermetallb_test

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/lbprovider/othermetallb"
	"github.com/fairlead/fairlead/test/metallbapi"
)

// TestWaiter: a program that may not look waits and says which right it lacks, and
// so does one that finds another provider; without one, it goes on.
func TestWaiter(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes an API server")
	}
	a := metallbapi.Start(t, "../..")
	someone := rest.CopyConfig(a.REST)
	someone.Impersonate.UserName = "someone"
	reader, err := client.New(someone, client.Options{Scheme: a.Scheme()})
	a.Must(err)
	ctx := t.Context()

	a.Step(t, "without the right", func(t *testing.T) {
		waits(t, reader, `cannot list resource "deployments"`, "let the ServiceAccount list deployments and daemonsets")
	})
	a.Must(a.Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "look"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments", "daemonsets"}, Verbs: []string{"list"}}},
	}))
	a.Must(a.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "look"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "look"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "someone"}},
	}))
	a.Eventually(func() string {
		if _, err := othermetallb.Find(ctx, reader); err != nil {
			return err.Error() // the API server learns of rights a moment later
		}
		return ""
	})
	a.Step(t, "alone", func(t *testing.T) {
		var waiter othermetallb.Waiter
		if err := waiter.Wait(t.Context(), reader, func(why string) { t.Error(why) }); err != nil || waiter.Reason() != "" {
			t.Errorf("%v, waits for %q", err, waiter.Reason())
		}
	})
	labels := map[string]string{"app": "metallb"}
	a.Must(a.Create(ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "metallb-system", Name: "speaker", Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "speaker", Image: "x"}}},
			},
		},
	}))
	a.Step(t, "beside another", func(t *testing.T) {
		waits(t, reader, "another MetalLB runs in the cluster (daemonset speaker in namespace metallb-system)")
	})
}

// waits checks that the waiter waits, and what it says.
func waits(t *testing.T, reader client.Reader, wants ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var waiter othermetallb.Waiter
	told := ""
	err := waiter.Wait(ctx, reader, func(why string) {
		told = why
		if waiter.Reason() != why {
			t.Errorf("it says %q and then %q", why, waiter.Reason())
		}
		cancel()
	})
	if err == nil {
		t.Fatal("it does not wait")
	}
	for _, want := range wants {
		if !strings.Contains(told, want) {
			t.Errorf("%q lacks %q", told, want)
		}
	}
}
