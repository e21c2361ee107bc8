package speaker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ServeHealth serves probes and the debug page until stop is called, from the
// start: a speaker that waits for its key is alive, but not ready. The address
// is on the node's loopback by default, which the kubelet reaches as well.
// current returns nil until there is a speaker; why says what it waits for.
func ServeHealth(ctx context.Context, address string, current func() *Speaker, why func() string, log *slog.Logger) (stop func(), err error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		text := why()
		if s := current(); text == "" && s != nil {
			text = s.notReady()
		} else if text == "" {
			text = "the speaker starts"
		}
		if text != "" {
			http.Error(w, text, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("/debug/l2", func(w http.ResponseWriter, r *http.Request) {
		s := current()
		if s == nil {
			http.Error(w, "the speaker waits for its key", http.StatusServiceUnavailable)
			return
		}
		s.ServeHTTP(w, r)
	})
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for probes: %w", err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("probes", "err", err)
		}
	}()
	return func() { _ = server.Close() }, nil
}
