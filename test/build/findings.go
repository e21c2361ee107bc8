package build

import (
	"fmt"
	"slices"

	"github.com/fairlead/fairlead/api"
)

// Undeclared returns an error for a finding whose reason has no row in the tables
// of package api, or that is more severe than its row says.
func Undeclared(findings []api.Finding) error {
	order := []api.Severity{"", api.SeverityInfo, api.SeverityWarning, api.SeverityError}
	for _, f := range findings {
		row, ok := api.RemedyOf(f.Reason)
		if !ok || slices.Index(order, f.Severity) > slices.Index(order, row.Severity) {
			return fmt.Errorf("%v: the row of %s in package api has the severity %q", f, f.Reason, row.Severity)
		}
	}
	return nil
}
