package render

import (
	"path/filepath"
	"strconv"

	"github.com/fairlead/fairlead/router/plan"
)

// Journal is the file of changes that the running process has taken since its maps were
// written.
func (l Layout) Journal() string { return filepath.Join(l.Dir, "changes") }

// FormerJournal is that of those before, while maps with these are being written.
func (l Layout) FormerJournal() string { return filepath.Join(l.Dir, "changes-former") }

// JournalLua is the script that takes them at a start.
func (l Layout) JournalLua() string { return filepath.Join(l.Dir, "journal.lua") }

// AppendJournal appends a step as templates/journal.lua reads it: the length of the rest
// of the line, the map, the key, and the value unless the key goes. It leaves out steps
// that change no map, and what could not stand in a map's file.
func AppendJournal(text []byte, s plan.Step) []byte {
	var line string
	switch s := s.(type) {
	case plan.EntryAdd:
		line = journalLine(s.Entry, s.Value)
	case plan.EntrySet:
		line = journalLine(s.Entry, s.Value)
	case plan.EntryDel:
		if CheckEntry(s.Key, "-") == nil {
			line = string(s.Map) + " " + s.Key
		}
	}
	if line == "" {
		return text
	}
	text = strconv.AppendInt(text, int64(len(line)), 10)
	return append(append(append(text, ' '), line...), '\n')
}

func journalLine(e plan.Entry, value string) string {
	if CheckEntry(e.Key, value) != nil {
		return ""
	}
	return string(e.Map) + " " + e.Key + " " + value
}
