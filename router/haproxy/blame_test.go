package haproxy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead/fairlead/router/render"
)

// TestCheckThatIsStopped: a HAProxy that is stopped before it has read all its
// files has refused none of them, whatever it has said so far.
func TestCheckThatIsStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	binary := filepath.Join(dir, "haproxy")
	script := "#!/bin/sh\necho '[WARNING] something'\ntouch " + said + "\nexec sleep 600\n"
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	var words string
	var err error
	go func() {
		defer close(done)
		words, err = Check(ctx, binary, render.Layout{Dir: dir})
	}()
	for {
		if _, missing := os.Stat(said); missing == nil {
			break
		}
		select {
		case <-done:
			t.Fatalf("the check ended by itself: %q, %v", words, err)
		default:
		}
	}
	cancel()
	<-done
	if words != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("the check says %q, %v", words, err)
	}
}
