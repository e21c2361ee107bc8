package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/fairlead/fairlead/api/terminal"
)

const (
	// maxLine is the longest line of a log, in bytes; the rest of a process's
	// output is dropped after a longer one.
	maxLine = 16 << 10
	// maxTrace is how many lines of a crash are logged.
	maxTrace = 40
)

// trace reads what a process writes to its standard error: log lines, which it
// passes on, and the words of Go's runtime when it crashes.
type trace struct {
	out  io.Writer
	done chan struct{}

	mu    sync.Mutex
	why   string
	lines int
}

func newTrace(out io.Writer) *trace { return &trace{out: out, done: make(chan struct{})} }

// reason is what the runtime said, if the process crashed.
func (t *trace) reason() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.why
}

func (t *trace) read(from *os.File) {
	defer close(t.done)
	defer from.Close()
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 1024), maxLine)
	for lines.Scan() {
		t.line(lines.Bytes())
	}
	_, _ = io.Copy(io.Discard, from) // so that the process is not stopped by a full pipe
}

// line passes a line on: a log line as it is but for what a terminal would obey,
// any other as the text of one, so that nothing that a peer sent is taken for the
// speaker's own words.
func (t *trace) line(text []byte) {
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
		return
	}
	line, err := json.Marshal(map[string]string{"level": "ERROR", "msg": "a BGP process writes", "text": string(text)})
	if err == nil {
		t.write(line)
	}
}

// write logs valid JSON as one printable line of the same meaning.
func (t *trace) write(text []byte) {
	var line bytes.Buffer
	if err := json.Compact(&line, bytes.ToValidUTF8(text, []byte("?"))); err != nil {
		return // it was looked at
	}
	_, _ = io.WriteString(t.out, terminal.Line(line.String())+"\n") // nothing is to be done about it
}
