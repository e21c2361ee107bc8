package walk

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const root = "../.."

// TestTasks: each task has a page that README.md leads to within two links, with commands below the headings of its steps, and a page
// of its own has the parts that such a page has.
func TestTasks(t *testing.T) {
	t.Parallel()
	for _, task := range Tasks() {
		p, err := Read(root, task.Page)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Distance(root, "README.md", task.Page, 2); err != nil {
			t.Errorf("%s: %v", task.Name, err)
		}
		for _, heading := range task.Steps {
			commands := 0
			for _, b := range p.Below(heading) {
				commands += len(b.Steps())
			}
			if commands == 0 {
				t.Errorf("%s: %s has no command below %q", task.Name, task.Page, heading)
			}
		}
		for _, h := range []string{"What you get", "What you need", "Check that it works", "If it does not work"} {
			if !strings.Contains(p.Text, "\n## "+h+"\n") {
				t.Errorf("%s has no heading %q", task.Page, h)
			}
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	p, err := parse("docs/a.md", strings.ReplaceAll(`# A
See [b](howto/b.md#steps) and [c](../c.md), not [d](https://example.com/d.md).

## Steps
'''yaml
# a.yaml
kind: A
'''
'''sh
# a remark
one \
  --more

two
'''
'''console
$ three
3

$ four
'''
## Other
'''text
[e](e.md)
'''
`, "'''", "```"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Links(), " "); got != "docs/howto/b.md c.md" {
		t.Errorf("links: %s", got)
	}
	blocks := p.Below("Steps")
	if len(blocks) != 3 || blocks[0].File() != "a.yaml" || blocks[1].File() != "" {
		t.Fatalf("blocks: %+v", blocks)
	}
	var got []string
	for i := range blocks {
		for _, s := range blocks[i].Steps() {
			got = append(got, s.Command+"|"+strings.Join(s.Output, "/"))
		}
	}
	if want := "one --more| two| three|3/ four|"; strings.Join(got, " ") != want {
		t.Errorf("steps: %q, want %q", strings.Join(got, " "), want)
	}
	if _, err := parse("a.md", "```sh\nx\n"); err == nil {
		t.Error("a block without end was accepted")
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, shown, printed string
		word                 string // of <node>, known before if it begins with =
		ok                   bool
	}{
		{"equal", "a  b", "a b\n", "", true},
		{"columns", "NAME  X\na     1", "NAME X\na    1  \n", "", true},
		{"other", "a", "b", "", false},
		{"more lines", "a", "a\nb\n", "", false},
		{"fewer lines", "a\nb", "a\n", "", false},
		{"any lines", "a\n…\nz", "a\nb\nc\nz\n", "", true},
		{"no lines", "a\n…\nz", "a\nz\n", "", true},
		{"nothing", "…", "", "", true},
		{"any text", "since … ago", "since 3 s ago", "", true},
		{"any text in one line", "since … ago", "since 3\ns ago", "", false},
		{"a word", "on <node>", "on n1", "n1", true},
		{"a word twice", "on <node>\nat <node>", "on n1\nat n1", "n1", true},
		{"two words for one hole", "on <node>\nat <node>", "on n1\nat n2", "", false},
		{"a known word", "on <node>", "on n1", "=n1", true},
		{"another than the known word", "on <node>", "on n2", "=n1", false},
		{"no expression", "a.b (c)", "axb (c)", "", false},
		{"no hole", "a < b", "a < b", "", true},
	} {
		words := map[string]string{}
		want, known := strings.CutPrefix(test.word, "=")
		if known {
			words["node"] = want
		}
		err := Compare(strings.Split(test.shown, "\n"), test.printed, words)
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
		if words["node"] != want {
			t.Errorf("%s: the word is %q, want %q", test.name, words["node"], want)
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	if got, err := Fill("curl <address>:443 <file", map[string]string{"address": "192.0.2.1"}); err != nil || got != "curl 192.0.2.1:443 <file" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Fill("curl <address>", nil); err == nil {
		t.Error("a hole without a word was filled")
	}
}

// TestShell: variables stay, exit codes and both outputs are seen, and a command that does not end is ended.
func TestShell(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "bash")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	s, err := Start(cmd, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		command, printed string
		exit             int
	}{
		{"A='x  y'; echo \"$A\"", "x  y\n", 0},
		{`echo "$A" | tr x z; echo e >&2; (exit 3)`, "z  y\ne\n", 3},
		{"cat", "", 0}, // has no input to wait for
	} {
		printed, exit, err := s.Run(t.Context(), test.command)
		if err != nil || printed != test.printed || exit != test.exit {
			t.Errorf("%s: %q, exit %d, %v", test.command, printed, exit, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := s.Run(ctx, "echo so far; sleep 60"); err == nil || !strings.Contains(err.Error(), "so far") {
		t.Errorf("a command that does not end: %v", err)
	}
	if err := s.Close(); err == nil {
		t.Error("the shell was not ended")
	}
}
