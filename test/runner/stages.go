package main

import "slices"

// stage is packages that are tested together.
type stage struct {
	packages []string
	// atATime is how many of them run at a time.
	atATime int
	// fresh packages run again although nothing has changed for go: what they test is in images and programs.
	fresh bool
}

// first are the packages that take longest, in the order of their times: one that began last would run alone for minutes.
var first = []string{"test/cases", "test/api", "router/kube", "test/console", "router/haproxy", "test/docs", "lbprovider/bgp/process", "lbprovider/cloud/controller"}

// alone are packages that run one by one: they put load on a cluster or on the machine, or measure for how many milliseconds
// nothing answers.
var alone = []string{"test/bench", "test/churn", "test/demo", "test/e2e", "test/e2e/lb", "test/e2e/lb6", "test/hostile", "test/soak"}

// stages puts the packages, named by their folders, in the order in which they are tested. Of most of them as many run at a time
// as the machine has processors, and two at least.
func stages(packages []string, processors int) []stage {
	together := stage{atATime: max(2, processors)}
	apart := stage{atATime: 1, fresh: true}
	for _, pkg := range first {
		if slices.Contains(packages, pkg) {
			together.packages = append(together.packages, pkg)
		}
	}
	for _, pkg := range packages {
		switch {
		case slices.Contains(alone, pkg):
			apart.packages = append(apart.packages, pkg)
		case !slices.Contains(first, pkg):
			together.packages = append(together.packages, pkg)
		}
	}
	return []stage{together, apart}
}
