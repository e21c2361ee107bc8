package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/console/cluster"
)

// consoleUser is a browser of a console in the cluster.
type consoleUser struct {
	t      *testing.T
	root   string
	client *http.Client
}

func (u *consoleUser) do(method, path string, form url.Values) (code int, body string) {
	u.t.Helper()
	r, err := http.NewRequestWithContext(u.t.Context(), method, u.root+path, strings.NewReader(form.Encode()))
	if err != nil {
		u.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Origin", u.root)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := u.client.Do(r)
	if err != nil {
		u.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// routes are those of the export, "namespace/name".
func (u *consoleUser) routes() string {
	u.t.Helper()
	code, body := u.do(http.MethodGet, "/routes.json", nil)
	var list struct {
		Items []struct {
			Route struct{ Namespace, Name string } `json:"route"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		return fmt.Sprintf("%d %.200s", code, body)
	}
	var names []string
	for _, i := range list.Items {
		names = append(names, i.Route.Namespace+"/"+i.Route.Name)
	}
	return strings.Join(names, " ")
}

// accountToken makes a token of a ServiceAccount.
func accountToken(t *testing.T, c client.Client, namespace, name, audience string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := c.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// consoleObjects are two namespaces with a Route and an account each, which may list Routes of
// its own, and an account that may list all.
func consoleObjects(t *testing.T, c client.Client) {
	t.Helper()
	list := []rbacv1.PolicyRule{{APIGroups: []string{"route.openshift.io"}, Resources: []string{"routes"}, Verbs: []string{"list"}}}
	ref := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: "console-test"}
	}
	subject := func(namespace, name string) []rbacv1.Subject {
		return []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}}
	}
	objects := []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "console-test"}, Rules: list},
	}
	for _, ns := range []string{"console-a", "console-b"} {
		meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }
		objects = append(objects,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}},
			&corev1.ServiceAccount{ObjectMeta: meta("reader")}, &corev1.ServiceAccount{ObjectMeta: meta("chief")},
			&rbacv1.RoleBinding{ObjectMeta: meta("reader"), RoleRef: ref("ClusterRole"), Subjects: subject(ns, "reader")},
			&routev1.Route{ObjectMeta: meta("shop-of-" + ns), Spec: routev1.RouteSpec{Host: ns + ".console.test", To: routev1.RouteTargetReference{Kind: "Service", Name: "shop"}}},
		)
	}
	objects = append(objects, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "console-test"}, RoleRef: ref("ClusterRole"), Subjects: subject("console-a", "chief")})
	for _, o := range objects {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), o) })
	}
}

// TestConsole: the manifests give the console what it needs, and no right to Secrets; a token for
// its audience lets in, and no other; users see the Routes that they may list; an account that is
// deleted ends the session.
func TestConsole(t *testing.T) {
	c := newClient(t)
	if _, err := server.Kubectl(t.Context(), "apply", "--server-side", "-k", "../../config/console"); err != nil {
		t.Fatal(err)
	}
	consoleObjects(t, c)
	admin, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(admin)
	config.BearerToken = accountToken(t, c, "fairlead-console", "console", "")
	var later atomic.Int64
	log := &strings.Builder{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	rights, err := cluster.NewRights(config)
	if err != nil {
		t.Fatal(err)
	}
	source, err := cluster.NewSource(cluster.Options{Config: config, Timeout: time.Minute, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	go source.Run(t.Context())
	entrance, err := console.NewEntrance(console.Options{
		Source: source, Cluster: true, Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
	}, console.EntranceOptions{Base: "/", Rights: rights, Log: logger})
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewTLSServer(entrance)
	defer site.Close()
	login := func(token string) (*consoleUser, int) {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		u := &consoleUser{t: t, root: site.URL, client: &http.Client{Transport: site.Client().Transport, Jar: jar}}
		later.Add(int64(20 * time.Second)) // five log-ins are possible in a minute
		code, _ := u.do(http.MethodPost, "/login", url.Values{"token": {token}})
		return u, code
	}
	for name, token := range map[string]string{
		"a token for the API server": accountToken(t, c, "console-a", "reader", ""), "a token for another program": accountToken(t, c, "console-a", "reader", "vault"),
		"no token of the cluster": strings.Repeat("x", 30), "the console's own": config.BearerToken,
	} {
		if _, code := login(token); code != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, code)
		}
	}
	chief, code := login(accountToken(t, c, "console-a", "chief", console.Audience))
	if all := chief.routes(); code != 200 || !strings.Contains(all, "console-a/shop-of-console-a") || !strings.Contains(all, "console-b/shop-of-console-b") {
		t.Fatalf("one who may list all sees, after %d: %s", code, all)
	}
	for _, page := range []string{"/", "/settings", "/addresses", "/events", "/certs"} {
		code, body := chief.do(http.MethodGet, page, nil)
		if code != 200 || strings.Contains(body, "could not be") && !strings.Contains(body, "could not be read: this program has no right to") {
			t.Errorf("%s: %d %s", page, code, body)
		}
	}
	reader, code := login(accountToken(t, c, "console-a", "reader", console.Audience))
	if own := reader.routes(); code != 200 || own != "console-a/shop-of-console-a" {
		t.Errorf("one who may list those of a namespace sees, after %d: %s", code, own)
	}
	for _, page := range []string{"/", "/routes", "/certs", "/events", "/hosts/console-b.console.test", "/ask?url=http://console-a.console.test/", "/routes/console-b/shop-of-console-b"} {
		if _, body := reader.do(http.MethodGet, page, nil); strings.Contains(body, "shop-of-console-b") && !strings.HasSuffix(page, "shop-of-console-b") {
			t.Errorf("%s shows a Route of the other namespace: %s", page, body)
		}
	}
	if code, _ := reader.do(http.MethodGet, "/settings", nil); code != http.StatusNotFound {
		t.Errorf("settings: %d", code)
	}
	if err := c.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "console-a", Name: "reader"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		later.Add(int64(31 * time.Second))
		if own := reader.routes(); own != "" {
			return fmt.Errorf("without the right it sees %s", own)
		}
		return nil
	})
	if err := c.Delete(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "console-a", Name: "reader"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		later.Add(int64(61 * time.Second))
		if code, _ := reader.do(http.MethodGet, "/state", nil); code != http.StatusUnauthorized {
			return fmt.Errorf("the session of a deleted account: %d", code)
		}
		return nil
	})
	own, err := client.New(config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, forbidden := range []client.ObjectList{&corev1.SecretList{}, &corev1.ConfigMapList{}} {
		if err := own.List(t.Context(), forbidden); err == nil {
			t.Errorf("the console may list %T", forbidden)
		}
	}
	d := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "fairlead-console", Name: "fairlead-console"}, d); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "fairlead-console", Name: "console"}, Spec: d.Spec.Template.Spec}
	if err := c.Create(t.Context(), pod, client.DryRunAll); err != nil {
		t.Errorf("the pod is not restricted: %v", err)
	}
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.Secret == nil || v.Secret.SecretName != "fairlead-console-tls" {
			t.Errorf("volume %s is mounted", v.Name)
		}
	}
	if strings.Contains(log.String(), "eyJ") {
		t.Error("the log has a token")
	}
}
