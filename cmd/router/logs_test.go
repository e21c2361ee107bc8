package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead/fairlead/test/wait"
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
	wait.Poll{}.For(t, "the socket", func() (err error) {
		conn, err = net.Dial("unixgram", socket)
		return err
	})
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
