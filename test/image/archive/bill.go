package archive

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// packagesOf returns the Debian packages below home that files are from, by
// name. A file that is from none of them is an error: it could not be told.
func packagesOf(home string, files map[string]string) ([]toolset.Package, error) {
	text, err := os.ReadFile(filepath.Join(home, toolset.PackagesFile))
	if err != nil {
		return nil, fmt.Errorf("list packages, run `make tools`: %w", err)
	}
	var all, used []toolset.Package
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	of := map[string]int{} // packages by their files; old ones have /lib where the root has /usr/lib
	for i, p := range all {
		for _, path := range p.Files {
			of[strings.TrimPrefix(path, "usr/")] = i
		}
	}
	seen := map[int]bool{}
	for _, source := range files {
		source, err := filepath.EvalSymlinks(source)
		if err != nil {
			return nil, fmt.Errorf("find the package of a file: %w", err)
		}
		path, _ := strings.CutPrefix(source, filepath.Join(home, "root")+"/")
		i, ok := of[strings.TrimPrefix(path, "usr/")]
		if !ok {
			return nil, fmt.Errorf("%s is from no package", path)
		}
		if !seen[i] {
			seen[i] = true
			used = append(used, all[i])
		}
	}
	slices.SortFunc(used, func(a, b toolset.Package) int { return strings.Compare(a.Name, b.Name) })
	return used, nil
}

// Bills are the bill of materials of one thing, in both of the forms that scanners and registries read.
type Bills struct {
	CycloneDX []byte // 1.6, JSON
	SPDX      []byte // 2.3, JSON
}

// Papers are what a program is passed on with, outside of an image: its bill of materials, and the licences of its modules.
func Papers(name, version, arch, program string, at time.Time) (bills Bills, notices []byte, err error) {
	parts := parts{programs: []string{program}, arch: arch}
	if bills, err = parts.bills(cdx.Component{Type: cdx.ComponentTypeApplication, Name: name, Version: version}, at); err != nil {
		return Bills{}, nil, err
	}
	notices, err = parts.notices("")
	return bills, notices, err
}

// parts are what something is made of.
type parts struct {
	programs []string // files
	packages []toolset.Package
	arch     string // of the packages
}

// bills are the bill of materials of a component in both forms.
func (p parts) bills(of cdx.Component, at time.Time) (Bills, error) {
	cyclone, err := p.cycloneDX(of)
	if err != nil {
		return Bills{}, err
	}
	spdx, err := p.spdx(of, at)
	return Bills{CycloneDX: cyclone, SPDX: spdx}, err
}

// part is one line of a bill of materials.
type part struct {
	name, version string
	url           string // of the package (purl): what scanners compare
	sum           string // of the Go module (go.sum); empty for others
}

// list returns the parts: Go's library, the Go modules that the programs say they are built of, and the Debian packages.
func (p parts) list() ([]part, error) {
	modules, err := modulesOf(p.programs)
	if err != nil {
		return nil, err
	}
	// "stdlib" is what scanners and vulnerability databases call it.
	all := []part{{name: "stdlib", version: runtime.Version(), url: "pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go")}}
	for _, m := range modules {
		all = append(all, part{name: m.Path, version: m.Version, url: "pkg:golang/" + m.Path + "@" + url.PathEscape(m.Version), sum: m.Sum})
	}
	for _, deb := range p.packages {
		all = append(all, part{
			name: deb.Name, version: deb.Version, url: "pkg:deb/debian/" + deb.Name + "@" + url.PathEscape(deb.Version) + "?arch=" + p.arch,
		})
	}
	return all, nil
}

// cycloneDX is the bill of materials of a component. It depends on the content of the parts only.
func (p parts) cycloneDX(of cdx.Component) ([]byte, error) {
	all, err := p.list()
	if err != nil {
		return nil, err
	}
	var components []cdx.Component
	for _, one := range all {
		components = append(components, cdx.Component{Type: cdx.ComponentTypeLibrary, Name: one.name, Version: one.version, PackageURL: one.url})
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &of}
	bom.Components = &components
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("write the bill of materials: %w", err)
	}
	return out.Bytes(), nil
}

// notices are the licences of all parts; those of packages are below root. A part without one
// fails: it could not be passed on.
func (p parts) notices(root string) ([]byte, error) {
	modules, err := modulesOf(p.programs)
	if err != nil {
		return nil, err
	}
	folders, err := moduleFolders()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, m := range modules {
		if err := licences(&out, m.Path+" "+m.Version, folders[m.Path+"@"+m.Version]); err != nil {
			return nil, err
		}
	}
	for _, deb := range p.packages {
		text, err := os.ReadFile(filepath.Join(root, "usr/share/doc", deb.Name, "copyright"))
		if err != nil {
			return nil, fmt.Errorf("licence of %s: %w", deb.Name, err)
		}
		fmt.Fprintf(&out, "==== %s %s (Debian)\n\n%s\n", deb.Name, deb.Version, text)
	}
	return out.Bytes(), nil
}

// modulesOf are the modules that programs are built of, each once.
func modulesOf(programs []string) ([]*debug.Module, error) {
	var modules []*debug.Module
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("read what %s is built of: %w", program, err)
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			modules = append(modules, m)
		}
	}
	byPath := func(a, b *debug.Module) int { return strings.Compare(a.Path, b.Path) }
	slices.SortStableFunc(modules, byPath)
	return slices.CompactFunc(modules, func(a, b *debug.Module) bool { return byPath(a, b) == 0 }), nil
}

// moduleFolders say where Go keeps the source of the program's modules.
func moduleFolders() (map[string]string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Path}}@{{.Version}} {{.Dir}}", "all").Output()
	if err != nil {
		return nil, fmt.Errorf("find the source of modules: %w", err)
	}
	folders := map[string]string{}
	for line := range strings.Lines(string(out)) {
		module, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		folders[module] = dir
	}
	return folders, nil
}

// licences appends the texts of a folder that licences and notices are in.
func licences(out *bytes.Buffer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("licence of %s: %w", name, err)
	}
	before := out.Len()
	for _, e := range entries {
		kind, _, _ := strings.Cut(strings.ToUpper(e.Name()), ".")
		if e.IsDir() || !slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS", "LICENSE-MIT", "LICENSE-APACHE"}, kind) {
			continue
		}
		text, err := fs.ReadFile(os.DirFS(dir), e.Name())
		if err != nil {
			return fmt.Errorf("licence of %s: %w", name, err)
		}
		fmt.Fprintf(out, "==== %s, %s\n\n%s\n", name, e.Name(), text)
	}
	if out.Len() == before {
		return fmt.Errorf("licence of %s: none in %s", name, dir)
	}
	return nil
}
