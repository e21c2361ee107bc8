package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

const (
	// viewers are the users of the console, of which seeAll may list the Routes of all
	// namespaces; the others have a namespace with some Routes each.
	viewers, seeAll, ownRoutes = 50, 10, 20
	// consoleAudience is that of tokens.
	consoleAudience = "fairlead.dev/console"
	consoleAddress  = "127.0.0.1:8444"
	// viewFor is how long viewers look, each at a page after each viewPause, while a Route
	// changes.
	viewFor, viewPause, changeEvery = time.Minute, 2 * time.Second, 5 * time.Second
)

// consoleProcess is a console as config/console runs it, with the rights of its account.
type consoleProcess struct {
	command *exec.Cmd
	log     bytes.Buffer
}

func (c *consoleProcess) stop() {
	_ = c.command.Process.Signal(os.Interrupt) // it may have ended already
	_ = c.command.Wait()
}

func (c *consoleProcess) logEnd() string {
	text := c.log.String()
	return text[max(0, len(text)-2000):]
}

// startConsole starts the console with the environment of its manifest.
func (b *bench) startConsole(ctx context.Context, program string) (*consoleProcess, error) {
	root, err := toolset.Root()
	if err != nil {
		return nil, err
	}
	manifests := filepath.Join(root, "config", "console")
	if err := b.kubectl(ctx, "apply", "--server-side", "-k", manifests); err != nil {
		return nil, err
	}
	env, err := environmentOf(filepath.Join(manifests, "console.yaml"))
	if err != nil {
		return nil, err
	}
	token, err := b.token(ctx, "fairlead-console", "console", "")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.dir, "console")
	cert, key, _, err := b.rig.CA.Issue("fairlead-console.test")
	if err == nil {
		err = writeFiles(dir, map[string]string{"tls.crt": cert, "tls.key": key})
	}
	if err == nil {
		err = b.accountConfig(filepath.Join(dir, "kubeconfig"), token)
	}
	if err != nil {
		return nil, err
	}
	c := &consoleProcess{}
	c.command = exec.CommandContext(ctx, program, "--auth=token", "--behind-router", "--listen", consoleAddress, "--kubeconfig", filepath.Join(dir, "kubeconfig"),
		"--tls-cert", filepath.Join(dir, "tls.crt"), "--tls-key", filepath.Join(dir, "tls.key"))
	c.command.Env = append(os.Environ(), env...)
	c.command.Stdout, c.command.Stderr = &c.log, &c.log
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("start the console: %w", err)
	}
	return c, nil
}

func (b *bench) kubectl(ctx context.Context, args ...string) error {
	program, err := toolset.Path("kubectl")
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, program, append([]string{"--kubeconfig", b.rig.Kubeconfig()}, args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", args, err, out)
	}
	return nil
}

// environmentOf reads the environment of the container of a Deployment.
func environmentOf(path string) (env []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var d struct {
			Kind string
			Spec struct {
				Template struct {
					Spec corev1.PodSpec
				}
			}
		}
		if err := yaml.Unmarshal(doc, &d); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if d.Kind != "Deployment" {
			continue
		}
		for _, v := range d.Spec.Template.Spec.Containers[0].Env {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	return env, nil
}

// token makes a token of a ServiceAccount.
func (b *bench) token(ctx context.Context, namespace, name, audience string) (string, error) {
	request := &authenticationv1.TokenRequest{}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := b.rig.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("make a token of %s/%s: %w", namespace, name, err)
	}
	return request.Status.Token, nil
}

// accountConfig writes a kubeconfig of an account.
func (b *bench) accountConfig(path, token string) error {
	config, err := clientcmd.LoadFromFile(b.rig.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write a kubeconfig: %w", err)
	}
	return nil
}

// viewer is a user with a browser.
type viewer struct {
	name, namespace string
	client          http.Client
	address         string
}

// get loads a page.
func (v *viewer) get(ctx context.Context, path string) error {
	answer, err := v.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s sees %s: %s", v.name, path, answer.Status)
	}
	return err
}

func (v *viewer) do(ctx context.Context, method, path string, form url.Values) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "https://"+consoleAddress+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("ask the console: %w", err)
	}
	r.Header.Set("X-Forwarded-For", v.address)
	if method == http.MethodPost {
		r.Header.Set("Origin", "https://"+consoleAddress)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := v.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask the console: %w", err)
	}
	return answer, nil
}

// logIn makes the viewers, each with an account in a namespace of its own, and logs them in.
func (b *bench) logIn(ctx context.Context, c *consoleProcess) ([]*viewer, error) {
	reader := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "route-reader"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"route.openshift.io"}, Resources: []string{"routes"}, Verbs: []string{"list"}}}}
	if err := b.rig.Create(ctx, reader); err != nil {
		return nil, err
	}
	seeder, err := b.rig.NewSeeder(ctx, "fill0")
	if err != nil {
		return nil, err
	}
	var all []*viewer
	for i := range viewers {
		v, err := b.newViewer(ctx, i, seeder)
		if err != nil {
			return nil, err
		}
		token, err := b.token(ctx, v.namespace, "viewer", consoleAudience)
		if err != nil {
			return nil, err
		}
		err = wait.Poll{Limit: time.Minute}.Until(ctx, "a log-in", func() error {
			answer, err := v.do(ctx, http.MethodPost, "/login", url.Values{"token": {token}})
			if err != nil {
				return err
			}
			_ = answer.Body.Close() // only the status counts
			if answer.StatusCode != http.StatusOK {
				return wait.GiveUp(errors.New(answer.Status))
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, c.logEnd())
		}
		all = append(all, v)
	}
	// Data may be as old as ten times what reading took.
	last := all[len(all)-1]
	err = wait.Poll{Limit: time.Minute, Every: 100 * time.Millisecond}.Until(ctx, "the Routes of the last viewer", func() error {
		return last.get(ctx, fmt.Sprintf("/routes/%s/own%d-1", last.namespace, viewers-1))
	})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, c.logEnd())
	}
	return all, nil
}

// newViewer makes the account of a viewer, and the Routes of its namespace.
func (b *bench) newViewer(ctx context.Context, i int, seeder *rig.Seeder) (*viewer, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, fmt.Errorf("make a jar for cookies: %w", err)
	}
	v := &viewer{name: fmt.Sprintf("viewer %d", i), namespace: fmt.Sprintf("viewer-%d", i), address: fmt.Sprintf("203.0.113.%d", i)}
	v.client = http.Client{Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // the certificate is of this run
	meta := metav1.ObjectMeta{Namespace: v.namespace, Name: "viewer"}
	subject := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: v.namespace, Name: "viewer"}}
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "route-reader"}
	if err := b.rig.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.namespace}}, &corev1.ServiceAccount{ObjectMeta: meta}); err != nil {
		return nil, err
	}
	if i < seeAll {
		return v, b.rig.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: v.namespace}, RoleRef: role, Subjects: subject})
	}
	for n := range ownRoutes {
		if err := seeder.In(v.namespace).Add(ctx, fmt.Sprintf("own%d-%d", i, n), 2*defaultRoutes+i*ownRoutes+n, false); err != nil {
			return nil, err
		}
	}
	return v, b.rig.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: role, Subjects: subject})
}

// watchAll opens the stream of each viewer, as one tab of its browser does. The function that it
// returns waits for their end.
func watchAll(ctx context.Context, all []*viewer) (ended func()) {
	var streams sync.WaitGroup
	for _, v := range all {
		streams.Go(func() {
			for ctx.Err() == nil { // the console ends a stream after a minute
				answer, err := v.do(ctx, http.MethodGet, "/live", nil)
				if err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
				}
				_ = pause(ctx, 200*time.Millisecond)
			}
		})
	}
	return streams.Wait
}

// look has all viewers look at pages while Routes change, and returns how long pages took, in
// order.
func (b *bench) look(ctx context.Context, all []*viewer) ([]float64, error) {
	looking, stop := context.WithTimeout(ctx, viewFor)
	defer stop()
	var mu sync.Mutex
	var took []float64
	var failed error
	var users sync.WaitGroup
	for i, v := range all {
		users.Go(func() {
			own := fmt.Sprintf("%s/own%d-1", v.namespace, i)
			if i < seeAll {
				own = rig.Namespace + "/fill1"
			}
			pages := []string{"/", "/routes", "/routes?q=fill7&sort=-host&page=2", "/routes/" + own, "/certs", "/events", "/addresses", "/ask?url=http://" + rig.Host("fill7") + "/"}
			for n := i; looking.Err() == nil; n++ {
				began := time.Now()
				err := v.get(looking, pages[n%len(pages)])
				mu.Lock()
				if err == nil {
					took = append(took, report.Milliseconds(time.Since(began)))
				} else if looking.Err() == nil {
					failed = errors.Join(failed, err)
				}
				mu.Unlock()
				_ = pause(looking, viewPause)
			}
		})
	}
	for n := 0; looking.Err() == nil; n++ {
		if err := b.rig.PatchRoute(ctx, "fill1", fmt.Sprintf(`{"metadata":{"annotations":{"bench/change":"%d"}}}`, n)); err != nil {
			return nil, err
		}
		_ = pause(looking, changeEvery)
	}
	users.Wait()
	slices.Sort(took)
	if failed == nil && len(took) < viewers {
		failed = fmt.Errorf("only %d pages were loaded", len(took))
	}
	return took, failed
}
