// BGP with passwords needs sockets that are plain TCP: MPTCP, which Go would
// use otherwise, has no MD5 signatures.
//go:debug multipathtcp=0

// Command speaker-bgp holds one BGP session of a speaker, which starts it and
// tells it what to do (package process). It parses what the peer sends, so it
// has no capability, no credentials and little memory, and ends with the speaker.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/fairlead/fairlead/cmd/internal/logging"
	"github.com/fairlead/fairlead/lbprovider/bgp/engine"
	"github.com/fairlead/fairlead/lbprovider/bgp/sandbox"
	"github.com/fairlead/fairlead/lbprovider/memory"
)

const (
	// memoryFloor is what it may take before it looks for garbage.
	memoryFloor = 4 << 20
	// maxData is the most memory that the process may allocate, in bytes. Go leaves
	// 40 MB of it unused; 10,000 prefixes take 10 MB. What a peer sends is kept by gobgp though no route of it
	// is used; a peer that sends a full table ends this process, and not the
	// speaker by the memory limit of the pod.
	maxData = 128 << 20
	// maxFiles is how many files and sockets it may have open; it needs a dozen.
	maxFiles = 64
)

func main() {
	memory.DisableSampling()
	// JSON, so that the speaker can see where a line ends, whatever a peer sends.
	logs := logging.Options{Format: logging.JSON}
	logs.Register(flag.CommandLine)
	flag.Parse()
	log := slog.New(logs.Handler(os.Stderr))
	// The speaker decides when sessions end, also if its process group is told to.
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go memory.LimitGarbage(context.Background(), memoryFloor, os.Getenv)
	debug.SetTraceback("single")
	if err := sandbox.Enter(sandbox.Limits{Data: maxData, Files: maxFiles}); err != nil {
		fmt.Fprintln(os.Stderr, "fatal error: BGP process cannot be confined:", err) // which the speaker tells
		os.Exit(1)
	}
	if err := engine.Serve(os.Stdin, os.Stdout, log); err != nil {
		log.Error("BGP process ends", "err", err)
		os.Exit(1)
	}
}
