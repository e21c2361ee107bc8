package walk

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Walk is a reader with a page and a terminal.
type Walk struct {
	Page  *Page
	Shell *Shell
	// Dir is the reader's folder, where the shell is.
	Dir string
	// Words are what is in the holes of the page, as far as it is known.
	Words map[string]string
	// Changes are the differences between the page's example and the reader's world.
	Changes []Change
	// Log takes a line for each command.
	Log func(format string, args ...any)
	// Commands is how many were typed.
	Commands int
}

// Change is what a reader must change in a page's text, and why.
type Change struct{ From, To, Why string }

// Below does all that the page says below a heading.
func (w *Walk) Below(ctx context.Context, heading string) error {
	blocks := w.Page.Below(heading)
	if len(blocks) == 0 {
		return fmt.Errorf("%s has no blocks below %q", w.Page.Path, heading)
	}
	for i := range blocks {
		if err := w.block(ctx, &blocks[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *Walk) block(ctx context.Context, b *Block) error {
	if name := b.File(); name != "" {
		text := w.changed(strings.Join(b.Lines, "\n") + "\n")
		if err := os.WriteFile(filepath.Join(w.Dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("%s:%d: save the file: %w", w.Page.Path, b.Line, err)
		}
		return nil
	}
	for _, s := range b.Steps() {
		if _, err := w.Step(ctx, s); err != nil {
			return fmt.Errorf("%s:%d: %w", w.Page.Path, s.Line, err)
		}
	}
	return nil
}

// Step types one command and compares what it prints. A command whose output the page does not show must succeed.
func (w *Walk) Step(ctx context.Context, s Step) (printed string, err error) {
	command, err := Fill(w.changed(s.Command), w.Words)
	if err != nil {
		return "", err
	}
	began := time.Now()
	w.Commands++
	printed, exit, err := w.Shell.Run(ctx, command)
	if err != nil {
		return printed, err
	}
	w.Log("%5.1f s  exit %d  %s", time.Since(began).Seconds(), exit, command)
	if s.Shown {
		if err := Compare(s.Output, printed, w.Words); err != nil {
			return printed, fmt.Errorf("%s: %w", command, err)
		}
		return printed, nil
	}
	if exit != 0 {
		return printed, fmt.Errorf("%s: exit %d: %s", command, exit, printed)
	}
	return printed, nil
}

func (w *Walk) changed(text string) string {
	for _, c := range w.Changes {
		text = strings.ReplaceAll(text, c.From, c.To)
	}
	return text
}
