package logging_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/fairlead/fairlead/cmd/internal/logging"
)

// Which of debug, info, warn and error are logged.
func TestLevel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"all": "DIWE", "debug": "DIWE", "info": "IWE", "INFO": "IWE", "warn": "WE", "error": "E", "none": "",
	} {
		var level, again logging.Level
		if err := level.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		h := logging.Options{Level: level}.Handler(io.Discard)
		got := ""
		for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			if h.Enabled(context.Background(), l) {
				got += l.String()[:1]
			}
		}
		if got != want {
			t.Errorf("%s logs %q, want %q", text, got, want)
		}
		written, err := level.MarshalText()
		if err != nil || again.UnmarshalText(written) != nil || again != level {
			t.Errorf("%s is written as %s: %v", text, written, err)
		}
	}
	var level logging.Level
	if err := level.UnmarshalText([]byte("loud")); err == nil {
		t.Error("loud is taken for a level")
	}
}
