// Package walk reads pages of the documentation as a stranger does, who has nothing else: it follows links from README.md, saves the files
// that a page shows, types its commands in their order, and compares what they print with what the page shows.
//
// In a page, a yaml block whose first line is "# NAME.yaml" is the file of that name. The lines of an sh block are commands. In a console
// block, lines that begin with "$ " are commands, and the lines below each are what it prints: "…" stands for any text, alone in a line
// for any lines, and <name> for one word, which the reader fills in wherever the page has <name> from there on.
package walk

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Page is a page of the documentation.
type Page struct {
	// Path is from the root of the repository.
	Path   string
	Blocks []Block
	Text   string
}

// Block is one fenced block.
type Block struct {
	// Heading is that of the section of the second level.
	Heading string
	// Kind is what follows the fence: sh, console, yaml.
	Kind string
	// Line is that of the fence.
	Line  int
	Lines []string
}

// Step is a command of a page.
type Step struct {
	Command string
	Line    int
	// Shown says that the page shows what the command prints, which is Output.
	Shown  bool
	Output []string
}

// Read reads a page.
func Read(root, path string) (*Page, error) {
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	return parse(path, string(text))
}

func parse(path, text string) (*Page, error) {
	p := &Page{Path: path, Text: text}
	heading, open := "", (*Block)(nil)
	for i, line := range strings.Split(text, "\n") {
		kind, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open != nil:
			p.Blocks, open = append(p.Blocks, *open), nil
		case fence:
			open = &Block{Heading: heading, Kind: kind, Line: i + 1}
		case open != nil:
			open.Lines = append(open.Lines, line)
		case strings.HasPrefix(line, "## "):
			heading = strings.TrimPrefix(line, "## ")
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s:%d: the block has no end", path, open.Line)
	}
	return p, nil
}

// Below returns the blocks below a heading of the second level.
func (p *Page) Below(heading string) (found []Block) {
	for _, b := range p.Blocks {
		if b.Heading == heading {
			found = append(found, b)
		}
	}
	return found
}

// File returns the name of the file that the block is, or "" if it is none.
func (b *Block) File() string {
	if b.Kind != "yaml" || len(b.Lines) == 0 {
		return ""
	}
	name, comment := strings.CutPrefix(b.Lines[0], "# ")
	if !comment || !strings.HasSuffix(name, ".yaml") || strings.ContainsAny(name, " /") {
		return ""
	}
	return name
}

// Steps returns the commands of a block; a line that ends in \ goes on in the next one.
func (b *Block) Steps() (steps []Step) {
	for i := 0; i < len(b.Lines); i++ {
		line, prompt := strings.CutPrefix(b.Lines[i], "$ ")
		switch {
		case b.Kind == "sh" && (line == "" || strings.HasPrefix(line, "#")):
			continue
		case b.Kind == "sh", b.Kind == "console" && prompt:
			s := Step{Command: line, Line: b.Line + 1 + i}
			for strings.HasSuffix(s.Command, `\`) && i+1 < len(b.Lines) {
				i++
				s.Command = strings.TrimSuffix(s.Command, `\`) + strings.TrimSpace(b.Lines[i])
			}
			steps = append(steps, s)
		case b.Kind == "console" && len(steps) > 0:
			last := &steps[len(steps)-1]
			last.Shown, last.Output = true, append(last.Output, b.Lines[i])
		}
	}
	return steps
}

var (
	fenced = regexp.MustCompile("(?ms)^```.*?^```$")
	link   = regexp.MustCompile(`\]\(([^)\s#]+\.md)(?:#[^)\s]*)?\)`)
)

// Links returns the pages that a page leads to.
func (p *Page) Links() (to []string) {
	for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(p.Text, ""), -1) {
		if !strings.Contains(m[1], "://") {
			to = append(to, filepath.Join(filepath.Dir(p.Path), m[1]))
		}
	}
	return to
}

// Distance returns how many links lead from one page to another: at most as many as most, or an error.
func Distance(root, from, to string, most int) (int, error) {
	here, seen := []string{from}, map[string]bool{from: true}
	for far := 0; far <= most; far++ {
		var next []string
		for _, path := range here {
			if path == to {
				return far, nil
			}
			p, err := Read(root, path)
			if err != nil {
				return 0, err
			}
			for _, l := range p.Links() {
				if !seen[l] {
					seen[l] = true
					next = append(next, l)
				}
			}
		}
		here = next
	}
	return 0, fmt.Errorf("from %s, more than %d links lead to %s", from, most, to)
}
