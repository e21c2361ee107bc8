package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
)

// source is where the commit of a release is to be had.
const source = "https://github.com/fairlead/fairlead"

// statement is an in-toto statement (https://in-toto.io/Statement/v1) of SLSA's provenance
// (https://slsa.dev/spec/v1.0/provenance).
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

// resource is what a statement is about, or what was used.
type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

type provenance struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string            `json:"buildType"`
	ExternalParameters   map[string]string `json:"externalParameters"`
	InternalParameters   map[string]string `json:"internalParameters"`
	ResolvedDependencies []resource        `json:"resolvedDependencies"`
}

type runDetails struct {
	Builder  map[string]string `json:"builder"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// builder is what ran this program.
type builder struct{ id, run string }

// builderFrom reads what GitHub Actions says of the run: the workflow's file with its reference, and the run's address. Elsewhere the
// builder is a machine of a person, for which the signature of the statement stands.
func builderFrom(getenv func(string) string) builder {
	server, workflow := getenv("GITHUB_SERVER_URL"), getenv("GITHUB_WORKFLOW_REF")
	if server == "" || workflow == "" {
		return builder{id: source + "/tree/main/test/release"}
	}
	return builder{
		id:  server + "/" + workflow,
		run: fmt.Sprintf("%s/%s/actions/runs/%s/attempts/%s", server, getenv("GITHUB_REPOSITORY"), getenv("GITHUB_RUN_ID"), getenv("GITHUB_RUN_ATTEMPT")),
	}
}

// safe has Git read a clone of another user: in a container of GitHub Actions, the clone is the host's.
const safe = "safe.directory=*"

// commitOf returns the commit of a clone without changes; else nothing, because the commit would not be what was built.
func commitOf(ctx context.Context, root string) string {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", safe}, args...)...)
		cmd.Dir = root
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	if changes, err := git("status", "--porcelain"); err != nil || changes != "" {
		return ""
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return ""
	}
	return commit
}

// provenance writes of what, by what and with which parameters the release was made. It names all files by their sums, the sums
// themselves, and the images by the digests that they have in every registry.
func (r *release) provenance(sums []byte) error {
	subjects := []resource{{Name: "SHA256SUMS", Digest: map[string]string{"sha256": sumOf(sums)}}}
	for line := range bytes.Lines(sums) {
		sum, name, found := strings.Cut(strings.TrimSuffix(string(line), "\n"), "  ")
		if !found {
			return fmt.Errorf("write the provenance: %q is no line of sums", line)
		}
		subjects = append(subjects, resource{Name: name, Digest: map[string]string{"sha256": sum}})
	}
	for _, image := range r.digests {
		name, digest, _ := strings.Cut(image, "=")
		subjects = append(subjects, resource{Name: r.registry + "/" + name, Digest: map[string]string{"sha256": strings.TrimPrefix(digest, "sha256:")}})
	}
	from := resource{URI: "git+" + source + "@refs/tags/" + r.version}
	if r.commit != "" {
		from.Digest = map[string]string{"gitCommit": r.commit}
	} else {
		fmt.Fprintln(r.progress, "the provenance names no commit: the source has changes, or is no clone")
	}
	metadata := map[string]string{}
	if r.builder.run != "" {
		metadata["invocationId"] = r.builder.run
	}
	text, err := json.MarshalIndent(statement{
		Type: "https://in-toto.io/Statement/v1", Subject: subjects, PredicateType: "https://slsa.dev/provenance/v1",
		Predicate: provenance{
			BuildDefinition: buildDefinition{
				BuildType:            source + "/blob/main/docs/decisions/release-signatures.md",
				ExternalParameters:   map[string]string{"version": r.version, "registry": r.registry, "source": from.URI},
				InternalParameters:   map[string]string{"go": runtime.Version(), "time": r.time.UTC().Format("2006-01-02T15:04:05Z")},
				ResolvedDependencies: []resource{from, {URI: "pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go")}},
			},
			RunDetails: runDetails{Builder: map[string]string{"id": cmp.Or(r.builder.id, source)}, Metadata: metadata},
		},
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the provenance: %w", err)
	}
	return r.file("provenance.json", append(text, '\n'))
}
