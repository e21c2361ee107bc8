package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is what the test reads of a file of GitHub Actions.
type workflow struct {
	Permissions *map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Permissions *map[string]string `json:"permissions"`
		Steps       []struct {
			Uses string `json:"uses"`
			Run  string `json:"run"`
		} `json:"steps"`
	} `json:"jobs"`
}

var (
	makeCall = regexp.MustCompile(`^make ([a-z0-9-]+)( [A-Z]+=[A-Za-z0-9./-]+)*$`)
	pinned   = regexp.MustCompile(`^[A-Za-z0-9/_.-]+@[0-9a-f]{40}$`)
)

// TestWorkflows: what continuous integration runs is a target of the Makefile, which anyone can run. No other program's
// code comes in by a name that can be moved, and secrets are only where a release is signed.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):.*## `).FindAllStringSubmatch(string(text), -1) {
		targets[m[1]] = true
	}
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%d workflows: %v", len(files), err)
	}
	runs := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		for _, complaint := range judge(t, name, string(text), targets) {
			t.Errorf("%s: %s", name, complaint)
		}
		runs += strings.Count(string(text), "run: make ")
	}
	if runs < 5 {
		t.Errorf("only %d calls of make; has their form changed?", runs)
	}
}

// judge returns what is wrong with a workflow.
func judge(t *testing.T, name, text string, targets map[string]bool) []string {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var wrong []string
	if w.Permissions == nil || len(*w.Permissions) > 0 {
		wrong = append(wrong, "the permissions at the top are not {}")
	}
	if strings.Contains(text, "secrets.") && name != "release.yml" {
		wrong = append(wrong, "only release.yml has secrets")
	}
	if strings.Contains(text, "pull_request_target") {
		wrong = append(wrong, "pull_request_target runs a stranger's code with rights of the repository")
	}
	for id, job := range w.Jobs {
		if job.Permissions == nil {
			wrong = append(wrong, id+" names no permissions")
		} else {
			for scope, right := range *job.Permissions {
				if right != "read" && (name != "release.yml" || id != "sign" || scope != "id-token") {
					wrong = append(wrong, id+" has the permission "+scope+": "+right)
				}
			}
		}
		if len(job.Steps) == 0 {
			wrong = append(wrong, id+" has no steps")
		}
		signs := job.Permissions != nil && (*job.Permissions)["id-token"] != ""
		for _, step := range job.Steps {
			call := makeCall.FindStringSubmatch(strings.TrimSpace(step.Run))
			switch {
			case step.Run == "" && !pinned.MatchString(step.Uses):
				wrong = append(wrong, step.Uses+" is not pinned by commit")
			case step.Run != "" && call == nil:
				wrong = append(wrong, "no call of make: "+step.Run)
			case step.Run != "" && !targets[call[1]]:
				wrong = append(wrong, "no target of the Makefile: "+step.Run)
			case step.Run != "" && signs && call[1] != "release-sign":
				wrong = append(wrong, id+" may sign, and runs more than that: "+step.Run)
			}
		}
	}
	return wrong
}

// TestWorkflowsJudged: the rules find what they are for.
func TestWorkflowsJudged(t *testing.T) {
	t.Parallel()
	const head = "permissions: {}\njobs: {a: {permissions: {contents: read}, steps: ["
	for text, want := range map[string]string{
		head + "{run: make unit}]}}":                                                                         "",
		head + "{run: make unti}]}}":                                                                         "no target",
		head + `{run: "make unit && curl x"}]}}`:                                                             "no call",
		head + `{run: "make unit X=${{ github.head_ref }}"}]}}`:                                              "no call",
		head + "{uses: actions/checkout@v4}]}}":                                                              "not pinned",
		head + `{run: make unit, env: {A: "${{ secrets.A }}"}}]}}`:                                           "secrets",
		"jobs: {a: {permissions: {}, steps: [{run: make unit}]}}":                                            "at the top",
		"permissions: {}\njobs: {a: {steps: [{run: make unit}]}}":                                            "no permissions",
		"permissions: {}\njobs: {a: {permissions: {contents: write}, steps: [{run: make unit}]}}":            "contents: write",
		"permissions: {}\njobs: {sign: {permissions: {id-token: write}, steps: [{run: make release-sign}]}}": "id-token: write",
		"on: pull_request_target\n" + head + "{run: make unit}]}}":                                           "stranger",
	} {
		got := strings.Join(judge(t, "x.yml", text, map[string]bool{"unit": true}), "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	const sign = "permissions: {}\njobs: {sign: {permissions: {id-token: write}, steps: [{run: make release-sign KEYLESS=1}, {run: make X}]}}"
	all := map[string]bool{"release": true, "release-sign": true}
	if got := judge(t, "release.yml", strings.ReplaceAll(sign, ", {run: make X}", ""), all); len(got) > 0 {
		t.Errorf("the job that signs: %q", got)
	}
	if got := judge(t, "release.yml", strings.ReplaceAll(sign, "X", "release"), all); len(got) != 1 || !strings.Contains(got[0], "runs more than that") {
		t.Errorf("a job that signs and compiles: %q", got)
	}
}
