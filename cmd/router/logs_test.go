package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPrintLines: what is sent to the socket is printed line by line, also by a
// process that finds the socket of one before it.
func TestPrintLines(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "log.sock")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- printLines(ctx, socket, writer) }()

	var conn net.Conn
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var err error
		if conn, err = net.Dial("unixgram", socket); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-tick.C
	}
	lines := bufio.NewScanner(reader)
	for _, text := range []string{"one", "two\n"} {
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		if want := text[:3]; !lines.Scan() || lines.Text() != want {
			t.Fatalf("printed %q, want %q", lines.Text(), want)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
