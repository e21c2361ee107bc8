package haproxy

import (
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// listsInLine is how many lists of certificates one line asks for.
const listsInLine = 32

// listedLine is a line of a port's list of certificates.
type listedLine struct {
	slot int
	// file is the certificate, number the line where it stands, and terms all that
	// follows.
	file, number, terms string
}

// slotLines reads the lists of all ports for Gateways, less the line that begins each.
func (r *Runtime) slotLines(each func(listedLine)) error {
	var lists []string
	err := r.stream("show ssl crt-list", func(l string) {
		if _, ours := r.layout.SlotOf(strings.TrimSpace(l)); ours {
			lists = append(lists, strings.TrimSpace(l))
		}
	})
	for err == nil && len(lists) > 0 {
		n := min(listsInLine, len(lists))
		slot := 0
		err = r.stream("show ssl crt-list -n "+strings.Join(lists[:n], ";show ssl crt-list -n "), func(l string) {
			l = strings.TrimSpace(l)
			if list, begins := strings.CutPrefix(l, "# "); begins {
				slot, _ = r.layout.SlotOf(list)
				return
			}
			if line, ok := parseSlotLine(l); ok && line.file != r.layout.SlotDefault() {
				line.slot = slot
				each(line)
			}
		})
		lists = lists[n:]
	}
	return err
}

// parseSlotLine reads "FILE:NUMBER [options] NAMES".
func parseSlotLine(l string) (line listedLine, ok bool) {
	line.file, line.terms, ok = strings.Cut(strings.ReplaceAll(l, "\x00", ""), " ") // 3.4.7 writes the end of alpn's text, too
	if !ok || strings.HasPrefix(l, "#") {
		return line, false
	}
	if i := strings.LastIndexByte(line.file, ':'); i > strings.LastIndexByte(line.file, '.') {
		line.file, line.number = line.file[:i], line.file[i:]
	}
	return line, true
}

// readSlotLines reads the lists of certificates of the ports for Gateways.
func (r *Runtime) readSlotLines(st *plan.State) error {
	return r.slotLines(func(l listedLine) {
		id, ours := r.layout.CertID(l.file)
		line := plan.SlotLine{Slot: l.slot, CertID: id}
		if _, twice := st.SlotLines[line]; !ours || twice {
			line.CertID = render.Unmanaged(l.file + l.number)
		}
		st.SlotLines[line] = render.ReadSlotTerms(r.layout, l.terms)
	})
}

// addSlotLine adds a line of a port's list to a digest.
func (d *digest) addSlotLine(slot int, file, terms string) {
	add(d, "slot line", strconv.Itoa(slot), file, terms)
}
