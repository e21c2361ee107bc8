// Command image builds the project's container images into .tools/images:
//
//	go run ./test/image [pause|demo|operator|console|router|speaker]...
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/fairlead/fairlead/test/image/archive"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) error {
	b, err := toolset.New(os.Stderr)
	if err != nil {
		return err
	}
	return archive.Build(ctx, b, names...)
}
