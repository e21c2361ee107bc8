package main

import (
	"maps"
	"slices"
	"strconv"
	"testing"
)

// TestPageWords: words of texts and code lead to their pages, those of every page nowhere.
func TestPageWords(t *testing.T) {
	t.Parallel()
	var pages []*page
	for i := range rarePages + 1 {
		text := "# Common\n\nA word of page" + strconv.Itoa(i) + "\n"
		if i == 3 {
			text += "\n<!-- hidden -->\n[Zebra zebra](target.md) is `inCode`\n\n```sh\nquagga --flag\n```\n"
		}
		pages = append(pages, parse("docs/"+strconv.Itoa(i)+".md", []byte(text)))
	}
	got := words(pages)
	for w, want := range map[string][]int{"zebra": {3}, "incode": {3}, "quagga": {3}, "page3": {3}, "page12": {12}, "common": {}} {
		if on, known := got[w]; !known || !slices.Equal(on, want) {
			t.Errorf("%s: %v, want %v", w, on, want)
		}
	}
	for _, w := range []string{"hidden", "target", "target.md"} {
		if on, known := got[w]; known {
			t.Errorf("%s is on %v, but no reader sees it", w, on)
		}
	}
	if len(got) > 60 {
		t.Errorf("%v", slices.Sorted(maps.Keys(got)))
	}
}
