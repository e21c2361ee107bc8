package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

// canary gives requests with a header to the second version, while the Route serves, and
// takes them back.
func (d *demo) canary(ctx context.Context) error {
	const host, annotation = "plain.apps.example.com", "fairlead.dev/canary"
	const conditions = "demo-v2:http header:X-Canary=always not-header:X-Canary=never"
	with := d.curl("-H 'X-Canary: always'", "http", host, "/text")
	without := d.curl("", "http", host, "/text")
	if err := d.expect(ctx, with, "demo v1"); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "-n", "demo", "annotate", "route", "plain", annotation+"="+conditions); err != nil {
		return err
	}
	took, err := d.awaitText(ctx, with, "demo v2")
	if err != nil {
		return err
	}
	d.say("live %s after kubectl returned, the start of curl included", milliseconds(took))
	for command, version := range map[string]string{with: "demo v2", without: "demo v1", d.curl("-H 'X-Canary: never'", "http", host, "/text"): "demo v1"} {
		if err := d.expect(ctx, command, version); err != nil {
			return err
		}
	}
	_, undo := d.kubectl(ctx, "-n", "demo", "annotate", "route", "plain", annotation+"-")
	_, err = d.awaitText(ctx, with, "demo v1")
	return errors.Join(undo, err)
}

// awaitText asks until an answer has a text, and returns how long that took.
func (d *demo) awaitText(ctx context.Context, command, text string) (time.Duration, error) {
	began := time.Now()
	err := wait.Poll{Limit: liveLimit, Every: wait.NoPause}.Until(ctx, "an answer with "+text, func() error {
		out, err := d.cluster.Exec(ctx, "client", "sh", "-c", command)
		if err == nil && !strings.Contains(out, text) {
			err = fmt.Errorf("the answer is %q", out)
		}
		return err
	})
	return time.Since(began), err
}
