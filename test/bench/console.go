package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
	"github.com/fairlead/fairlead/test/browser"
)

// localConsole measures `kubectl fairlead console` among all routes, with a browser.
func (b *bench) localConsole(ctx context.Context, plugin string) error {
	b.progress("the console on the user's machine, in a browser")
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	command := exec.CommandContext(ctx, plugin, "console", "--no-open")
	command.Env = append(os.Environ(), "KUBECONFIG="+b.rig.Kubeconfig())
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return fmt.Errorf("start the console: %w", err)
	}
	lines := bufio.NewScanner(out)
	link := ""
	for link == "" && lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) == 2 && f[0] == "console" {
			link = f[1]
		}
	}
	defer func() {
		stop()
		_ = command.Wait() // it was asked to end
	}()
	go func() {
		for lines.Scan() { // what it prints later
			continue
		}
	}()
	there, err := withBrowser(ctx, b.dir, func(t browser.T) { b.inBrowser(t, link) })
	if err != nil {
		return err
	}
	if !there {
		b.progress("no browser: run `go run ./test/tools chromium`")
		return nil
	}
	of := rig.UsageOf(command.Process.Pid)
	b.report.Require("console on the user's machine: the most memory", report.Megabytes(of.Peak), "MB", report.AtMost(250), fmt.Sprintf("resident, %.0f MB at the end", report.Megabytes(of.Memory)))
	return nil
}

// loads is how often the page of all Routes is loaded.
const loads = 10

// inBrowser measures what a user of the console waits for.
func (b *bench) inBrowser(t browser.T, link string) {
	page := browser.Start(t).Page(t)
	page.Look(t, 1280, 900, "light")
	page.Open(t, link)
	page.Await(t, "the first page", `document.querySelector("h1").textContent === "Overview"`)
	base := page.Eval(t, "location.href")
	number := func(expression string) float64 {
		n, err := strconv.ParseFloat(page.Eval(t, expression), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var paint, usable []float64
	for range loads {
		page.Open(t, base+"routes")
		page.Await(t, "it is painted", `performance.getEntriesByName("first-contentful-paint").length > 0 && document.querySelectorAll("tbody tr").length > 10`)
		paint = append(paint, number(`performance.getEntriesByName("first-contentful-paint")[0].startTime`))
		usable = append(usable, number(`performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd`))
	}
	b.report.Require("console: first paint of the list of Routes", slices.Max(paint), "ms", report.AtMost(300), fmt.Sprintf("the longest of %d, median %.0f", loads, median(paint)))
	b.report.Require("console: the same, usable", slices.Max(usable), "ms", report.AtMost(800), fmt.Sprintf("scripts have run; median %.0f", median(usable)))
	b.typing(t, page)
	b.scrolling(t, page, base)
	m := page.Metrics(t)
	b.report.Require("console: heap of JavaScript", m["JSHeapUsedSize"]/1e6, "MB", report.AtMost(30), "after a collection of garbage")
	b.report.Require("console: elements of the page", number(`document.querySelectorAll("*").length`), "", report.AtMost(1500), fmt.Sprintf("with texts and attributes, of all documents of the tab: %.0f nodes", m["Nodes"]))
}

// narrowed resolves to how long it takes from the next key in the filter to the frame with the
// rows that it chooses.
const narrowed = `(window.narrowed = new Promise((done) => {
	let at = 0;
	addEventListener("input", (e) => { at = e.timeStamp; }, { capture: true, once: true });
	new MutationObserver((_, o) => {
		o.disconnect();
		requestAnimationFrame(() => done(performance.now() - at));
	}).observe(document.getElementById("content"), { childList: true });
}), true)`

// typing measures a filter that is typed, key by key.
func (b *bench) typing(t browser.T, page *browser.Page) {
	page.Await(t, "the script runs", `!document.getElementById("keys-open").hidden`)
	page.Key(t, "/")
	page.Await(t, "the filter has the focus", `document.activeElement.id === "q"`)
	var took []float64
	for _, key := range "fill12 -ns:x host:fill123" {
		page.Eval(t, narrowed)
		page.Key(t, string(key))
		answer := page.Eval(t, `Promise.race([window.narrowed, new Promise((r) => setTimeout(() => r("none"), 1500))])`)
		if answer == "none" { // the text is not yet one that is understood, such as "-"
			continue
		}
		n, err := strconv.ParseFloat(answer, 64)
		if err != nil {
			t.Fatalf("a key in the filter: %s", answer)
		}
		took = append(took, n)
	}
	if len(took) < 10 || page.Eval(t, `document.querySelectorAll("tbody tr").length`) == "0" {
		t.Fatalf("the filter chose rows %d times", len(took))
	}
	slices.Sort(took)
	b.report.Require("console: key in the filter to rows, p95", took[len(took)*95/100], "ms", report.AtMost(100), fmt.Sprintf("of %d keys, median %.0f, the longest %.0f", len(took), median(took), took[len(took)-1]))
}

// scrolling measures the frames while a page is scrolled.
func (b *bench) scrolling(t browser.T, page *browser.Page, base string) {
	page.Open(t, base+"routes")
	text := page.Eval(t, `new Promise((done) => {
		const frames = [];
		let last = 0, n = 0;
		const step = (now) => {
			if (last) { frames.push(now - last); }
			last = now;
			scrollBy(0, n++ % 120 < 60 ? 40 : -40);
			frames.length < 240 ? requestAnimationFrame(step) : done(frames.sort((a, b) => a - b)[Math.floor(frames.length * .95)]);
		};
		requestAnimationFrame(step);
	})`)
	frame, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("scrolling: %s", text)
	}
	b.report.Require("console: frame while scrolling, p95", frame, "ms", report.AtMost(33), "of 240 frames")
}

// clusterConsole measures the console of a cluster with many viewers.
func (b *bench) clusterConsole(ctx context.Context, program string) error {
	b.progress("the console in the cluster, %d viewers", viewers)
	c, err := b.startConsole(ctx, program)
	if err != nil {
		return err
	}
	defer c.stop()
	all, err := b.logIn(ctx, c)
	if err != nil {
		return err
	}
	began := time.Now()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	ended := watchAll(watching, all)
	took, err := b.look(ctx, all)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, c.logEnd())
	}
	of := rig.UsageOf(c.command.Process.Pid)
	b.report.Require(fmt.Sprintf("console in the cluster, %d viewers: the most memory", viewers), report.Megabytes(of.Peak), "MB", report.AtMost(200),
		fmt.Sprintf("resident, %.0f anonymous at the end; %d pages in %.0f s, median %.0f, p99 %.0f ms, a Route changes each %s", report.Megabytes(of.Anonymous), len(took), time.Since(began).Seconds(), median(took), took[len(took)*99/100], changeEvery))
	if err := pause(ctx, calm); err != nil {
		return err
	}
	before, err := rig.CPUTime(c.command.Process.Pid)
	if err != nil {
		return err
	}
	began = time.Now()
	if err := pause(ctx, calm); err != nil {
		return err
	}
	after, err := rig.CPUTime(c.command.Process.Pid)
	if err != nil {
		return err
	}
	b.report.Require("the same, CPU while nothing changes", (after-before)/time.Since(began).Seconds()*100, "%", report.AtMost(5), fmt.Sprintf("of one core, %d streams open", viewers))
	of = rig.UsageOf(c.command.Process.Pid)
	b.report.Figure("the same, memory then", report.Megabytes(of.Memory), "MB", fmt.Sprintf("resident, %.0f anonymous", report.Megabytes(of.Anonymous)))
	stop()
	ended()
	_ = os.WriteFile("/tmp/console.log", c.log.Bytes(), 0o600)
	return nil
}

// writeFiles writes texts into files of a folder.
func writeFiles(dir string, texts map[string]string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write a file: %w", err)
		}
	}
	return nil
}
