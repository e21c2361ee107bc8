package logging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/cmd/internal/logging"
)

func parse(args ...string) (logging.Options, error) {
	var o logging.Options
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.Register(fs)
	return o, fs.Parse(args)
}

// TestFlags: the default is text at level info, and an unknown value is an error
// that names the flag and the values.
func TestFlags(t *testing.T) {
	t.Parallel()
	o, err := parse()
	if err != nil || o != (logging.Options{Level: logging.Level(slog.LevelInfo), Format: logging.Text}) {
		t.Errorf("%+v, %v", o, err)
	}
	for flag, want := range map[string]string{"--log-format=xml": "text, json", "--log-level=loud": "all, debug"} {
		name, _, _ := strings.Cut(flag, "=")
		if _, err := parse(flag); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name[1:]) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// TestScan: what a program logs before its flags are parsed is as they say.
func TestScan(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--log-format=json", "--log-level=debug"},
		{"haproxy", "-log-format", "json", "--other", "x", "-log-level", "debug"},
		{"--log-level=debug", "--log-format=json", "--log-format=xml"},
		{"--log-level=debug", "--log-format=json", "--", "--log-format=text"},
	} {
		o := logging.Scan(args)
		if o.Format != logging.JSON || o.Level != logging.Level(slog.LevelDebug) {
			t.Errorf("%q: %+v", args, o)
		}
		if again := logging.Scan(o.Args()); again != o {
			t.Errorf("%q: %+v", o.Args(), again)
		}
	}
}

// TestArgsUnlessDefault: a default is not written down, so that it may change.
func TestArgsUnlessDefault(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--log-level=DEBUG"}, {"--log-format=json"}, {"--log-level=none", "--log-format=json"}} {
		o, err := parse(args...)
		if got := o.ArgsUnlessDefault(); err != nil || !slices.Equal(got, args) {
			t.Errorf("%q: %q, %v", args, got, err)
		}
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for format, want := range map[logging.Format]string{logging.Text: `level=INFO msg="a b" err=broken`, logging.JSON: `"level":"INFO","msg":"a b","err":"broken"}`} {
		var out bytes.Buffer
		log := slog.New(logging.Options{Format: format}.Handler(&out))
		log.Debug("not shown")
		log.Info("a b", "err", errors.New("broken"))
		if got := out.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q", format, got)
		}
	}
}

// TestLines: JSON of another program becomes one line of the same meaning, and
// nothing in it can begin another line.
func TestLines(t *testing.T) {
	t.Parallel()
	const line = `{"time":"2026-01-02T03:04:05Z","level":"WARN","msg":"peer\nlevel=INFO","z":1,"a":{"b":"c"}}` + "\n"
	var out bytes.Buffer
	_, _ = io.WriteString(logging.Options{Format: logging.Text}.Lines(&out), line)
	if got, want := out.String(), `level=WARN msg="peer\nlevel=INFO" time=2026-01-02T03:04:05Z a=map[b:c] z=1`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	_, _ = io.WriteString(logging.Options{Format: logging.Text}.Lines(&out), "a\nb\x1b\n")
	if got, want := out.String(), `level=ERROR msg="a\nb\x1b\n"`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	_, _ = io.WriteString(logging.Options{Format: logging.JSON}.Lines(&out), line)
	if !slices.Equal(out.Bytes(), []byte(line)) || !json.Valid(out.Bytes()) {
		t.Errorf("JSON became %q", out.String())
	}
}
