package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/observe"
	"github.com/fairlead/fairlead/router/observe/tail"
	"github.com/fairlead/fairlead/router/observe/tail/cluster"
)

// TestTail: streams of two routers become lines in order, and a summary.
func TestTail(t *testing.T) {
	t.Parallel()
	record := func(second int, path string) *observe.Record {
		return &observe.Record{
			Time: time.Date(2026, 12, 1, 12, 0, second, 0, time.UTC), Method: "GET", Host: "www.example.com", Path: path, PathBytes: len(path), Status: 200,
			Protocol: "HTTP/1", Pod: "web-a", Client: "192.0.2.1", Ended: "--",
		}
	}
	for form, want := range map[string][]string{
		"text": {
			`12:00:01.000  b      GET  www.example.com/first\u001b[2J  200      0 ms  web-a             192.0.2.1          HTTP/1  queue 0  connect 0  answer 0  data 0`,
			`12:00:02.000  a      GET  www.example.com/second    200      0 ms  web-a             192.0.2.1          HTTP/1  queue 0  connect 0  answer 0  data 0`,
		},
		"json": {`"router":"router-default-b",`, `"path":"/second",`},
	} {
		events := make(chan cluster.Event, 10)
		for _, e := range []cluster.Event{
			{Router: "router-default-a", Line: observe.Line{State: &observe.Stream{Observing: true}}},
			{Router: "router-default-a", Line: observe.Line{Record: record(2, "/second")}},
			{Router: "router-default-b", Line: observe.Line{Record: record(1, "/first\x1b[2J")}},
			{Router: "router-default-a", Line: observe.Line{State: &observe.Stream{Observing: true, Seen: 4, Left: 2, Lost: 1}}},
			{Router: "router-default-b", Line: observe.Line{State: &observe.Stream{Problem: "HAProxy is too old"}}},
			{Router: "router-default-b", Err: errors.New("it has ended the stream")},
		} {
			events <- e
		}
		close(events)
		var out, errs bytes.Buffer
		c, o := &command{out: &out, err: &errs, screen: &out}, &options{output: form}
		run := &tailing{
			flags: &tailFlags{}, filter: &observe.Filter{}, every: 1, routers: []string{"router-default-a", "router-default-b"},
			text: tail.Text{Zone: time.UTC, Hosts: true}, states: map[string]observe.Stream{},
		}
		if err := c.follow(context.Background(), o, run, events); err == nil {
			t.Error("all streams have ended, and nothing says so")
		}
		if err := c.rest(o, run); err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSpace(out.String()), "\n")
		for i, w := range want {
			if len(got) != len(want) || form == "text" && got[i] != w || !strings.Contains(got[i], w) || strings.Contains(got[i], "\x1b") {
				t.Errorf("%s:\n%s\nwant\n%s", form, out.String(), strings.Join(want, "\n"))
				break
			}
		}
		said := errs.String() + run.summary()
		if d := cmp.Diff("note: router router-default-b shows no requests: HAProxy is too old\nnote: router router-default-b: it has ended the stream\n"+
			"-- 2 routers; 2 requests shown, 2 left out by routers, which send 1,000 in a second, 1 lost", said); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
}

// TestTailFlags: what is wrong is said before a cluster is asked.
func TestTailFlags(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]tailFlags{
		"name a Route":       {length: time.Minute},
		"--sample":           {length: time.Minute, all: true, sample: "10"},
		"--for":              {all: true},
		"neither a status":   {length: time.Minute, all: true, status: "50"},
		"neither an address": {length: time.Minute, all: true, client: "10.0.0.0/99"},
	} {
		if _, _, err := f.filter(nil, &options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	f := tailFlags{length: time.Minute, status: "5xx", slow: time.Second, sample: "1/10", client: "10.0.0.0/8"}
	filter, every, err := f.filter([]string{"web/cart"}, &options{})
	if err != nil || every != 10 || filter.Status != "5xx" || filter.Slow != time.Second || !filter.Client.IsValid() {
		t.Errorf("%+v %d %v", filter, every, err)
	}
}
