package filesource

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Bounds of what is looked at below a folder, so that a link to / ends somewhere.
const (
	maxDepth = 16
	maxFiles = 200_000
)

// stamp says which state of a file was read.
type stamp struct {
	size    int64
	changed time.Time
	inode   uint64
}

// entry is a file to read.
type entry struct {
	path  string
	stamp stamp
}

// listing is what the paths of the command line lead to.
type listing struct {
	files []entry
	// folders are those to watch: the ones that were listed, and those of single files.
	folders []string
	seen    map[[2]uint64]bool
}

// list follows the paths, folders with all below them. Names that begin with a dot are
// left out: the versions behind a mounted ConfigMap have such names.
func list(paths []string) (*listing, error) {
	l := &listing{seen: map[[2]uint64]bool{}}
	for _, path := range paths {
		if path == Stdin {
			continue
		}
		path = filepath.Clean(path)
		info, err := os.Stat(path)
		switch {
		case os.IsNotExist(err): // it may come back: editors replace files
			l.folders = append(l.folders, filepath.Dir(path))
		case err != nil:
			return nil, fmt.Errorf("read manifests: %w", err)
		case info.IsDir():
			if err := l.folder(path, info, 0); err != nil {
				return nil, err
			}
		default:
			l.folders = append(l.folders, filepath.Dir(path))
			l.add(path, info)
		}
	}
	slices.SortFunc(l.files, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	l.files = slices.CompactFunc(l.files, func(a, b entry) bool { return a.path == b.path })
	slices.Sort(l.folders)
	l.folders = slices.Compact(l.folders)
	return l, nil
}

func (l *listing) add(path string, info os.FileInfo) {
	s := stamp{size: info.Size(), changed: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = sys.Ino
	}
	l.files = append(l.files, entry{path, s})
}

func (l *listing) folder(path string, info os.FileInfo, depth int) error {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		id := [2]uint64{uint64(sys.Dev), sys.Ino} //nolint:unconvert // 32 bits on some machines
		if l.seen[id] {
			return nil
		}
		l.seen[id] = true
	}
	if depth > maxDepth || len(l.files) > maxFiles {
		return fmt.Errorf("read manifests: %s: more than %d folders deep, or more than %d files; name a smaller folder with -f", path, maxDepth, maxFiles)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	l.folders = append(l.folders, path)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		below := filepath.Join(path, e.Name())
		info, err := os.Stat(below) // what a link leads to
		switch {
		case err != nil: // gone since, or a link to nothing
		case info.IsDir():
			if err := l.folder(below, info, depth+1); err != nil {
				return err
			}
		case slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(below)):
			l.add(below, info)
		}
	}
	return nil
}
