package archive

import (
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// status writes what dpkg would have noted of the packages, one file each, as images without a package manager have it: scanners of
// images read it, and so find the vulnerabilities of what the image holds.
func (l *layerWriter) status(of parts) {
	if len(of.packages) == 0 {
		return
	}
	l.dir("var/lib/dpkg", 0o755)
	l.dir("var/lib/dpkg/status.d", 0o755)
	for _, deb := range of.packages {
		l.file("var/lib/dpkg/status.d/"+deb.Name, []byte(paragraph(deb, of.arch)))
	}
}

// paragraph is a package in dpkg's own form (deb-control, dpkg-status).
func paragraph(deb toolset.Package, arch string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Package: %s\nStatus: install ok installed\nArchitecture: %s\n", deb.Name, arch)
	switch {
	case deb.Source == "" || deb.Source == deb.Name && deb.SourceVersion == deb.Version: // it is its own source
	case deb.SourceVersion == deb.Version:
		fmt.Fprintf(&out, "Source: %s\n", deb.Source)
	default:
		fmt.Fprintf(&out, "Source: %s (%s)\n", deb.Source, deb.SourceVersion)
	}
	fmt.Fprintf(&out, "Version: %s\nDescription: part of Fairlead's image\n", deb.Version)
	return out.String()
}

// complete refuses a list of packages that does not say their sources: scanners would miss vulnerabilities, which are published by source.
func (p parts) complete() error {
	for _, deb := range p.packages {
		if deb.Source == "" || deb.SourceVersion == "" {
			return fmt.Errorf("the source of Debian's package %s is not known, since the list beside HAProxy is of an older version of test/tools: "+
				"remove the folders haproxy-3.4* from the tools folder, and build again", deb.Name)
		}
	}
	return nil
}
