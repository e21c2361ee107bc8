// Package logging gives all programs the same log: one format, text or JSON, one
// set of levels, and the key "err" for errors, which controller-runtime uses too.
package logging

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// Format is how a log line is written.
type Format string

// The formats.
const (
	Text Format = "text"
	JSON Format = "json"
)

// UnmarshalText reads the format, for flags.
func (f *Format) UnmarshalText(text []byte) error {
	switch read := Format(text); read {
	case Text, JSON:
		*f = read
		return nil
	}
	return fmt.Errorf("unknown format %q; use one of: text, json", text)
}

// MarshalText writes the format.
func (f Format) MarshalText() ([]byte, error) { return []byte(f), nil }

// Options say what a program logs, and how. The zero value logs at level info as
// text.
type Options struct {
	Level  Level
	Format Format
}

// Register adds the flags --log-level and --log-format.
func (o *Options) Register(fs *flag.FlagSet) { o.RegisterFor(fs, "", "") }

// RegisterFor adds the same flags with a prefix, for the log of another program.
// The help names that program by whose, such as " of the routers".
func (o *Options) RegisterFor(fs *flag.FlagSet, prefix, whose string) {
	if o.Format == "" {
		o.Format = Text
	}
	fs.TextVar(&o.Level, prefix+"log-level", o.Level, "least `level` in the log"+whose+": all, debug, info, warn, error or none")
	fs.TextVar(&o.Format, prefix+"log-format", o.Format, "`format` of the log"+whose+": text or json")
}

// Args returns the flags that give another program the same options.
func (o Options) Args() []string {
	level, _ := o.Level.MarshalText() // never fails
	return []string{"--log-level=" + string(level), "--log-format=" + string(o.Format)}
}

// ArgsUnlessDefault is Args without the options that have their default.
func (o Options) ArgsUnlessDefault() []string {
	var args []string
	for i, arg := range (Options{Format: Text}).Args() {
		if given := o.Args()[i]; given != arg {
			args = append(args, given)
		}
	}
	return args
}

// Scan reads the options from a command line before its flags are parsed, for
// what a program logs until then. Flags that cannot be read leave the default.
func Scan(args []string) Options {
	var o Options
	for i, arg := range args {
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if arg == "--" {
			break
		}
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "log-level":
			_ = o.Level.UnmarshalText([]byte(value))
		case "log-format":
			_ = o.Format.UnmarshalText([]byte(value))
		}
	}
	return o
}

// Handler writes log lines to w.
func (o Options) Handler(w io.Writer) slog.Handler {
	how := &slog.HandlerOptions{Level: o.Level}
	if o.Format == JSON {
		return slog.NewJSONHandler(w, how)
	}
	return slog.NewTextHandler(w, how)
}

// Lines returns a writer of lines that another program logged as JSON, each by
// one Write. It writes them to w in the format of the options.
func (o Options) Lines(w io.Writer) io.Writer {
	if o.Format == JSON {
		return w
	}
	return translator{slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: All,
		// The line has its own time.
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
				return slog.Attr{}
			}
			return a
		},
	})}
}

type translator struct{ to slog.Handler }

// Write implements io.Writer. What is not JSON becomes the message.
func (t translator) Write(line []byte) (int, error) {
	var fields map[string]any
	r := slog.Record{Level: slog.LevelError}
	if err := json.Unmarshal(line, &fields); err != nil {
		r.Message = string(line)
		return len(line), t.to.Handle(context.Background(), r)
	}
	level, _ := fields[slog.LevelKey].(string)
	_ = r.Level.UnmarshalText([]byte(level)) // otherwise it stays an error
	r.Message, _ = fields[slog.MessageKey].(string)
	if at, ok := fields[slog.TimeKey].(string); ok {
		r.AddAttrs(slog.String(slog.TimeKey, at))
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key != slog.LevelKey && key != slog.MessageKey && key != slog.TimeKey {
			r.AddAttrs(slog.Any(key, fields[key]))
		}
	}
	return len(line), t.to.Handle(context.Background(), r)
}
