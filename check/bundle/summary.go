package bundle

import (
	"fmt"
	"io"
	"strings"

	"github.com/fairlead/fairlead/api/terminal"
)

// Schema names the form of a Summary.
const Schema = "fairlead.dev/collect/v1"

// Summary says what an archive has, and what it has not. It is the last file of it.
type Summary struct {
	Schema string `json:"schema"`
	// File is the archive; it is empty within the archive.
	File string `json:"file,omitempty"`
	// Version is that of the program, Kubernetes that of the cluster.
	Version    string `json:"version"`
	Kubernetes string `json:"kubernetes"`
	Time       string `json:"time"`
	Anonymised bool   `json:"anonymised"`
	Files      int    `json:"files"`
	// Unread is what could not be read, with the reason.
	Unread []string `json:"unread"`
	// LeftOut are files for which there was no room.
	LeftOut []string `json:"leftOut"`
}

// Complete reports whether the archive has all that it should have.
func (s *Summary) Complete() bool { return len(s.Unread)+len(s.LeftOut) == 0 }

// Text writes the name of the archive. Each line is safe for a terminal.
func (s *Summary) Text(w io.Writer) error {
	_, err := fmt.Fprintln(w, terminal.Line(s.File))
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// Missing are the lines about what the archive has not.
func (s *Summary) Missing() string {
	var b strings.Builder
	for _, what := range s.Unread {
		b.WriteString("not read: " + terminal.Line(what) + "\n")
	}
	for _, what := range s.LeftOut {
		b.WriteString("no room: " + terminal.Line(what) + "\n")
	}
	return b.String()
}
