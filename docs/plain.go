package docs

import (
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// width is that of text in a terminal. Code has the width that it has.
const width = 80

var (
	remark = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
	item   = regexp.MustCompile(`^( *)([*-]|[0-9]+\.) +`)
	ruler  = regexp.MustCompile(`^\|[-:| ]+\|$`)
	marks  = regexp.MustCompile("`[^`]*`|!\\[([^\\]]*)\\]\\([^)]*\\)|\\[([^\\]]*)\\]\\(([^)]*)\\)|\\*\\*([^*]+)\\*\\*|\\\\([<>*_#|\\[\\]])")
)

// writer makes plain text of a page.
type writer struct {
	out strings.Builder
	// page is the name of the page, from which links lead.
	page string
	// text is a paragraph or an item that has not ended yet, first and next how its lines begin.
	text        []string
	first, next string
	head        []string
	// fence is how the block of code ends that is open.
	fence string
}

// plain is a page in lines of at most width characters: no marks of headings and links, tables
// as lists, because their cells are as long as paragraphs.
func plain(markdown, page string) string {
	w := &writer{page: page}
	for line := range strings.Lines(remark.ReplaceAllString(markdown, "")) {
		w.line(strings.TrimRight(line, "\n"))
	}
	w.flush()
	return strings.Trim(w.out.String(), "\n") + "\n"
}

func (w *writer) line(line string) {
	bare := strings.TrimLeft(line, " ")
	switch {
	case w.fence != "":
		if bare == w.fence {
			w.fence = ""
			return
		}
		w.out.WriteString(strings.TrimRight("    "+line, " ") + "\n")
	case strings.HasPrefix(bare, "```"):
		w.flush()
		w.fence = "```"
		if bare == line {
			w.next = "" // a list has ended
		}
	case strings.HasPrefix(line, "|"):
		w.row(line)
	case bare == "":
		w.flush()
		w.gap()
		w.head = nil
	case strings.HasPrefix(line, "#"):
		w.heading(line)
	case item.MatchString(line):
		w.flush()
		mark := item.FindString(line)
		w.first, w.next = mark, strings.Repeat(" ", len(mark))
		w.text = append(w.text, line[len(mark):])
	case strings.HasPrefix(line, "    ") && len(w.text) == 0 && w.next == "":
		w.out.WriteString(line + "\n")
	default:
		if len(w.text) == 0 && bare == line {
			w.first, w.next = "", ""
		}
		if len(w.text) == 0 {
			w.first = w.next
		}
		w.text = append(w.text, bare)
	}
}

// gap writes one empty line at most.
func (w *writer) gap() {
	if text := w.out.String(); text != "" && !strings.HasSuffix(text, "\n\n") {
		w.out.WriteByte('\n')
	}
}

// flush ends a paragraph or an item.
func (w *writer) flush() {
	if len(w.text) > 0 {
		w.wrap(inline(strings.Join(w.text, " "), w.page), w.first, w.next)
	}
	w.text = nil
}

func (w *writer) heading(line string) {
	w.flush()
	w.gap()
	w.next = ""
	title := inline(strings.TrimLeft(line, "# "), w.page)
	w.wrap(title, "", "")
	switch under := min(width, utf8.RuneCountInString(title)); {
	case strings.HasPrefix(line, "# "):
		w.out.WriteString(strings.Repeat("=", under) + "\n")
	case strings.HasPrefix(line, "## "):
		w.out.WriteString(strings.Repeat("-", under) + "\n")
	}
}

// row writes a row of a table: its first cell, and below it the others by the names of their
// columns.
func (w *writer) row(line string) {
	w.flush()
	w.next = ""
	cells := cellsOf(line)
	switch {
	case w.head == nil:
		w.head = cells
		return
	case ruler.MatchString(line):
		return
	}
	w.wrap(inline(cells[0], w.page), "* ", "  ")
	for i, cell := range cells[1:] {
		if cell == "" || i+1 >= len(w.head) {
			continue
		}
		name := w.head[i+1]
		if name != "" {
			name += ": "
		}
		w.wrap(inline(name+cell, w.page), "    ", "      ")
	}
}

// cellsOf splits a row. A bar after a backslash belongs to a cell.
func cellsOf(line string) []string {
	const bar = "\x00"
	line = strings.Trim(strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar), "|")
	cells := strings.Split(line, "|")
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cell), bar, "|")
	}
	return cells
}

// wrap writes text in lines, the first of which begins with first, the others with next.
func (w *writer) wrap(text, first, next string) {
	line, begin := "", first
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(begin+line+" "+word) > width {
			w.out.WriteString(begin + line + "\n")
			line, begin = "", next
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	w.out.WriteString(begin + line + "\n")
}

// inline is a text without the marks of links and bold words. Code stays marked.
func inline(text, page string) string {
	return marks.ReplaceAllStringFunc(text, func(mark string) string {
		m := marks.FindStringSubmatch(mark)
		switch {
		case strings.HasPrefix(mark, "`"):
			return mark
		case strings.HasPrefix(mark, "!"):
			return "[picture: " + m[1] + "]"
		case strings.HasPrefix(mark, "["):
			return m[2] + leads(m[3], page)
		case strings.HasPrefix(mark, "*"):
			return m[4]
		}
		return m[5]
	})
}

// leads is what follows the text of a link: the name of a page, or an address.
func leads(target, page string) string {
	file, _, _ := strings.Cut(target, "#")
	switch {
	case strings.Contains(target, "://"):
		return " <" + target + ">"
	case !strings.HasSuffix(file, ".md"):
		return ""
	}
	folder := path.Dir(page)
	if isFolder(page) {
		folder = page
	}
	name := path.Join("docs", folder, file)
	inside, below := strings.CutPrefix(name, "docs/")
	if !below {
		return ""
	}
	return " [" + nameOf(inside) + "]"
}

// isFolder says whether the page of a name is that of a folder.
func isFolder(page string) bool {
	file, err := files.Open(path.Join(page, "README.md"))
	if err != nil {
		return false
	}
	return file.Close() == nil
}
