// Package cluster reads the metrics pages of a router's replicas through the API server,
// by port forwarding. Who asks is shown by a token of a ServiceAccount that may read those
// pages and nothing else: the user's own token goes to the API server only.
package cluster

import (
	"bytes"
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
	"github.com/fairlead/fairlead/router/traffic/top"
)

const (
	// readTime bounds one page of one replica.
	readTime = 15 * time.Second
	// pageBytes bounds a page: 25,000 series are 3 MB.
	pageBytes = 128 << 20
	// tokenTime is how long a token is asked for; it is renewed before.
	tokenTime = 10 * time.Minute
)

// Source reads the replicas of one router.
type Source struct {
	config *rest.Config
	client kubernetes.Interface
	router string

	mu      sync.Mutex
	header  string
	until   time.Time
	clients map[string]*http.Client
}

// New returns a source of the replicas of the IngressController of that name.
func New(config *rest.Config, router string) (*Source, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	return &Source{config: config, client: client, router: router, clients: map[string]*http.Client{}}, nil
}

// Read asks all replicas that are ready, at once. The readings are by pod; unread says why
// others are not among them. It fails where none could be asked.
func (s *Source) Read(ctx context.Context) (readings map[string]*top.Reading, unread []string, err error) {
	pods, err := s.client.CoreV1().Pods(api.OperandNamespace).List(ctx, metav1.ListOptions{LabelSelector: api.LabelDeploymentIngressController + "=" + s.router})
	if err != nil {
		return nil, nil, fmt.Errorf("list the pods of router %s: %w", s.router, err)
	}
	header, err := s.authorization(ctx)
	if err != nil {
		return nil, nil, err
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	readings = map[string]*top.Reading{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
			continue
		}
		wait.Go(func() {
			r, err := s.page(ctx, pod, header)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				unread = append(unread, pod.Name+": "+err.Error())
				return
			}
			readings[pod.Name] = r
		})
	}
	wait.Wait()
	slices.Sort(unread)
	switch {
	case len(readings) > 0:
		return readings, unread, nil
	case len(unread) > 0:
		return nil, nil, errors.New("no replica could be asked: " + unread[0])
	}
	return nil, nil, fmt.Errorf("router %s has no ready pod in namespace %s; see kubectl fairlead status", s.router, api.OperandNamespace)
}

// page reads the page of one replica, over a connection that stays.
func (s *Source) page(ctx context.Context, pod *corev1.Pod, header string) (*top.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	port := statsPort(pod)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://localhost:"+strconv.Itoa(port)+"/metrics", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	req.Header.Set("Authorization", header)
	answer, err := s.http(pod, port).Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, pageBytes))
	at := time.Now()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read: %w", err)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers %s: %s", answer.Status, strings.TrimSpace(string(body[:min(len(body), 300)])))
	}
	return top.Parse(bytes.NewReader(body), at)
}

func (s *Source) http(pod *corev1.Pod, port int) *http.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := string(pod.UID)
	if s.clients[key] == nil {
		namespace, name := pod.Namespace, pod.Name
		s.clients[key] = &http.Client{Transport: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				// The connection outlives the request that opens it.
				return podport.Dial(context.Background(), s.config, namespace, name, port) //nolint:contextcheck // as the comment says
			},
			// The API server has led the connection into the pod that it names: there is
			// nothing that a certificate would add, and the operator's own is known to nothing here.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // see above
		}}
	}
	return s.clients[key]
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

// authorization returns the header with which routers are asked.
func (s *Source) authorization(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.header != "" && time.Now().Before(s.until) {
		return s.header, nil
	}
	seconds := int64(tokenTime.Seconds())
	token, err := s.client.CoreV1().ServiceAccounts(api.OperandNamespace).CreateToken(ctx, api.ViewerServiceAccount, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{api.RouterAudience}, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	switch {
	case err == nil:
		s.header, s.until = "Bearer "+token.Status.Token, time.Now().Add(tokenTime/2)
		return s.header, nil
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		return "", fmt.Errorf("ask for a token of ServiceAccount %s: %w", api.ViewerServiceAccount, err)
	}
	secret, second := s.client.CoreV1().Secrets(api.OperandNamespace).Get(ctx, api.StatsSecretName(s.router), metav1.GetOptions{})
	if second != nil {
		return "", fmt.Errorf("routers answer only who may read their metrics: %w; ask an administrator for: kubectl create rolebinding fairlead-viewer-USER --role fairlead-viewer --user USER -n %s", err, api.OperandNamespace)
	}
	request := &http.Request{Header: http.Header{}}
	request.SetBasicAuth(string(secret.Data["statsUsername"]), string(secret.Data["statsPassword"]))
	s.header, s.until = request.Header.Get("Authorization"), time.Now().Add(tokenTime/2)
	return s.header, nil
}
