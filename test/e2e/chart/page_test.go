package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The page whose commands the tests run, as they stand there.
const page = "docs/operator/helm.md"

// do runs the commands below a heading of the page, each with more arguments if there are any for its first two words.
func (b *bed) do(heading string, more map[string][]string) {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		b.t.Fatal(err)
	}
	commands := commandsOf(string(text), heading)
	if len(commands) == 0 {
		b.t.Fatalf("%s has no commands below %q", page, heading)
	}
	for _, command := range commands {
		began := time.Now()
		words := strings.Fields(command)
		args := slices.Concat(words[1:], more[words[0]+" "+words[1]])
		var out string
		if words[0] == "helm" {
			out, err = b.run(args...)
		} else {
			out, err = shared.Kubectl(b.t.Context(), args...)
		}
		if err != nil {
			b.t.Fatalf("%s: %v: %s", command, err, out)
		}
		b.t.Logf("%.1f s: %s", time.Since(began).Seconds(), command)
	}
}

// commandsOf returns the lines of the blocks of commands below a heading.
func commandsOf(text, heading string) (commands []string) {
	below, inside := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !inside && strings.HasPrefix(line, "## "):
			below = line == "## "+heading
		case strings.HasPrefix(line, "```"):
			inside = below && line == "```sh"
		case inside:
			commands = append(commands, line)
		}
	}
	return commands
}
