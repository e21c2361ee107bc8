package main

import (
	"encoding/json"
	"fmt"
)

// entry is what the search finds, as a row of numbers and words, to be short.
type entry struct {
	// page is the number of the page.
	page                  int
	id, text, about, kind string
}

// MarshalJSON implements json.Marshaler.
func (e entry) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{e.page, e.id, e.text, e.kind, e.about}) //nolint:wrapcheck // of plain values
}

// Kinds of entries.
const (
	kindPage    = "p"
	kindHeading = "h"
	kindTerm    = "t"
	// kindMention is a flag in an example, not where it is explained.
	kindMention = "m"
)

// entries lists what the search finds.
func entries(pages []*page) []entry {
	var all []entry
	for i, p := range pages {
		all = append(all, entry{i, "", p.title, "", kindPage})
		for _, h := range p.headings {
			if h.Text != p.title {
				all = append(all, entry{i, h.ID, h.Text, "", kindHeading})
			}
		}
		for _, t := range p.terms {
			all = append(all, entry{i, t.id, t.text, t.about, t.kind})
		}
	}
	return all
}

// indexScript is the file that the search reads. It is a script and no JSON, because a page that
// comes from a file may not fetch another.
func indexScript(pages []*page, all []entry) ([]byte, error) {
	names := make([][2]string, len(pages))
	for i, p := range pages {
		names[i] = [2]string{p.url, p.title}
	}
	text, err := json.Marshal(map[string]any{"pages": names, "entries": all, "words": words(pages)})
	if err != nil {
		return nil, fmt.Errorf("write the index: %w", err)
	}
	return append(append([]byte("window.fairleadIndex = "), text...), ";\n"...), nil
}
