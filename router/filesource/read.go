package filesource

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/manifest"
)

// file is what was read of one path.
type file struct {
	path  string
	stamp stamp
	// read is when.
	read time.Time
	sum  [sha256.Size]byte
	// manifests are those that count, former versions of broken ones included.
	manifests []held
	// kept is how many of them are former versions.
	kept     int
	problems []explain.Problem
	// others counts manifests of kinds that play no part.
	others map[string]int
}

// held is what is kept of a manifest: not its text, which is as large as the object.
type held struct {
	object metav1.Object
	// at is where it stands, as "file:line".
	at  string
	sum [sha256.Size]byte
}

// settled is the age from which on a file's time says that it has not changed: within
// the same tick of a file system's clock it may.
const settled = 2 * time.Second

// same reports whether the file need not be read again.
func (f *file) same(e entry) bool {
	return f != nil && f.stamp == e.stamp && f.read.Sub(f.stamp.changed) > settled
}

// maxBytes bounds a file: the API server takes no object above 3 MiB.
const maxBytes = 256 << 20

// load reads a file. The former one, which may be nil, is returned if the text is the same.
func load(namespace string, e entry, former *file, now time.Time) *file {
	data, err := readText(e)
	sum := sha256.Sum256(data)
	if err == nil && former != nil && former.sum == sum {
		again := *former
		again.stamp, again.read = e.stamp, now
		return &again
	}
	f := &file{path: e.path, stamp: e.stamp, read: now, sum: sum}
	if err != nil {
		f.problem(e.path, api.Finding{Reason: api.ReasonUndecodable, Severity: api.SeverityError, Message: err.Error()})
		f.keep(former, func(api.ObjectRef) bool { return true })
		f.sayKept()
		return f
	}
	f.parse(namespace, data, former)
	return f
}

func readText(e entry) ([]byte, error) {
	if e.stamp.size > maxBytes {
		return nil, fmt.Errorf("the file has more than %d MiB", maxBytes>>20)
	}
	return os.ReadFile(e.path)
}

func (f *file) problem(at string, finding api.Finding) {
	f.problems = append(f.problems, explain.Problem{Finding: finding, File: at})
}

// parse takes the manifests of the text. A manifest with a fault is left out, and its
// former version stays; if it is not known which one that is, so do those of all
// objects that the text no longer shows.
func (f *file) parse(namespace string, data []byte, former *file) {
	shown, faulty, unknown := map[api.ObjectRef]bool{}, map[api.ObjectRef]bool{}, false
	old := former.byRef()
	for _, m := range manifest.Parse(namespace, f.path, data) {
		if explain.OfGatewayAPI(m.Ref.Kind) && m.Ref.Kind != string(door.KindGrants) { // there is no operator here that would give listeners ports
			m = manifest.Manifest{Other: m.Ref.Kind}
		}
		bad := m.Object == nil
		for _, finding := range m.Findings {
			bad = bad || finding.Severity == api.SeverityError
			f.problem(position(m.At, finding.Message, data), plain(finding))
		}
		switch {
		case m.Other != "":
			if f.others == nil {
				f.others = map[string]int{}
			}
			f.others[m.Other]++
		case !bad:
			shown[short(m.Ref)] = true
			f.manifests = append(f.manifests, reuse(&m, old[m.Ref]))
		case m.Ref.Name == "":
			unknown = true
		default:
			ref := m.Ref
			if ref.Namespace == "" {
				ref.Namespace = namespace
			}
			faulty[short(ref)], faulty[short(m.Ref)] = true, true
		}
	}
	f.keep(former, func(ref api.ObjectRef) bool { return !shown[short(ref)] && (unknown || faulty[short(ref)]) })
	f.sayKept()
}

// short is a reference without the group, which a manifest with a fault does not have.
func short(ref api.ObjectRef) api.ObjectRef {
	ref.Group = ""
	return ref
}

// byRef finds the manifests of a file, which may be nil.
func (f *file) byRef() map[api.ObjectRef]held {
	if f == nil {
		return nil
	}
	found := make(map[api.ObjectRef]held, len(f.manifests))
	for _, h := range f.manifests {
		found[explain.Ref(h.object)] = h
	}
	return found
}

// reuse returns what to keep of a manifest: with the object of the former one if the text is the
// same, so that an object that has not changed keeps its pointer; else with its identity.
func reuse(m *manifest.Manifest, former held) held {
	now := held{object: m.Object, at: m.At, sum: sha256.Sum256(m.Text)}
	if former.object != nil && former.sum == now.sum {
		now.object = former.object
		return now
	}
	identity := sha256.Sum256([]byte(m.Ref.String()))
	now.object.SetUID(types.UID("file-" + hex.EncodeToString(identity[:8])))
	now.object.SetResourceVersion(hex.EncodeToString(now.sum[:8]))
	return now
}

func (f *file) keep(former *file, which func(api.ObjectRef) bool) {
	if former == nil {
		return
	}
	for _, h := range former.manifests {
		if which(explain.Ref(h.object)) {
			f.manifests = append(f.manifests, h)
			f.kept++
		}
	}
}

// sayKept completes the findings with what holds now.
func (f *file) sayKept() {
	effect := "it is left out"
	switch {
	case f.kept == 1:
		effect = "1 object keeps its last good version"
	case f.kept > 1:
		effect = fmt.Sprintf("%d objects keep their last good version", f.kept)
	}
	for i := range f.problems {
		if f.problems[i].Severity == api.SeverityError {
			f.problems[i].Effect = effect
		}
	}
}

// yamlFault is how the YAML parser says where it ended.
var yamlFault = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:unmarshal errors:\s*)?line (\d+): `)

// position is where a fault is, as "file:line:column" for one of the YAML parser, which
// names only the line; the column is that of the line's text.
func position(at, message string, data []byte) string {
	m := yamlFault.FindStringSubmatch(message)
	if m == nil {
		return at
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		return at
	}
	path := at[:strings.LastIndexByte(at, ':')]
	lines := bytes.Split(data, []byte("\n"))
	line = min(max(line, 1), len(lines))
	text := lines[line-1]
	column := 1 + len(text) - len(bytes.TrimLeft(text, " \t"))
	return fmt.Sprintf("%s:%d:%d", path, line, column)
}

// plain drops from a message what its position says.
func plain(f api.Finding) api.Finding {
	f.Message = yamlFault.ReplaceAllString(f.Message, "")
	f.Message = strings.TrimPrefix(f.Message, "error converting YAML to JSON: yaml: ")
	return f
}

// otherKinds counts manifests of kinds that play no part, by kind.
func otherKinds(files []*file) (text string) {
	count := map[string]int{}
	for _, f := range files {
		for kind, n := range f.others {
			count[kind] += n
		}
	}
	var words []string
	for kind, n := range count {
		words = append(words, fmt.Sprintf("%d %s", n, kind))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}
