package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/test/install"
)

// Users are tenants as others are: they may edit their namespace, and the API server has
// them wait for each other as docs/hardening.md says. It never has the administrator
// wait.
const (
	administrator = ""
	attackingUser = "mallory"
	victimUser    = "alice"
)

// tenancy are the rights of a user in its namespace. EndpointSlices are not part of the
// role edit.
const tenancy = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tenant, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[2]s}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: endpoints, namespace: %[1]s}
rules: [{apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get, create, update, patch, delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: endpoints, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: endpoints}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[2]s}]
`

// queued has tenants wait for each other at the API server, by the text of docs/hardening.md.
func queued(ctx context.Context, p *install.Product) error {
	text, err := os.ReadFile(p.Root + "/docs/hardening.md")
	if err != nil {
		return err
	}
	for block := range strings.SplitSeq(string(text), "```") {
		body, found := strings.CutPrefix(block, "yaml\n")
		if !found || !strings.Contains(body, "kind: PriorityLevelConfiguration") {
			continue
		}
		if err := apply(ctx, administrator, regexp.MustCompile("(?m)^   ").ReplaceAllString(body, "")); err != nil {
			return err
		}
		return apply(ctx, administrator, fmt.Sprintf(tenancy, "demo", victimUser))
	}
	return errors.New("docs/hardening.md: no PriorityLevelConfiguration")
}

// apiConnections are those of users to the API server.
type apiConnections struct {
	mu     sync.Mutex
	api    map[string]client.Client
	direct map[string]*rest.RESTClient
}

var connected = apiConnections{api: map[string]client.Client{}, direct: map[string]*rest.RESTClient{}}

// config is the connection of a user, without a client's bounds.
func config(user string) (*rest.Config, error) {
	c, err := installed.Cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	c.QPS = -1
	if user != administrator {
		c.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"tenants"}}
	}
	return c, nil
}

// api asks the cluster's API server as a user.
func api(user string) (client.Client, error) {
	return once(connected.api, user, func(c *rest.Config) (client.Client, error) { return client.New(c, client.Options{}) })
}

// direct is api without a mapping of kinds.
func direct(user string) (*rest.RESTClient, error) {
	return once(connected.direct, user, func(c *rest.Config) (*rest.RESTClient, error) {
		return rest.UnversionedRESTClientFor(dynamic.ConfigFor(c))
	})
}

func once[C any](made map[string]C, user string, connect func(*rest.Config) (C, error)) (C, error) {
	connected.mu.Lock()
	defer connected.mu.Unlock()
	if c, ok := made[user]; ok {
		return c, nil
	}
	var none C
	to, err := config(user)
	if err != nil {
		return none, err
	}
	c, err := connect(to)
	if err == nil {
		made[user] = c
	}
	return c, err
}
