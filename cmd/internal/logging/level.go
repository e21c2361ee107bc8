package logging

import (
	"fmt"
	"log/slog"
	"math"
)

// Level is a slog.Level that is also read from "all" and "none", as MetalLB's flag
// --log-level is.
type Level slog.Level

// The levels that package slog lacks.
const (
	All  Level = math.MinInt32
	None Level = math.MaxInt32
)

// Level implements slog.Leveler.
func (l Level) Level() slog.Level { return slog.Level(l) }

// UnmarshalText reads the level, for flags.
func (l *Level) UnmarshalText(text []byte) error {
	switch string(text) {
	case "all":
		*l = All
	case "none":
		*l = None
	default:
		var level slog.Level
		if err := level.UnmarshalText(text); err != nil {
			return fmt.Errorf("unknown level %q; use one of: all, debug, info, warn, error, none", text)
		}
		*l = Level(level)
	}
	return nil
}

// MarshalText writes the level.
func (l Level) MarshalText() ([]byte, error) {
	switch l {
	case All:
		return []byte("all"), nil
	case None:
		return []byte("none"), nil
	default:
		return []byte(slog.Level(l).String()), nil
	}
}
