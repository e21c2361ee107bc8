package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// provenanceOf: the statement names each file of the release with its sum, the images, the commit and the builder.
func provenanceOf(t *testing.T, r release, files map[string][]byte) {
	var got statement
	if err := json.Unmarshal(files["provenance.json"], &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != "https://in-toto.io/Statement/v1" || got.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Errorf("it is a %s of %s", got.Type, got.PredicateType)
	}
	named := map[string]string{}
	for _, s := range got.Subject {
		named[s.Name] = s.Digest["sha256"]
	}
	for name, content := range files {
		switch name {
		case "provenance.json", "SHA256SUMS.sig", "release.pub":
			continue
		}
		if want := fmt.Sprintf("%x", sha256.Sum256(content)); named[name] != want {
			t.Errorf("%s has the sum %q, want %q", name, named[name], want)
		}
		delete(named, name)
	}
	if len(named) > 0 {
		t.Errorf("it names what is not there: %v", named)
	}
	def := got.Predicate.BuildDefinition
	if def.ExternalParameters["version"] != r.version || len(def.ResolvedDependencies) < 2 ||
		def.ResolvedDependencies[0].URI != "git+https://github.com/fairlead/fairlead@refs/tags/v1.2.3" || def.ResolvedDependencies[0].Digest["gitCommit"] != r.commit {
		t.Errorf("it was built of %+v", def)
	}
	if got.Predicate.RunDetails.Builder["id"] == "" {
		t.Error("it names no builder")
	}
}

// TestBuilder: a run of GitHub's is named by its workflow at its reference, which is what the identity of its signature says, too.
func TestBuilder(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"GITHUB_SERVER_URL": "https://github.com", "GITHUB_WORKFLOW_REF": "fairlead/fairlead/.github/workflows/release.yml@refs/tags/v1.2.3",
		"GITHUB_REPOSITORY": "fairlead/fairlead", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1",
	}
	got := builderFrom(func(name string) string { return env[name] })
	want := builder{
		id:  "https://github.com/fairlead/fairlead/.github/workflows/release.yml@refs/tags/v1.2.3",
		run: "https://github.com/fairlead/fairlead/actions/runs/7/attempts/1",
	}
	if got != want {
		t.Errorf("got %+v", got)
	}
	if got := builderFrom(func(string) string { return "" }); strings.Contains(got.id, "workflows") || got.run != "" {
		t.Errorf("elsewhere: %+v", got)
	}
}
