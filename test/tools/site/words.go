package main

import (
	"regexp"
	"strings"
)

// rarePages is on how many pages a word may be for the index to say on which: a word that is on
// more does not lead anywhere.
const rarePages = 40

var (
	// unread is what a page has and no reader sees.
	unread = regexp.MustCompile(`(?s)<!--.*?-->|\]\([^)]*\)`)
	word   = regexp.MustCompile(`[\p{L}\p{N}][\p{L}\p{N}-]{2,}`)
)

// words returns on which pages each word of the texts is, by the numbers of the pages. A word that
// is on many pages has none.
func words(pages []*page) map[string][]int {
	all := map[string][]int{}
	for i, p := range pages {
		for _, w := range word.FindAllString(strings.ToLower(unread.ReplaceAllString(string(p.source), " ")), -1) {
			if on := all[w]; len(on) == 0 || on[len(on)-1] != i {
				all[w] = append(on, i)
			}
		}
	}
	for w, on := range all {
		if len(on) > rarePages {
			all[w] = []int{}
		}
	}
	return all
}
