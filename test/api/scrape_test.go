package api

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/scrape"
)

// TestMetricsAskWhoReads: the metrics of operator and speakers are for tokens
// with the right to get /metrics, over HTTPS. The programs ask with their own
// rights.
func TestMetricsAskWhoReads(t *testing.T) {
	c := newClient(t)
	for _, account := range []string{names.OperatorNamespace + ":ingress-operator", names.ProviderNamespace + ":speaker"} {
		t.Run(account, func(t *testing.T) {
			config, err := server.RESTConfig()
			if err != nil {
				t.Fatal(err)
			}
			namespace, _, _ := strings.Cut(account, ":")
			config.Impersonate = rest.ImpersonationConfig{
				UserName: "system:serviceaccount:" + account,
				Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
			}
			address := freeAddress(t)
			mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme(t), Metrics: scrape.Options(address, false), HealthProbeBindAddress: "0"})
			if err != nil {
				t.Fatal(err)
			}
			go mgr.Start(t.Context()) //nolint:errcheck // its end is that of the test
			get := func(token string) (int, error) {
				q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
				if err != nil {
					return 0, err
				}
				if token != "" {
					q.Header.Set("Authorization", "Bearer "+token)
				}
				insecure := &tls.Config{InsecureSkipVerify: true} // each process makes its own certificate
				client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: insecure}}
				answer, err := client.Do(q)
				if err != nil {
					return 0, err
				}
				defer answer.Body.Close()
				return answer.StatusCode, nil
			}
			answers := func(who, token string, want int) {
				t.Helper()
				eventually(t, func() error {
					got, err := get(token)
					if err == nil && got != want {
						err = fmt.Errorf("%s is answered %d, want %d", who, got, want)
					}
					return err
				})
			}
			token := tokenOf(t, "reader")
			answers("a stranger", "", http.StatusUnauthorized)
			answers("a made-up token", "a.b.c", http.StatusUnauthorized)
			answers("a pod of a tenant", token, http.StatusForbidden)

			binding := &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "reader-"},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-metrics"},
				Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "reader"}},
			}
			if err := c.Create(t.Context(), binding); err != nil {
				t.Fatal(err)
			}
			answers("Prometheus", token, http.StatusOK)
			if err := c.Delete(t.Context(), binding); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// tokenOf makes a ServiceAccount and a token of it.
func tokenOf(t *testing.T, account string) string {
	t.Helper()
	if err := apply(t, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: "+account+", namespace: default}\n"); err != nil {
		t.Fatal(err)
	}
	token, err := server.Kubectl(t.Context(), "create", "token", account, "-n", "default")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(token)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
