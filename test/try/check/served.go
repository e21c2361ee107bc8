package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// served is a running `fairlead serve` on a copy of the manifests.
type served struct {
	// folder has the manifests.
	folder string
	cmd    *exec.Cmd
	ended  chan error
	// log is the file with what the program and HAProxy log.
	log string
	// stopped is true once the end has been asked for.
	stopped bool

	mu sync.Mutex
	// printed are its lines so far.
	printed []string
}

// patience bounds each wait.
const patience = 30 * time.Second

// startServe starts the program on a copy of the manifests of a folder.
func startServe(ctx context.Context, program, haproxy, manifests, work string) (*served, error) {
	s := &served{folder: filepath.Join(work, "manifests"), ended: make(chan error, 1)}
	if err := copyManifests(s.folder, manifests); err != nil {
		return nil, err
	}
	s.cmd = exec.CommandContext(ctx, program, "serve", "-f", s.folder, "--demo", "--haproxy", haproxy, "--work-dir", filepath.Join(work, "w"),
		"--http", "auto", "--https", "auto", "--admin", "auto", "--access-log")
	s.log = filepath.Join(work, "log")
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	s.cmd.Stderr = log // HAProxy writes there as well
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start fairlead: %w", err)
	}
	go func() {
		scanner := bufio.NewScanner(out)
		for scanner.Scan() {
			s.mu.Lock()
			s.printed = append(s.printed, scanner.Text())
			s.mu.Unlock()
		}
		s.ended <- s.cmd.Wait()
	}()
	if err := s.waitFor("Ctrl-C"); err != nil {
		_ = s.stop()
		return nil, err
	}
	return s, nil
}

func copyManifests(to, from string) error {
	names, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no manifests in %s: %w", from, err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(name)), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *served) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.printed...)
}

// waitFor waits until a line with the text has been printed.
func (s *served) waitFor(text string) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, l := range s.lines() {
			if strings.Contains(l, text) {
				return nil
			}
		}
	}
	return fmt.Errorf("fairlead did not print %q; it printed:\n%s", text, strings.Join(s.lines(), "\n"))
}

// stop ends the program as Ctrl-C does, and returns an error unless it ends with 0 soon.
func (s *served) stop() error {
	began := time.Now()
	if s.stopped {
		return nil
	}
	s.stopped = true
	_ = s.cmd.Process.Signal(os.Interrupt)
	select {
	case err := <-s.ended:
		if err != nil {
			return fmt.Errorf("fairlead ended with %w, want 0", err)
		}
	case <-time.After(patience):
		_ = s.cmd.Process.Signal(syscall.SIGKILL)
		return errors.New("fairlead does not end after Ctrl-C")
	}
	if took := time.Since(began); took > time.Second {
		return fmt.Errorf("fairlead took %s to end after Ctrl-C, want at most 1s", took.Round(time.Millisecond))
	}
	return nil
}

// write replaces a manifest as an editor does.
func (s *served) write(name, text string) error {
	fresh := filepath.Join(s.folder, "."+name+".new")
	if err := os.WriteFile(fresh, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(s.folder, name))
}

// curls are the commands that it printed.
func (s *served) curls() (commands [][]string) {
	for _, l := range s.lines() {
		if _, args, ok := strings.Cut(l, " curl "); ok {
			commands = append(commands, strings.Fields(args))
		}
	}
	return commands
}

// ask does what a printed curl command does.
func ask(ctx context.Context, args []string) (status int, body string, err error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	url := args[len(args)-1]
	for i, arg := range args {
		if arg == "--cacert" {
			pem, err := os.ReadFile(args[i+1])
			if err != nil {
				return 0, "", err
			}
			transport.TLSClientConfig.RootCAs = x509.NewCertPool()
			transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem)
		}
	}
	// As curl does with *.localhost, whatever the resolver says.
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// until asks until the answer is as wanted, and returns how long that took.
func until(ctx context.Context, url string, good func(status int, body string) bool) (time.Duration, error) {
	began := time.Now()
	for {
		status, body, err := ask(ctx, []string{url})
		if err == nil && good(status, body) {
			return time.Since(began), nil
		}
		if time.Since(began) > patience || ctx.Err() != nil {
			return 0, fmt.Errorf("%s answers %d %q, %w", url, status, body, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
