package archive

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// unwind is the library that glibc loads when a thread ends. No program names it
// among what it needs.
const unwind = "libgcc_s.so.1"

// closure finds what HAProxy, which is dynamically linked, needs below an unpacked
// system: itself, its loader and its libraries, by their paths in the image.
// Everything else of the system, shells and tools first, stays out.
func closure(root string) (map[string]string, error) {
	const program = "usr/sbin/haproxy"
	files := map[string]string{}
	interpreter, needed, err := linked(filepath.Join(root, program))
	if err != nil {
		return nil, err
	}
	files[program] = filepath.Join(root, program)
	if interpreter != "" {
		files[interpreter[1:]] = filepath.Join(root, interpreter)
	}
	folders, err := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu"))
	if err != nil || len(folders) != 1 {
		return nil, fmt.Errorf("find the libraries of %s: %d folders in %s, %w", program, len(folders), root, err)
	}
	for needed = append(needed, unwind); len(needed) > 0; {
		name := needed[0]
		needed = needed[1:]
		source := filepath.Join(folders[0], name)
		if name == filepath.Base(interpreter) || slices.Contains(needed, name) {
			continue
		}
		target, err := filepath.Rel(root, source)
		if err != nil {
			return nil, fmt.Errorf("place %s: %w", name, err)
		}
		if files[target] != "" {
			continue
		}
		files[target] = source
		_, more, err := linked(source)
		if err != nil {
			return nil, err
		}
		needed = append(needed, more...)
	}
	return files, nil
}

// linked reads the loader and the libraries that an ELF file names.
func linked(file string) (interpreter string, libraries []string, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return "", nil, fmt.Errorf("read what %s is linked with: %w", file, err)
	}
	defer f.Close()
	if section := f.Section(".interp"); section != nil {
		text, err := section.Data()
		if err != nil {
			return "", nil, fmt.Errorf("read the loader of %s: %w", file, err)
		}
		interpreter = string(bytes.TrimRight(text, "\x00"))
	}
	libraries, err = f.ImportedLibraries()
	if err != nil {
		return "", nil, fmt.Errorf("read the libraries of %s: %w", file, err)
	}
	return interpreter, libraries, nil
}

// files writes files by their path in the image, with the folders above them.
func (l *layerWriter) files(sources map[string]string) {
	var folders, paths []string
	for path := range sources {
		paths = append(paths, path)
		for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
			folders = append(folders, dir)
		}
	}
	slices.Sort(folders)
	for _, dir := range slices.Compact(folders) {
		l.dir(dir, 0o755)
	}
	slices.Sort(paths)
	for _, path := range paths {
		mode := os.FileMode(0o644)
		if info, err := os.Stat(sources[path]); err == nil && info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		l.copy(path, sources[path], mode)
	}
}
