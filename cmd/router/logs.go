package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/fairlead/fairlead/cmd/internal/logging"
)

// maxLogLine is the longest line of HAProxy, with room for what it adds.
const maxLogLine = 64 << 10

// runLogs prints the lines that HAProxy sends to a socket, for a container
// whose log is the access log and nothing else.
func runLogs(ctx context.Context, args []string, _ *slog.Logger) error {
	fs := flag.NewFlagSet("router logs", flag.ContinueOnError)
	socket := fs.String("socket", "", "`path` of the datagram socket to make and read")
	var own logging.Options // what main has scanned already; the access log is HAProxy's text
	own.Register(fs)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil || *socket == "":
		return errUsage
	}
	return printLines(ctx, *socket, os.Stdout)
}

// printLines reads the socket until the context ends. If no program takes the lines
// on, the socket fills up, and HAProxy drops lines rather than requests.
func printLines(ctx context.Context, socket string, out io.Writer) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the socket of an earlier process: %w", err)
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: socket})
	if err != nil {
		return fmt.Errorf("make the socket: %w", err)
	}
	_ = conn.SetReadBuffer(4 << 20) // as much as the system lets us
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	buffer := make([]byte, maxLogLine+1)
	for {
		n, err := conn.Read(buffer[:maxLogLine])
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("read the socket: %w", err)
		}
		line := append(bytes.TrimRight(buffer[:n], "\n\x00"), '\n')
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("print a line: %w", err)
		}
	}
}
