package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fairlead/fairlead/docs"
)

func (c *command) docsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "docs [PAGE|NAME]",
		Short: "Show a page of the documentation, or what it says about a reason, metric or annotation",
		Long: `kubectl fairlead docs lists the pages of the documentation of this version. With PAGE it shows one as plain text, with NAME
the rows about a reason, a metric, an annotation or a field. It reads neither a cluster nor the network.

Exit code: 0 shown, 1 there is no such page or name, or several pages end in it.`,
		Example: `  kubectl fairlead docs
  kubectl fairlead docs routes/tls
  kubectl fairlead docs FL101
  kubectl fairlead docs HostAlreadyClaimed`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var all []cobra.Completion
			for _, p := range docs.Pages() {
				if len(args) == 0 && strings.HasPrefix(p.Name, typed) {
					all = append(all, cobra.CompletionWithDesc(p.Name, p.Title))
				}
			}
			return all, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.listPages(docs.Pages())
			}
			return c.showPage(args[0])
		},
	}
}

func (c *command) listPages(pages []docs.Page) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for _, p := range pages {
		fmt.Fprintf(w, "%s\t%s\n", p.Name, p.Title)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write the list of pages: %w", err)
	}
	return nil
}

// showPage shows a page, or else what tables say about a name.
func (c *command) showPage(name string) error {
	pages := docs.Find(name)
	if len(pages) == 1 {
		fmt.Fprint(c.out, pages[0].Text())
		return nil
	}
	if len(pages) > 1 {
		c.code = exitBad
		fmt.Fprintf(c.err, "%d pages end in %q; use the whole name of one:\n", len(pages), name)
		return c.listPages(pages)
	}
	rows := docs.Rows(name)
	if len(rows) == 0 {
		c.code = exitBad
		fmt.Fprintf(c.err, "the documentation has no page %q, and no table with this name; kubectl fairlead docs lists the pages\n", name)
		return nil
	}
	for i, row := range rows {
		if i > 0 {
			fmt.Fprintln(c.out)
		}
		fmt.Fprintf(c.out, "%s: %s\n%s", row.Page.Name, row.Page.Title, row.Text())
	}
	return nil
}
