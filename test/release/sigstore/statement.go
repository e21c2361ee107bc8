package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// The kinds of statements that a release has.
const (
	inToto         = "https://in-toto.io/Statement/v1"
	inTotoPayload  = "application/vnd.in-toto+json"
	kindProvenance = "https://slsa.dev/provenance/v1"
	kindSignature  = "https://sigstore.dev/cosign/sign/v1" // of an image, as cosign writes it
	kindSPDX       = "https://spdx.dev/Document"
	kindCycloneDX  = "https://cyclonedx.org/bom"
)

// statement is an in-toto statement: what it says (the predicate) of what has the sums.
type statement struct {
	Type          string          `json:"_type"`
	Subject       []subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// state writes a statement about one thing.
func state(name, sum, kind string, predicate []byte) ([]byte, error) {
	text, err := json.Marshal(statement{
		Type: inToto, PredicateType: kind, Predicate: predicate, Subject: []subject{{Name: name, Digest: map[string]string{"sha256": sum}}},
	})
	if err != nil {
		return nil, fmt.Errorf("state what is in %s: %w", name, err)
	}
	return text, nil
}

func readStatement(text []byte) (statement, error) {
	var s statement
	if err := json.Unmarshal(text, &s); err != nil {
		return statement{}, fmt.Errorf("read a statement: %w", err)
	}
	if s.Type != inToto {
		return statement{}, fmt.Errorf("read a statement: it is a %q, want %q", s.Type, inToto)
	}
	return s, nil
}

// same compares documents of JSON by their content.
func same(a, b []byte) bool {
	var one, other any
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return false
	}
	return bytes.Equal(a, b) || reflect.DeepEqual(one, other)
}

// provenance is what is read of SLSA's predicate.
type provenance struct {
	BuildDefinition struct {
		ExternalParameters   map[string]string `json:"externalParameters"`
		ResolvedDependencies []struct {
			URI    string            `json:"uri"`
			Digest map[string]string `json:"digest"`
		} `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
}

// judge fails unless the statement is the provenance of the version, made of the project's source at its tag.
func (s statement) judge(version string) error {
	if s.PredicateType != kindProvenance {
		return fmt.Errorf("the provenance is a %q, want %q", s.PredicateType, kindProvenance)
	}
	var p provenance
	if err := json.Unmarshal(s.Predicate, &p); err != nil {
		return fmt.Errorf("read the provenance: %w", err)
	}
	if got := p.BuildDefinition.ExternalParameters["version"]; got != version {
		return fmt.Errorf("the provenance is of version %q, want %s", got, version)
	}
	want := "git+" + project + "@refs/tags/" + version
	for _, from := range p.BuildDefinition.ResolvedDependencies {
		if from.URI != want {
			continue
		}
		if from.Digest["gitCommit"] == "" {
			return fmt.Errorf("the provenance names no commit: the release was made of changed source, or outside of a clone")
		}
		return nil
	}
	return fmt.Errorf("the provenance does not name the source %s", want)
}

// sums are the sums of the subjects by their names.
func (s statement) sums() map[string]string {
	sums := map[string]string{}
	for _, one := range s.Subject {
		sums[one.Name] = one.Digest["sha256"]
	}
	return sums
}
