package filesource

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/changes"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/router/settings"
	"github.com/fairlead/fairlead/router/statefile"
)

// Stdin as a path is standard input, which is read once.
const Stdin = "-"

// Options say which files a Source reads.
type Options struct {
	// Paths are files, folders or Stdin.
	Paths []string
	// Given are the texts of files that are in no folder, by name.
	Given map[string][]byte
	Stdin io.Reader
	// Router is the name of the IngressController.
	Router string
	// Domain completes Routes without host, unless the IngressController does.
	Domain string
	// State keeps what the next process reads; nil keeps nothing.
	State *statefile.Store
	// Watch says how changes are noticed, Settle how long files have to be quiet before
	// they are read.
	Watch  Watch
	Settle time.Duration
	// Changed is called after each reading that found a difference; may be nil.
	Changed func(Change)
	// Notice is called with what a reader of the terminal should know; may be nil.
	Notice func(string)
}

// Change is what a reading found.
type Change struct {
	// Files are those that differ, Routes the Routes.
	Files  []string
	Routes model.Objects
	// Began is when the first of the files was seen to change, Read when the new
	// objects were handed to the router.
	Began, Read time.Time
	// Problems are those of all files, also former ones.
	Problems []explain.Problem
	Notes    []string
}

// Source keeps what the files say. It implements engine.Cluster.
type Source struct {
	o     Options
	dirty *changes.Set
	now   atomic.Pointer[version]

	// mu is held while files are read.
	mu      sync.Mutex
	files   map[string]*file
	folders []string
	ages    *ages
	// admitted is the spec of the IngressController that was not refused last.
	admitted *operatorv1.IngressControllerSpec
}

// version is what files said at one time.
type version struct {
	merged *merged
	view   *explain.View
	files  []*file
}

// ErrNothing means that no file could be found to read.
var ErrNothing = errors.New("nothing to read: -f names no file that ends in .yaml, .yml or .json")

// New reads the files for the first time.
func New(o Options) (*Source, error) {
	if o.Changed == nil {
		o.Changed = func(Change) {}
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	s := &Source{o: o, dirty: changes.New(), files: map[string]*file{}, ages: loadAges(o.State)}
	if slices.Contains(o.Paths, Stdin) {
		text, err := io.ReadAll(o.Stdin)
		if err != nil {
			return nil, err
		}
		s.o.Given = maps.Clone(o.Given)
		if s.o.Given == nil {
			s.o.Given = map[string][]byte{}
		}
		s.o.Given[Stdin] = text
	}
	for name, text := range s.o.Given {
		f := &file{path: name}
		f.parse("default", text, nil)
		s.files[name] = f
	}
	if err := s.look(time.Now(), false); err != nil {
		return nil, err
	}
	if len(s.now.Load().files) == 0 {
		return nil, ErrNothing
	}
	return s, nil
}

// look reads what has changed, all files if asked to, and hands it over.
func (s *Source) look(began time.Time, all bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	listed, err := list(s.o.Paths)
	if err != nil {
		return err
	}
	s.folders = listed.folders
	next, changed := map[string]*file{}, false
	for name := range s.o.Given {
		next[name] = s.files[name]
	}
	for _, e := range listed.files {
		old := s.files[e.path]
		if !all && old.same(e) {
			next[e.path] = old
			continue
		}
		next[e.path] = load("default", e, old, time.Now())
		changed = changed || old == nil || old.sum != next[e.path].sum
	}
	for path := range s.files {
		changed = changed || next[path] == nil
	}
	s.files = next
	if !changed && s.now.Load() != nil {
		return nil
	}
	return s.use(began)
}

// use makes what the files say now the version that counts. The caller holds mu.
func (s *Source) use(began time.Time) error {
	var files []*file
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		files = append(files, s.files[path])
	}
	before := s.now.Load()
	next := &version{merged: merge(files, s.ages, time.Now()), files: files}
	if s.admitted != nil {
		next.merged.objects.Admitted[s.o.Router] = s.admitted
	}
	var former *explain.View
	if before != nil {
		former = before.view
	}
	view, err := explain.NewView(next.merged.objects, explain.Options{Router: s.o.Router, Domain: s.o.Domain, Now: time.Now()}, former)
	if err != nil {
		return err
	}
	next.view = view
	if ic := view.IngressController(); ic != nil && len(settings.Refusal(ic)) == 0 {
		s.admitted = &ic.Spec
	}
	s.now.Store(next)
	change := Change{Began: began, Problems: next.merged.problems, Notes: view.Notes()}
	for _, f := range view.Findings() {
		change.Problems = append(change.Problems, explain.Problem{Finding: f, File: next.merged.objects.Files[f.Object]})
	}
	if before == nil {
		s.dirty.MarkAll()
	} else {
		change.Files, change.Routes = s.mark(next, before)
	}
	change.Read = time.Now()
	s.o.Changed(change)
	return nil
}

// mark tells the engine what differs.
func (s *Source) mark(next, before *version) ([]string, model.Objects) {
	namespaces := map[string]bool{}
	all, files := next.merged.differences(before.merged, func(key model.Object) {
		if key.Kind == kindNamespace {
			namespaces[key.Name] = true
			return
		}
		s.dirty.Mark(key)
	})
	for _, key := range next.view.Source().All() {
		if namespaces[key.Namespace] { // policies may select by its labels
			s.dirty.Mark(key)
		}
	}
	routes := next.view.Changed(before.view)
	for key := range routes {
		s.dirty.Mark(key)
	}
	if all || next.view.Domain() != before.view.Domain() {
		s.dirty.MarkAll()
	}
	return slices.Sorted(maps.Keys(files)), routes
}

// Reload reads all files again.
func (s *Source) Reload() error { return s.look(time.Now(), true) }

// IngressController is the router's own, or nil.
func (s *Source) IngressController() *operatorv1.IngressController {
	return s.now.Load().view.IngressController()
}

// Objects returns what the files say now.
func (s *Source) Objects() *explain.Objects { return s.now.Load().merged.objects }

// Findings are those of the files, and about Ingresses and the IngressController.
func (s *Source) Findings() []api.Finding { return s.now.Load().view.Findings() }

// Config returns a text of a ConfigMap that the IngressController names, or "".
func (s *Source) Config(name, key string) string {
	found := s.Objects().ConfigMaps[model.Object{Kind: door.KindConfigMap, Namespace: ConfigNamespace, Name: name}]
	if name == "" || found == nil {
		return ""
	}
	return found.Data[key]
}

// Count returns how many files and objects there are, by kind, and words for the kinds
// that play no part.
func (s *Source) Count() (files int, kinds map[string]int, others string) {
	v := s.now.Load()
	kinds = map[string]int{}
	for ref := range v.merged.raw() {
		kinds[ref.Kind]++
	}
	return len(v.files), kinds, otherKinds(v.files)
}

// Place says in which file an object is, as "file:line", or returns "".
func (s *Source) Place(ref api.ObjectRef) string { return s.Objects().Files[ref] }

// Wake implements engine.Cluster.
func (s *Source) Wake() <-chan struct{} { return s.dirty.Wake() }

// Take implements engine.Cluster.
func (s *Source) Take() door.Changes { return s.dirty.Take() }

// Need implements engine.Cluster.
func (s *Source) Need(model.Objects) {}

// WaitForNeeded implements engine.Cluster.
func (s *Source) WaitForNeeded(context.Context) bool { return true }

func (s *Source) source() door.Source { return s.now.Load().view.Source() }

// All implements door.Source.
func (s *Source) All() []model.Object { return s.source().All() }

// Object implements door.Source.
func (s *Source) Object(key model.Object) door.Version { return s.source().Object(key) }

// Service implements door.Source.
func (s *Source) Service(key model.Object) *backend.Service { return s.source().Service(key) }

// Slices implements door.Source.
func (s *Source) Slices(service model.Object) []*backend.Slice { return s.source().Slices(service) }

// Secret implements door.Source.
func (s *Source) Secret(key model.Object) (*corev1.Secret, error) { return s.source().Secret(key) }

// ConfigMap implements door.Source.
func (s *Source) ConfigMap(key model.Object) (*policy.ConfigMap, error) {
	return s.source().ConfigMap(key)
}

// Policies implements door.Source.
func (s *Source) Policies(namespace string) *policy.Set { return s.source().Policies(namespace) }

// Grants implements door.Grants.
func (s *Source) Grants(namespace string) []*gatewayv1.ReferenceGrant {
	return door.GrantsFrom(s.source())(namespace)
}

// Namespace implements door.Source.
func (s *Source) Namespace(name string) *policy.Namespace { return s.source().Namespace(name) }

// AllPolicies implements door.Source.
func (s *Source) AllPolicies() []model.Object { return s.source().AllPolicies() }
