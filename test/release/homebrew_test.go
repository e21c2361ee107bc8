package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestHomebrew: the formula names each archive of the plug-in for macOS and Linux once, with its sum, and is Ruby.
func TestHomebrew(t *testing.T) {
	t.Parallel()
	r := release{to: t.TempDir(), version: "v1.2.3", download: "https://d.test", targets: targets(), progress: io.Discard}
	want := map[string]string{}
	for _, target := range r.targets {
		file := r.name(target) + ".tar.gz"
		if err := r.file(file, []byte(file)); err != nil {
			t.Fatal(err)
		}
		if target.program == plugin && target.os != "windows" {
			want["https://d.test/v1.2.3/"+file] = sumOf([]byte(file))
		}
	}
	if err := r.homebrew(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.to, "kubectl-fairlead.rb")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^      url "(.*)"\n      sha256 "([0-9a-f]{64})"$`).FindAllStringSubmatch(string(text), -1) {
		if want[m[1]] != m[2] {
			t.Errorf("%s has the sum %s, want %q", m[1], m[2], want[m[1]])
		}
		delete(want, m[1])
	}
	if len(want) > 0 {
		t.Errorf("the formula lacks %v", want)
	}
	for _, system := range []string{"macos", "linux"} {
		if _, below, found := strings.Cut(string(text), "  on_"+system+" do\n"); !found || !ordered(below, "    on_intel do\n", "_amd64.tar.gz", "    on_arm do\n", "_arm64.tar.gz", "\n  end\n") {
			t.Errorf("%s does not have an archive for each processor:\n%s", system, text)
		}
	}
	// What "brew audit" asks of a description: short, without an article or the name at its beginning, without a full stop.
	desc := regexp.MustCompile(`desc "(.*)"`).FindStringSubmatch(string(text))
	if desc == nil || len(desc[1]) > 80 || regexp.MustCompile(`^(A|An|The|Fairlead) |\.$`).MatchString(desc[1]) {
		t.Errorf("the description is %q", desc)
	}
	opens, ends := len(regexp.MustCompile(`(?m)^ *(class|def) | do$`).FindAllString(string(text), -1)), len(regexp.MustCompile(`(?m)^ *end$`).FindAllString(string(text), -1))
	if opens != ends {
		t.Errorf("%d blocks begin, %d end", opens, ends)
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		evaluate(t, ruby, path)
	}
}

// ordered reports whether a text has others one behind the other.
func ordered(text string, others ...string) bool {
	for _, other := range others {
		_, after, found := strings.Cut(text, other)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// evaluate runs the formula with a class in place of Homebrew's, as a machine with Linux on arm64, and reads what it says.
func evaluate(t *testing.T, ruby, path string) {
	t.Helper()
	const stub = `
class Formula
  def self.said; @said ||= {}; end
  %i[desc homepage version license url sha256].each { |n| define_singleton_method(n) { |v = nil| v ? said[n] = v : said[n] } }
  %i[on_linux on_arm].each { |n| define_singleton_method(n) { |&b| b.call } }
  %i[on_macos on_intel].each { |n| define_singleton_method(n) { |&b| } }
  def self.test(&b); end
end
load ARGV[0]
puts KubectlFairlead.said[:url], KubectlFairlead.said[:sha256], KubectlFairlead.said[:version], KubectlFairlead.method_defined?(:install)
`
	out, err := exec.CommandContext(t.Context(), ruby, "-e", stub, path).CombinedOutput()
	want := fmt.Sprintf("https://d.test/v1.2.3/kubectl-fairlead_v1.2.3_linux_arm64.tar.gz\n%s\n1.2.3\ntrue\n", sumOf([]byte("kubectl-fairlead_v1.2.3_linux_arm64.tar.gz")))
	if err != nil || string(out) != want {
		t.Errorf("as Ruby: %v: got %s, want %s", err, out, want)
	}
}
