package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// quiet is how long nothing may be printed while a step runs.
const quiet = 4 * time.Second

// progress prints what is under way: on a terminal a line that is drawn again, elsewhere
// a line every few seconds.
type progress struct {
	out   io.Writer
	began time.Time
	tty   bool

	mu sync.Mutex
	// running are the steps under way, in the order of their start.
	running []*step
	drawn   bool
}

// step is one thing that takes time.
type step struct {
	progress *progress
	name     string
	began    time.Time
	state    string
}

func newProgress(out *os.File, began time.Time) *progress {
	info, err := out.Stat()
	tty := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	return &progress{out: out, began: began, tty: tty}
}

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(fmt.Sprintf(format, args...))
}

// line prints one that stays. The caller holds mu.
func (p *progress) line(text string) {
	if p.drawn {
		fmt.Fprint(p.out, "\r\033[K")
		p.drawn = false
	}
	fmt.Fprintf(p.out, "[%5.1fs] %s\n", time.Since(p.began).Seconds(), text)
}

// start begins a step.
func (p *progress) start(name string) *step {
	s := &step{progress: p, name: name, began: time.Now()}
	p.mu.Lock()
	p.running = append(p.running, s)
	p.line(name)
	p.mu.Unlock()
	return s
}

// set says how far a step is.
func (s *step) set(format string, args ...any) {
	s.progress.mu.Lock()
	s.state = fmt.Sprintf(format, args...)
	s.progress.mu.Unlock()
}

// end ends a step.
func (s *step) end(err error) {
	p := s.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.running {
		if r == s {
			p.running = append(p.running[:i:i], p.running[i+1:]...)
		}
	}
	if err == nil {
		p.line(fmt.Sprintf("%s: done in %.1fs", s.name, time.Since(s.began).Seconds()))
	}
}

// run draws until the function that it returns is called.
func (p *progress) run() (stop func()) {
	done, ended, pause := make(chan struct{}), make(chan struct{}), quiet
	if p.tty {
		pause = time.Second / 4
	}
	go func() {
		defer close(ended)
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				p.draw()
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var words []string
	for _, s := range p.running {
		state := s.state
		if state == "" {
			state = fmt.Sprintf("%.0fs", time.Since(s.began).Seconds())
		}
		words = append(words, s.name+": "+state)
	}
	if len(words) == 0 {
		return
	}
	if !p.tty {
		for _, w := range words {
			p.line("  … " + w)
		}
		return
	}
	text := strings.Join(words, "  ·  ")
	const most = 100 // characters that fit on most terminals
	if r := []rune(text); len(r) > most {
		text = string(r[:most-1]) + "…"
	}
	fmt.Fprintf(p.out, "\r\033[K[%5.1fs] %s", time.Since(p.began).Seconds(), text)
	p.drawn = true
}
