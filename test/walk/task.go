package walk

import "time"

// Task is what a stranger wants, with the page for it.
type Task struct {
	Name, Page string
	// Steps are the headings below which the commands are, in order.
	Steps []string
	// Most is how long it may take; Commands how many commands it may take, 0 for any number.
	Most     time.Duration
	Commands int
}

// Tasks are those that README.md leads to.
func Tasks() []Task {
	return []Task{
		{"expose a pod with TLS", "docs/howto/expose.md", []string{"Steps", "Check that it works"}, 5 * time.Minute, 0},
		{"find why a Route answers 503", "docs/howto/503.md", []string{"Steps"}, time.Minute, 2},
		{"see which node announces an address", "docs/howto/announcer.md", []string{"Steps"}, time.Minute, 2},
		{"install by the chart", HelmPage, []string{"Install", "Check that it works"}, 5 * time.Minute, 0},
		{"upgrade", HelmPage, []string{"Upgrade"}, 5 * time.Minute, 0},
		{"go back a version", HelmPage, []string{"Go back a version"}, 5 * time.Minute, 0},
		{"remove it", HelmPage, []string{"Uninstall"}, 5 * time.Minute, 0},
		{"come back", HelmPage, []string{"Come back"}, 5 * time.Minute, 0},
	}
}

// HelmPage is the page for all that is done with the chart.
const HelmPage = "docs/operator/helm.md"
