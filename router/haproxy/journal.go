package haproxy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// maxJournal bounds the changes that a HAProxy may have to take at its start. It is more
// than all maps of 100,000 routes.
const maxJournal = 64 << 20

// journal holds the changes of maps that the running process has taken since the files
// were written. A process that starts takes them after the maps (templates/journal.lua),
// so that a door which was closed a moment before a crash is not open after it.
type journal struct {
	layout render.Layout
	file   *os.File
	size   int
	// failed is why the newest changes are missing. Then the ones after them are left
	// out, too: what is there is the state of one moment.
	failed error
}

// Record notes steps that the running process has taken. An error says why a process that
// starts would begin with the state of before.
func (f *Files) Record(steps []plan.Step) error {
	j := &f.journal
	if j.failed != nil {
		return j.failed
	}
	var text []byte
	for _, s := range steps {
		text = render.AppendJournal(text, s)
	}
	if len(text) == 0 {
		return nil
	}
	if j.size += len(text); j.size > maxJournal {
		j.failed = fmt.Errorf("record changes: they take more than %d bytes", maxJournal)
		return j.failed
	}
	j.failed = j.write(text)
	return j.failed
}

func (j *journal) write(text []byte) error {
	if j.file == nil {
		var err error
		if j.file, err = os.OpenFile(j.layout.Journal(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			return fmt.Errorf("record changes: %w", err)
		}
		text = append([]byte{'\n'}, text...) // ends what another process left half written
	}
	if _, err := j.file.Write(text); err != nil {
		return fmt.Errorf("record changes: %w", err)
	}
	return nil
}

// Turn ends a part of the record: the state that the next Write gets has it all.
func (f *Files) Turn() error {
	j := &f.journal
	if j.file != nil {
		_ = j.file.Close() // nothing is buffered
		j.file = nil
	}
	j.size, j.failed = 0, nil
	if _, err := os.Stat(j.layout.FormerJournal()); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(j.layout.Journal(), j.layout.FormerJournal()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("record changes: %w", err)
		}
		return nil
	}
	return j.join()
}

// join adds the newest part to one that no Write has made needless yet.
func (j *journal) join() (err error) {
	part, err := os.Open(j.layout.Journal())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("record changes: %w", err)
	}
	defer func() { _ = part.Close() }()
	former, err := os.OpenFile(j.layout.FormerJournal(), os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("record changes: %w", err)
	}
	_, err = io.Copy(former, part)
	if err = errors.Join(err, former.Close()); err == nil {
		err = os.Remove(part.Name())
	}
	if err != nil {
		return fmt.Errorf("record changes: %w", err)
	}
	return nil
}

// written removes the part that the files have by now.
func (j *journal) written() error {
	if err := os.Remove(j.layout.FormerJournal()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove recorded changes: %w", err)
	}
	return nil
}
