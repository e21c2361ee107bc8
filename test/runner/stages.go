package main

import "slices"

// stage is lanes of packages that are tested at the same time. The next stage begins when all of them have ended.
type stage struct {
	lanes []lane
	// fresh packages run again although nothing has changed for go: what they test is in images and programs.
	fresh bool
}

// lane is packages that one go test runs.
type lane struct {
	packages []string
	// atATime is how many of them run at a time.
	atATime int
}

// first are the packages that take longest, in the order of their times: one that began last would run alone for minutes.
var first = []string{"test/cases", "test/api", "router/kube", "test/console", "router/haproxy", "test/docs", "lbprovider/bgp/process", "lbprovider/cloud/controller"}

// clusters are packages that test on a cluster and mostly wait for what it does: a lane leaves two thirds of two processors idle. Two
// lanes take as long as each other; within one, the packages run one by one.
var clusters = [][]string{{"test/e2e/lb", "test/e2e/lb6", "test/demo"}, {"test/e2e", "test/e2e/chart"}}

// alone are packages that run one by one, with nothing beside them: they put load on a cluster or on the machine, and measure how long
// nothing answers meanwhile.
var alone = []string{"test/bench", "test/churn", "test/hostile", "test/soak"}

// stages puts the packages, named by their folders, in the order in which they are tested. Of most of them one more runs at a time
// than the machine has processors, because many wait for clocks and for programs that start.
func stages(packages []string, processors int) []stage {
	named := slices.Concat(first, alone)
	onClusters := stage{fresh: true}
	for _, list := range clusters {
		onClusters.lanes = append(onClusters.lanes, lane{those(packages, list), 1})
		named = append(named, list...)
	}
	most := those(packages, first)
	for _, pkg := range packages {
		if !slices.Contains(named, pkg) {
			most = append(most, pkg)
		}
	}
	return []stage{
		{lanes: []lane{{most, processors + 1}}},
		onClusters,
		{lanes: []lane{{those(packages, alone), 1}}, fresh: true},
	}
}

// those returns the packages of a list that are there.
func those(there, list []string) (found []string) {
	for _, pkg := range list {
		if slices.Contains(there, pkg) {
			found = append(found, pkg)
		}
	}
	return found
}
