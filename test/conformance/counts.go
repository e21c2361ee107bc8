package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// counts are sums over all routers.
type counts struct {
	routers  int
	reloads  int // of HAProxy
	failed   int // reloads that HAProxy refused
	refused  int // changes that HAProxy refused, from the routers' logs
	commands int // changes at run time
	restarts int // of containers
}

func (c counts) since(o counts) counts {
	return counts{c.routers, c.reloads - o.reloads, c.failed - o.failed, c.refused - o.refused, c.commands - o.commands, c.restarts - o.restarts}
}

func (c counts) String() string {
	return fmt.Sprintf("%d reloads, %d refused reloads, %d refused changes, %d changes at run time, %d restarts of containers, of %d routers",
		c.reloads, c.failed, c.refused, c.commands, c.restarts, c.routers)
}

// problem says that HAProxy was reloaded, which no object of a tenant may cause.
func (c counts) problem() error {
	if c.reloads != 0 || c.failed != 0 || c.refused != 0 || c.restarts != 0 {
		return errors.New("HAProxy was reloaded or refused a change: " + c.String())
	}
	return nil
}

const routersNamespace = "openshift-ingress"

// counts reads the metrics and the logs of all routers.
func (b *bed) counts(ctx context.Context) (total counts, err error) {
	client, token, err := b.metricsClient(ctx)
	if err != nil {
		return total, err
	}
	pods, err := b.Cluster.Kubectl(ctx, "-n", routersNamespace, "get", "pods", "-l", "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default",
		"-o", `jsonpath={range .items[*]}{.metadata.name} {.status.podIP} {.status.containerStatuses[*].restartCount}{"\n"}{end}`)
	if err != nil {
		return total, err
	}
	for line := range strings.Lines(pods) {
		f := strings.Fields(line)
		if len(f) < 2 {
			return total, fmt.Errorf("a router has no address yet: %q", line)
		}
		total.routers++
		for _, n := range f[2:] {
			restarts, _ := strconv.Atoi(n)
			total.restarts += restarts
		}
		if err := b.metrics(ctx, client, f[1], token, &total); err != nil {
			return total, err
		}
		log, err := b.Cluster.Kubectl(ctx, "-n", routersNamespace, "logs", f[0], "-c", "router")
		if err != nil {
			return total, err
		}
		total.refused += strings.Count(log, "HAProxy refused")
	}
	if total.routers == 0 {
		return total, errors.New("no router runs")
	}
	return total, nil
}

// metricsClient returns what reads the metrics as Prometheus would.
func (b *bed) metricsClient(ctx context.Context) (*http.Client, string, error) {
	token, err := b.Cluster.Kubectl(ctx, "-n", "default", "create", "token", "metrics-reader")
	if err != nil {
		return nil, "", err
	}
	encoded, err := b.Cluster.Kubectl(ctx, "-n", routersNamespace, "get", "secret", "router-certs-default", "-o", `jsonpath={.data.tls\.crt}`)
	if err != nil {
		return nil, "", err
	}
	trusted, err := base64.StdEncoding.DecodeString(encoded)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(trusted) {
		return nil, "", fmt.Errorf("certificate of the metrics %q: %w", encoded, err)
	}
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: b.Cluster.Dial("client"), DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "router-default.apps.example.com", MinVersion: tls.VersionTLS12},
	}}, strings.TrimSpace(token), nil
}

// metrics adds those of one router.
func (b *bed) metrics(ctx context.Context, client *http.Client, pod, token string, total *counts) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+pod+":1936/metrics", http.NoBody)
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("read metrics of %s: %s", pod, answer.Status)
	}
	return sum(answer.Body, map[string]*int{
		"fairlead_router_reloads_total": &total.reloads, "fairlead_router_reload_failures_total": &total.failed,
		"fairlead_router_runtime_commands_total": &total.commands,
	})
}

// sum adds the samples of metrics, over all of their labels.
func sum(page io.Reader, into map[string]*int) error {
	lines := bufio.NewScanner(page)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		name, _, _ = strings.Cut(name, "{")
		if at := into[name]; at != nil {
			words := strings.Fields(value)
			if len(words) == 0 {
				return fmt.Errorf("metric without a value: %q", lines.Text())
			}
			n, err := strconv.ParseFloat(words[len(words)-1], 64)
			if err != nil {
				return fmt.Errorf("metric %s: %w", name, err)
			}
			*at += int(n)
		}
	}
	return lines.Err()
}
