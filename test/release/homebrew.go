package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// formula is what Homebrew reads (https://docs.brew.sh/Formula-Cookbook). It belongs into a tap.
var formula = template.Must(template.New("").Parse(`# Written by the release. Put it into a tap as Formula/kubectl-fairlead.rb.
class KubectlFairlead < Formula
  desc "Explain OpenShift Routes and Ingress on Fairlead"
  homepage "https://github.com/fairlead/fairlead"
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Archives}}
    on_{{.Name}} do
      url "{{.URL}}"
      sha256 "{{.SHA256}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "kubectl-fairlead"
    doc.install "kubectl-fairlead.notices"
    generate_completions_from_executable(bin/"kubectl-fairlead", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kubectl-fairlead version")
  end
end
`))

type brewSystem struct {
	Name     string
	Archives []brewArchive
}

type brewArchive struct{ Name, URL, SHA256 string }

// homebrew writes the formula of the plug-in, with the sums of its archives.
func (r *release) homebrew() error {
	var systems []brewSystem
	for _, system := range []struct{ name, os string }{{"macos", "darwin"}, {"linux", "linux"}} {
		one := brewSystem{Name: system.name}
		for _, t := range r.targets {
			cpu, known := map[string]string{"amd64": "intel", "arm64": "arm"}[t.arch]
			if t.program != plugin || t.os != system.os || !known {
				continue
			}
			file := r.name(t) + ".tar.gz"
			content, err := os.ReadFile(filepath.Join(r.to, file))
			if err != nil {
				return fmt.Errorf("sum an archive: %w", err)
			}
			one.Archives = append(one.Archives, brewArchive{Name: cpu, URL: r.download + "/" + r.version + "/" + file, SHA256: sumOf(content)})
		}
		if len(one.Archives) > 0 {
			systems = append(systems, one)
		}
	}
	var out bytes.Buffer
	if err := formula.Execute(&out, map[string]any{"Version": strings.TrimPrefix(r.version, "v"), "Systems": systems}); err != nil {
		return fmt.Errorf("write the formula: %w", err)
	}
	return r.file("kubectl-fairlead.rb", out.Bytes())
}
