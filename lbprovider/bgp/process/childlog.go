package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/fairlead/fairlead/api/terminal"
)

const (
	// maxLine is the longest line of a log, in bytes; the rest of a process's
	// output is dropped after a longer one.
	maxLine = 16 << 10
	// maxTrace is how many lines of a crash are logged.
	maxTrace = 40
	// logRate is how many bytes of a process's log are passed on in a second, and
	// logBurst how many at once; lines beyond that are dropped. A session at level
	// debug takes less.
	logRate  = 16 << 10
	logBurst = 256 << 10
	// readRate is how many bytes of it are looked at in a second. A process that
	// writes more waits, and not the speaker.
	readRate = 1 << 20
)

// childLog reads what a process writes to its standard error: log lines, which it
// passes on, and the words of Go's runtime when it crashes.
type childLog struct {
	out  io.Writer
	from *os.File
	done chan struct{}
	// drop counts lines that are not passed on.
	drop   func(lines int)
	passed *rate.Limiter

	mu    sync.Mutex
	why   string
	lines int
	// told says that it was logged that lines are dropped.
	told bool
}

func newChildLog(out io.Writer, from *os.File, drop func(lines int)) *childLog {
	return &childLog{out: out, from: from, done: make(chan struct{}), drop: drop, passed: rate.NewLimiter(logRate, logBurst)}
}

// crashReason is what the runtime said, if the process crashed.
func (t *childLog) crashReason() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.why
}

func (t *childLog) read() {
	defer close(t.done)
	defer t.from.Close()
	from := &rateLimitedReader{from: t.from, bytes: rate.NewLimiter(readRate, readRate)}
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 1024), maxLine)
	for lines.Scan() {
		t.line(lines.Bytes())
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		t.mu.Lock()
		t.noteDropped()
		t.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, from) // so that the process is not stopped by a full pipe
}

// line passes a line on: a log line as it is but for what a terminal would obey,
// any other as the text of one, so that nothing that a peer sent is taken for the
// speaker's own words.
func (t *childLog) line(text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if bytes.HasPrefix(text, []byte("{")) && json.Valid(text) {
		t.write(text)
		return
	}
	for _, begin := range []string{"panic: ", "fatal error: ", "runtime: "} {
		if t.why == "" && strings.HasPrefix(string(text), begin) {
			t.why = string(text)
		}
	}
	if t.lines++; t.lines > maxTrace {
		t.drop(1)
		return
	}
	line, err := json.Marshal(map[string]string{"level": "ERROR", "msg": "a BGP process writes", "text": string(text)})
	if err == nil {
		t.write(line)
	}
}

// rateLimitedReader reads no faster than it may.
type rateLimitedReader struct {
	from  io.Reader
	bytes *rate.Limiter
}

func (p *rateLimitedReader) Read(into []byte) (int, error) {
	n, err := p.from.Read(into[:min(len(into), readRate)])
	_ = p.bytes.WaitN(context.Background(), n) // which is not more than it may be
	return n, err
}

// write logs valid JSON as one printable line of the same meaning.
func (t *childLog) write(text []byte) {
	var line bytes.Buffer
	if err := json.Compact(&line, bytes.ToValidUTF8(text, []byte("?"))); err != nil {
		return // it was looked at
	}
	if !t.passed.AllowN(time.Now(), line.Len()) {
		t.noteDropped()
		return
	}
	_, _ = io.WriteString(t.out, terminal.Line(line.String())+"\n") // nothing is to be done about it
}

// noteDropped notes that a line is not passed on, which is logged once.
func (t *childLog) noteDropped() {
	t.drop(1)
	if !t.told {
		t.told = true
		_, _ = io.WriteString(t.out, `{"level":"ERROR","msg":"a BGP process logs too much: lines are dropped"}`+"\n") // see above
	}
}
