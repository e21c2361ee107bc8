// Package routerpods asks the replicas of a router through the API server, by port forwarding.
// Who asks is shown by a token of a ServiceAccount that may read certain pages and nothing
// else: the user's own token goes to the API server only.
package routerpods

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/podport"
)

// tokenTime is how long a token is asked for; it is renewed before.
const tokenTime = 10 * time.Minute

// whyBytes bounds what is shown of a refusal.
const whyBytes = 300

// Account is a ServiceAccount in the namespace of the routers.
type Account struct {
	Name string
	// Grant is the kubectl command that lets a user have tokens of the account, and What
	// those may read, as in "their metrics".
	Grant, What string
	// Password is true if the Secret of HAProxy's statistics page does as well.
	Password bool
}

// Replicas are the pods of one router.
type Replicas struct {
	config  *rest.Config
	client  kubernetes.Interface
	router  string
	account Account

	mu      sync.Mutex
	header  string
	until   time.Time
	clients map[string]*http.Client
}

// New returns the replicas of the IngressController of that name, for one ServiceAccount.
func New(config *rest.Config, router string, account Account) (*Replicas, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	return &Replicas{config: config, client: client, router: router, account: account, clients: map[string]*http.Client{}}, nil
}

// Ready returns the pods that are ready. It fails where there is none.
func (r *Replicas) Ready(ctx context.Context) ([]*corev1.Pod, error) {
	pods, err := r.client.CoreV1().Pods(api.OperandNamespace).List(ctx, metav1.ListOptions{LabelSelector: api.LabelDeploymentIngressController + "=" + r.router})
	if err != nil {
		return nil, fmt.Errorf("list the pods of router %s: %w; ask an administrator for: %s", r.router, err, r.account.Grant)
	}
	var ready []*corev1.Pod
	for i := range pods.Items {
		if slices.ContainsFunc(pods.Items[i].Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
			ready = append(ready, &pods.Items[i])
		}
	}
	if len(ready) == 0 {
		return nil, fmt.Errorf("router %s has no ready pod in namespace %s; see kubectl fairlead status", r.router, api.OperandNamespace)
	}
	return ready, nil
}

// Get asks a pod for a page, over a connection that stays. An answer other than 200 is a StatusError.
func (r *Replicas) Get(ctx context.Context, pod *corev1.Pod, page string) (io.ReadCloser, error) {
	header, err := r.Authorize(ctx)
	if err != nil {
		return nil, err
	}
	port := statsPort(pod)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://localhost:"+strconv.Itoa(port)+page, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	req.Header.Set("Authorization", header)
	answer, err := r.http(pod, port).Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		why, _ := io.ReadAll(io.LimitReader(answer.Body, whyBytes))
		return nil, &StatusError{Code: answer.StatusCode, Why: strings.TrimSpace(string(why))}
	}
	return answer.Body, nil
}

// StatusError is an answer of a router other than 200.
type StatusError struct {
	Code int
	// Why is the beginning of its text.
	Why string
}

// Error says what the router answers.
func (e *StatusError) Error() string {
	return fmt.Sprintf("it answers %d %s: %s", e.Code, http.StatusText(e.Code), e.Why)
}

func (r *Replicas) http(pod *corev1.Pod, port int) *http.Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := string(pod.UID)
	if r.clients[key] == nil {
		namespace, name := pod.Namespace, pod.Name
		r.clients[key] = &http.Client{Transport: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				// The connection outlives the request that opens it.
				return podport.Dial(context.Background(), r.config, namespace, name, port) //nolint:contextcheck // as the comment says
			},
			// The API server has led the connection into the pod that it names: there is
			// nothing that a certificate would add, and the operator's own is known to nothing here.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // see above
		}}
	}
	return r.clients[key]
}

// statsPort is that of the pod's container.
func statsPort(pod *corev1.Pod) int {
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == "metrics" {
				return int(p.ContainerPort)
			}
		}
	}
	return 1936
}

// Authorize gets the header with which the pods are asked, if there is none that is good still.
func (r *Replicas) Authorize(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.header != "" && time.Now().Before(r.until) {
		return r.header, nil
	}
	seconds := int64(tokenTime.Seconds())
	token, err := r.client.CoreV1().ServiceAccounts(api.OperandNamespace).CreateToken(ctx, r.account.Name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{api.RouterAudience}, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	switch {
	case err == nil:
		r.header, r.until = "Bearer "+token.Status.Token, time.Now().Add(tokenTime/2)
		return r.header, nil
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		return "", fmt.Errorf("ask for a token of ServiceAccount %s: %w", r.account.Name, err)
	}
	if header, second := r.password(ctx); second == nil {
		r.header, r.until = header, time.Now().Add(tokenTime/2)
		return r.header, nil
	}
	return "", fmt.Errorf("routers answer only who may read %s: %w; ask an administrator for: %s", r.account.What, err, r.account.Grant)
}

var errNoPassword = errors.New("no password will do")

// password is the header with user and password of HAProxy's statistics page.
func (r *Replicas) password(ctx context.Context) (string, error) {
	if !r.account.Password {
		return "", errNoPassword
	}
	secret, err := r.client.CoreV1().Secrets(api.OperandNamespace).Get(ctx, api.StatsSecretName(r.router), metav1.GetOptions{})
	if err != nil {
		return "", err //nolint:wrapcheck // it is not shown
	}
	request := &http.Request{Header: http.Header{}}
	request.SetBasicAuth(string(secret.Data["statsUsername"]), string(secret.Data["statsPassword"]))
	return request.Header.Get("Authorization"), nil
}
