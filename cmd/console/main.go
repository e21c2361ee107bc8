// Command console serves the console in a cluster, for users who log in with a token of theirs
// and see what they may list. It only reads.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/cmd/internal/logging"
	"github.com/fairlead/fairlead/cmd/internal/memory"
	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/console/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "console:", err)
		os.Exit(1)
	}
}

const (
	authToken, authProxy, authNone = "token", "proxy", "none"
	// connections is how many there are at the same time.
	connections = 512
	// fresh is how long what was read counts as new: to read what has not changed costs nothing.
	fresh = time.Second
)

// settings are the flags.
type settings struct {
	auth, listen, base string
	certificate, key   string
	kubeconfig         string
	router, domain     string
	behindRouter       bool
	readTimeout        time.Duration
	proxyCA            string
	proxy              console.Proxy
	logs               logging.Options
}

func parse(args []string) (*settings, error) {
	s := &settings{logs: logging.Options{Format: logging.JSON}}
	fs := flag.NewFlagSet("console", flag.ContinueOnError)
	fs.StringVar(&s.auth, "auth", authToken, "how users log in: token, with a token for the audience "+console.Audience+"; proxy, where a proxy names them; or none, on loopback only")
	fs.StringVar(&s.proxyCA, "proxy-ca", "", "file with the CA of the proxy's certificate, which is for nothing else: without such a certificate no request is answered")
	fs.StringVar(&s.proxy.User, "user-header", "X-Remote-User", "header in which the proxy names the user")
	fs.StringVar(&s.proxy.Groups, "group-header", "X-Remote-Group", "header in which it names groups, separated by commas or in several lines")
	fs.StringVar(&s.listen, "listen", ":8443", "address and port")
	fs.StringVar(&s.base, "base-path", "/", "path of all pages, such as /fairlead/")
	fs.StringVar(&s.certificate, "tls-cert", "", "file with the serving certificate, which is read again when it changes")
	fs.StringVar(&s.key, "tls-key", "", "file with its key")
	fs.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; without, the program's own ServiceAccount")
	fs.StringVar(&s.router, "router", "", "the IngressController whose answers are shown; default \"default\"")
	fs.StringVar(&s.domain, "domain", "", "domain of Routes without host; the default is the IngressController's")
	fs.BoolVar(&s.behindRouter, "behind-router", false, "the address of a client is the last one in X-Forwarded-For: only where no other program than a router reaches the port")
	fs.DurationVar(&s.readTimeout, "read-timeout", 30*time.Second, "how long reading the cluster may take")
	s.logs.Register(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err //nolint:wrapcheck // package flag has printed it
	}
	return s, s.check(fs.Args())
}

func (s *settings) check(rest []string) error {
	if !strings.HasPrefix(s.base, "/") || strings.ContainsAny(s.base, "?#%\"<>\\ ") || strings.Contains(s.base, "//") {
		return fmt.Errorf("--base-path %q is not a path such as /fairlead/", s.base)
	}
	if !strings.HasSuffix(s.base, "/") {
		s.base += "/"
	}
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unknown argument %q", rest[0])
	case s.auth != authToken && s.auth != authProxy && s.auth != authNone:
		return fmt.Errorf("unknown --auth %q; use one of: token, proxy, none", s.auth)
	case (s.auth == authProxy) != (s.proxyCA != ""):
		return errors.New("--auth=proxy and --proxy-ca need each other: headers count only from a client with a certificate of that CA")
	case s.auth == authProxy && (s.proxy.User == "" || s.proxy.Groups == "" || strings.EqualFold(s.proxy.User, s.proxy.Groups)):
		return errors.New("--user-header and --group-header are two headers")
	case s.readTimeout <= 0:
		return fmt.Errorf("--read-timeout %s is less than nothing", s.readTimeout)
	case s.auth != authNone && (s.certificate == "" || s.key == ""):
		return fmt.Errorf("--auth=%s needs --tls-cert and --tls-key: what logs users in is sent over TLS only", s.auth)
	case s.auth == authNone && s.certificate != "":
		return errors.New("--auth=none serves on loopback without TLS; leave out --tls-cert")
	}
	return nil
}

func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	log := slog.New(s.logs.Handler(os.Stderr))
	config, err := s.cluster()
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.listen, err)
	}
	defer l.Close()
	source, err := cluster.NewSource(cluster.Options{Config: config, Router: s.router, Domain: s.domain, Timeout: s.readTimeout, Log: log})
	if err != nil {
		return err
	}
	go source.Run(ctx)
	go memory.SaveBound(ctx, source.Known)
	options := console.Options{Source: source, Cluster: true, Fresh: fresh, Now: time.Now, Command: s.line}
	if s.auth == authNone {
		open, err := console.NewOpen(options, s.base, l)
		if err != nil {
			return fmt.Errorf("--auth=none: %w; use --listen 127.0.0.1:8080, or --auth=token", err)
		}
		log.Info("the console serves without a log-in", "address", "http://"+l.Addr().String()+s.base)
		return open.Serve(ctx, l)
	}
	rights, err := cluster.NewRights(config)
	if err != nil {
		return err
	}
	of := console.EntranceOptions{Base: s.base, Rights: rights, BehindRouter: s.behindRouter, Log: log}
	if s.auth == authProxy {
		of.Proxy = &s.proxy
	}
	entrance, err := console.NewEntrance(options, of)
	if err != nil {
		return err
	}
	secured, err := secure(l, s.certificate, s.key, s.proxyCA)
	if err != nil {
		return err
	}
	log.Info("the console serves", "address", l.Addr().String(), "base", s.base)
	return entrance.Serve(ctx, secured)
}

// cluster returns how to reach the API server.
func (s *settings) cluster() (*rest.Config, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: s.kubeconfig}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	return config, nil
}

// line is a command that gives the answer of a page, with the rights of the user who types it.
func (s *settings) line(l console.Line) string {
	args := []string{"kubectl", "fairlead", l.Command}
	if l.Subject != "" {
		args = append(args, l.Subject)
	}
	if l.Namespace != "" {
		args = append(args, "-n", l.Namespace)
	}
	args = append(args, l.Flags...)
	if s.router != "" {
		args = append(args, "--router", s.router)
	}
	return terminal.Command(args...)
}
