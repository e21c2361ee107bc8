// Package browser drives Debian's headless Chromium in tests, by its own protocol over a
// pipe: no port is open, and no driver is needed.
//
//	b := browser.Start(t)          // skips the test if the tools folder has none
//	page := b.Page(t)
//	page.Open(t, "http://127.0.0.1:8080/")
//	page.Await(t, "the heading", `document.querySelector("h1").textContent === "Routes"`)
package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

// T is the part of testing.TB that is needed, so that a program that measures can have a browser.
type T interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Error(args ...any)
	Skip(args ...any)
	TempDir() string
	Cleanup(f func())
}

// Browser is a running Chromium.
type Browser struct {
	in io.Writer

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
	ended   error
}

// reply is an answer of the protocol, or an event, which has no id.
type reply struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// refusal is what Chromium says to a call that it does not carry out.
type refusal struct{ message string }

func (r *refusal) Error() string { return r.message }

// Start runs a Chromium until the test ends, and skips the test without one.
func Start(t T) *Browser {
	t.Helper()
	program, err := toolset.Path("chromium-headless-shell")
	if err != nil {
		t.Skip("no browser: run `go run ./test/tools chromium`")
	}
	toBrowser, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile := filepath.Join(t.TempDir(), "profile")
	// No context of the test: that ends before its cleanups, and would kill Chromium while its
	// other processes still write into the profile.
	cmd := exec.Command(program, "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--force-device-scale-factor=1", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // 3 and 4, as the flag says
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = errors.Join(toBrowser.Close(), fromBrowser.Close()) // the child has them
	b := &Browser{in: in, waiting: map[int]chan reply{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.receive(bufio.NewReaderSize(out, 1<<20))
	}()
	t.Cleanup(func() {
		end(t, b, cmd, profile)
		_ = in.Close()
		<-done
		_ = out.Close()
	})
	return b
}

// end closes Chromium, and removes its profile, which processes of it may write a moment longer.
func end(t T, b *Browser, cmd *exec.Cmd, profile string) {
	t.Helper()
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	hangs := time.AfterFunc(20*time.Second, kill)
	_, _ = b.call("", "Browser.close", map[string]any{})
	_ = cmd.Wait()
	if !hangs.Stop() {
		t.Error("chromium did not end in 20 s")
	}
	kill() // what outlives it
	wait.Poll{}.For(t, "the end of writes to chromium's profile", func() error { return os.RemoveAll(profile) })
}

// receive hands on answers until Chromium ends.
func (b *Browser) receive(r *bufio.Reader) {
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			b.ended = errors.New("chromium has ended")
			for id, c := range b.waiting {
				close(c)
				delete(b.waiting, id)
			}
			b.mu.Unlock()
			return
		}
		var a reply
		if json.Unmarshal(text[:len(text)-1], &a) != nil || a.ID == 0 {
			continue // an event
		}
		b.mu.Lock()
		if c := b.waiting[a.ID]; c != nil {
			c <- a
			delete(b.waiting, a.ID)
		}
		b.mu.Unlock()
	}
}

// call asks Chromium to do something, for a page if the session is not empty.
func (b *Browser) call(session, method string, params any) (json.RawMessage, error) {
	b.mu.Lock()
	if b.ended != nil {
		b.mu.Unlock()
		return nil, b.ended
	}
	b.last++
	id, answer := b.last, make(chan reply, 1)
	b.waiting[id] = answer
	text, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{id, session, method, params})
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	a, ok := <-answer
	switch {
	case !ok:
		return nil, fmt.Errorf("%s: chromium has ended", method)
	case a.Error != nil:
		return nil, &refusal{method + ": " + a.Error.Message}
	}
	return a.Result, nil
}

// Page is a tab.
type Page struct {
	browser         *Browser
	target, session string
}

// Page opens a tab.
func (b *Browser) Page(t T) *Page {
	t.Helper()
	var target struct{ TargetID string }
	p := &Page{browser: b}
	p.do(t, "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	p.do(t, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	p.target, p.session = target.TargetID, session.SessionID
	return p
}

// do calls a method, and reads its result unless that is nil.
func (p *Page) do(t T, method string, params map[string]any, result any) {
	t.Helper()
	text, err := p.browser.call(p.session, method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(text, result)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Open goes to an address, and waits until the page is complete.
func (p *Page) Open(t T, address string) {
	t.Helper()
	p.do(t, "Page.navigate", map[string]any{"url": address}, nil)
	p.Await(t, "the page is complete", `document.readyState === "complete" && location.href !== "about:blank"`)
}

// Eval returns what an expression is, as text. It begins with "exception" if the expression
// throws one, and is "gone" if the page was left meanwhile, as after a click on a link.
func (p *Page) Eval(t T, expression string) string {
	t.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	text, err := p.browser.call(p.session, "Runtime.evaluate", map[string]any{
		"expression": "(async () => String(await (" + expression + ")))()", "awaitPromise": true, "returnByValue": true, "userGesture": true,
	})
	if refused, ok := errors.AsType[*refusal](err); ok {
		return "gone: " + refused.Error()
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out.ExceptionDetails != nil {
		return "exception: " + out.ExceptionDetails.Exception.Description
	}
	return fmt.Sprint(out.Result.Value)
}

// Await waits until an expression is true.
func (p *Page) Await(t T, what, expression string) {
	t.Helper()
	wait.Poll{}.For(t, what, func() error {
		if got := p.Eval(t, expression); got != "true" {
			return fmt.Errorf("%s is %s; at %s", expression, got, p.Eval(t, "location.href"))
		}
		return nil
	})
}

// Look sets the size of the window and the colours that the user prefers, "light" or "dark".
func (p *Page) Look(t T, width, height int, scheme string) {
	t.Helper()
	p.do(t, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	p.Prefer(t, map[string]string{"prefers-color-scheme": scheme})
}

// Prefer sets what the user prefers, by the names of media features. What is not named is as
// the browser has it.
func (p *Page) Prefer(t T, features map[string]string) {
	t.Helper()
	all := []map[string]any{}
	for name, value := range features {
		all = append(all, map[string]any{"name": name, "value": value})
	}
	p.do(t, "Emulation.setEmulatedMedia", map[string]any{"features": all}, nil)
}

// AnyCertificate takes servers for what they say they are.
func (p *Page) AnyCertificate(t T) {
	t.Helper()
	p.do(t, "Security.setIgnoreCertificateErrors", map[string]any{"ignore": true}, nil)
}

// NoScript switches the scripts of pages off.
func (p *Page) NoScript(t T) {
	t.Helper()
	p.do(t, "Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
}

// Before runs a script in each page that is opened from now on, before its own.
func (p *Page) Before(t T, script string) {
	t.Helper()
	p.do(t, "Page.enable", map[string]any{}, nil)
	p.do(t, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script}, nil)
}

// Metrics are what Chromium counts of the page, by its names: such as JSHeapUsedSize, in bytes,
// and Nodes. Garbage is collected first.
func (p *Page) Metrics(t T) map[string]float64 {
	t.Helper()
	p.do(t, "HeapProfiler.collectGarbage", map[string]any{}, nil)
	p.do(t, "Performance.enable", map[string]any{}, nil)
	var out struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	p.do(t, "Performance.getMetrics", map[string]any{}, &out)
	all := map[string]float64{}
	for _, m := range out.Metrics {
		all[m.Name] = m.Value
	}
	return all
}

// Key presses a key that writes a character.
func (p *Page) Key(t T, key string) {
	t.Helper()
	p.do(t, "Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "text": key}, nil)
	p.do(t, "Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// namedKeys are keys that write nothing, or another character than their name, with the codes
// of the protocol.
var namedKeys = map[string]struct {
	code int
	text string
}{"Tab": {9, ""}, "Enter": {13, "\r"}, "Escape": {27, ""}, "Backspace": {8, ""}, "Space": {32, " "}, "ArrowUp": {38, ""}, "ArrowDown": {40, ""}}

// Press presses a key with a name, such as "Tab" or "Enter".
func (p *Page) Press(t T, key string, shift bool) {
	t.Helper()
	of, known := namedKeys[key]
	if !known {
		t.Fatalf("no key %q", key)
	}
	params := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": of.code, "nativeVirtualKeyCode": of.code, "text": of.text, "modifiers": 0}
	if key == "Space" {
		params["key"] = " "
	}
	if shift {
		params["modifiers"] = 8
	}
	p.do(t, "Input.dispatchKeyEvent", params, nil)
	params["type"], params["text"] = "keyUp", ""
	p.do(t, "Input.dispatchKeyEvent", params, nil)
}

// Type writes text where the focus is.
func (p *Page) Type(t T, text string) {
	t.Helper()
	p.do(t, "Input.insertText", map[string]any{"text": text}, nil)
}

// Close closes the tab.
func (p *Page) Close(t T) {
	t.Helper()
	p.do(t, "Target.closeTarget", map[string]any{"targetId": p.target}, nil)
}

// Picture is the window as PNG.
func (p *Page) Picture(t T) []byte {
	t.Helper()
	var out struct{ Data string }
	p.do(t, "Page.captureScreenshot", map[string]any{"format": "png"}, &out)
	text, err := base64.StdEncoding.DecodeString(out.Data)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
