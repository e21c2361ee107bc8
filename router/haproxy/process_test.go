package haproxy_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

// lines are those of a log that is written and read at once.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// TestPortInUse: the log says why a HAProxy whose files are good cannot start. It starts once it can.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	for _, bin := range []string{"haproxy", "haproxy-3.2", "haproxy-3.0"} {
		t.Run(bin, func(t *testing.T) {
			t.Parallel()
			path, err := toolset.Path(bin)
			if err != nil {
				t.Skip(err)
			}
			caps, _, err := haproxy.Detect(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			other, err := net.Listen("tcp", ":0")
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			dir, err := os.MkdirTemp("", "fl") //nolint:usetesting // the path of a socket must be short
			if err != nil {
				t.Fatal(err)
			}
			layout := render.Layout{Dir: dir}
			base, err := render.Skeleton(render.Settings{HTTPPort: other.Addr().(*net.TCPAddr).Port, HTTPSPort: freePort(t), MaxConn: 50}, layout, caps)
			if err != nil {
				t.Fatal(err)
			}
			files, err := haproxy.NewFiles(layout, caps)
			if err != nil {
				t.Fatal(err)
			}
			st := everything(t)
			for _, pem := range st.Certs {
				st.Certs[plan.DefaultCertID] = pem
			}
			if err := files.Write(base, st); err != nil {
				t.Fatal(err)
			}
			var log lines
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan struct{})
			supervisor := &haproxy.Supervisor{Binary: path, Layout: layout, Log: slog.New(slog.NewTextHandler(&log, nil))}
			go func() { defer close(ended); _ = supervisor.Run(ctx, time.Second) }()
			t.Cleanup(func() { cancel(); <-ended; _ = os.RemoveAll(dir) })
			wait.Poll{}.For(t, "the reason in the log", func() error {
				if !log.has("in use") {
					return errors.New("it is not there")
				}
				return nil
			})
			_ = other.Close()
			rt, err := haproxy.NewRuntime(layout, caps)
			if err != nil {
				t.Fatal(err)
			}
			wait.Poll{}.For(t, "HAProxy answers", func() error { _, err := rt.Info(); return err })
		})
	}
}
