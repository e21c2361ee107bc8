package stack

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the page of annotations anew")

const page = "../../../../docs/cloud/aws-annotations.md"

// TestPage: the page of annotations is made of the table.
func TestPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`<!-- Made of lbprovider/cloud/aws/stack/annotation.go by its test, with -update. DO NOT EDIT. -->
# Annotations of Services on AWS

Keys and values are those of AWS's own controllers. Where one is not a true value, **nothing is called**: the Service's and the
IngressController's conditions and an event name key and value, and a load balancer that is there stays as it is. A key with the
prefix that nobody knows is a warning. Lists have commas; a comma within a value of a ` + "`k=v`" + ` list is written ` + "`\\,`" + `.

On the Service of a router, the operator writes some of them itself, from the IngressController
([AWS](aws.md#what-the-operator-writes)). What you write wins.

| annotation | value | default | example | effect |
|---|---|---|---|---|
`)
	cell := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
	// In text "<port>" would be HTML, which no browser shows.
	text := func(s string) string { return strings.ReplaceAll(cell(s), "<", `\<`) }
	code := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + cell(s) + "`"
	}
	samples := Samples()
	for _, a := range Annotations() {
		key := a.Key
		if strings.HasSuffix(key, ".") {
			key += "…"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", key, text(a.Values), text(a.Default), code(samples[a.Key].Example), text(a.Doc))
	}
	b.WriteString(`
## What you see when it is wrong

An event of the Service with the reason ` + "`SyncLoadBalancerFailed`" + `, and the condition ` + "`LoadBalancerReady`" + ` of the IngressController with the
reason ` + "`InvalidConfiguration`" + ` (a load balancer that is there already stays ` + "`True`" + `, and ` + "`LoadBalancerProgressing`" + ` says it), both
with this text, here for a Service with the ports http and https. A test gives each of these to an API server.

| annotation, with a wrong value | message |
|---|---|
`)
	for _, a := range Annotations() {
		sample := samples[a.Key]
		if sample.Wrong == "" {
			continue
		}
		key := a.Key + sample.Rest
		problems := looked(map[string]string{key: sample.Wrong})
		short := strings.TrimPrefix(key, AnnotationPrefix)
		fmt.Fprintf(&b, "| `%s: %s` | %s |\n", short, cell(sample.Wrong), text(problems[0].Message))
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), b.String()); diff != "" {
		t.Errorf("the page is not the table; run the test with -update (-page +table):\n%s", diff)
	}
}
