package explain

import ("io"; "errors")

type Why struct { Served bool }
func (y *Why) Text(io.Writer) error { return nil }
func (w *World) Why(kind, ns, name string) (*Why, error) { return nil, errors.New("not yet") }
type Lint struct { Errors int }
func (y *Lint) Text(io.Writer) error { return nil }
func (w *World) Lint(ns string) *Lint { return nil }
type Rendered struct { Served bool }
func (y *Rendered) Text(io.Writer) error { return nil }
func (w *World) Render(version string) (*Rendered, error) { return nil, errors.New("not yet") }
