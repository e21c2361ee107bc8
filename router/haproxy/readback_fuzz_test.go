package haproxy

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// impostor answers on both sockets of a layout as no HAProxy does: each command,
// and each HTTP request, with the same text.
type impostor struct {
	layout render.Layout
	answer atomic.Pointer[string]
}

func newImpostor(t testing.TB) *impostor {
	t.Helper()
	dir, err := os.MkdirTemp("", "fl") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	i := &impostor{layout: render.Layout{Dir: dir}}
	if err := os.Mkdir(i.layout.RunDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, prefix := range map[string]string{"admin.sock": "", "stats.sock": "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "master.sock": ""} {
		l, err := net.Listen("unix", i.layout.RunDir()+"/"+name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				command, _ := bufio.NewReader(conn).ReadString('\n')
				text := *i.answer.Load()
				if strings.Contains(command, "show info typed") {
					text = typedInfo(text)
				}
				_, _ = fmt.Fprint(conn, prefix+text)
				_ = conn.Close()
			}
		}()
	}
	return i
}

// typedInfo returns the lines of a text that are of "show info typed", if it has
// some: the library reads no other line than these.
func typedInfo(text string) string {
	var lines []string
	for l := range strings.Lines(text) {
		if strings.Contains(l, ":u32:") {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return text
	}
	return strings.Join(lines, "")
}

// TestNoInfo: an answer to "show info" that did not come, or was cut off, is an error
// and not a process without limits.
func TestNoInfo(t *testing.T) {
	t.Parallel()
	i := newImpostor(t)
	r, err := NewRuntime(i.layout, plan.Capabilities{})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "cut off": "6.Pid.1:MGP:u32:7\n15.Maxco", "cut off in a number": "6.Pid.1:MGP:u32:7\n15.Maxconn.1:CLP:u32:",
		"without limits": "6.Pid.1:MGP:u32:7\n", "a refusal": "[3]: Permission denied\n",
	} {
		i.answer.Store(&text)
		if steps, n, err := r.processLimits(); !errors.Is(err, ErrGone) {
			t.Errorf("%s: %v, %d, %v", name, steps, n, err)
		}
	}
}

// TestUnanswered: a step counts as done only by its own answer. A socket that answers
// nothing, or only a part, has done nothing as far as anybody may tell.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	i := newImpostor(t)
	r, err := NewRuntime(i.layout, plan.Capabilities{})
	if err != nil {
		t.Fatal(err)
	}
	steps := []plan.Step{
		plan.EntrySet{Entry: plan.Entry{Map: plan.MapHTTP, Key: "a.test/"}, Value: "x"},
		plan.EntrySet{Entry: plan.Entry{Map: plan.MapHTTP, Key: "b.test/"}, Value: "x"},
	}
	const answered = "\n[6]: 3.4.7\n"
	for name, c := range map[string]struct {
		answer string
		done   int
	}{
		"nothing": {"", 0}, "an empty line": {"\n", 0}, "a cut answer": {"\n[6]: 3.", 0}, "the first answer": {answered, 1},
		"the first answer, and a part": {answered + "\n[6", 1}, "both": {answered + answered, 2},
	} {
		i.answer.Store(&c.answer)
		done := 0
		err := r.Apply(steps, func(plan.Step) { done++ })
		refusal, refused := errors.AsType[*RefusedError](err)
		switch {
		case c.done == len(steps):
			if err != nil || done != len(steps) {
				t.Errorf("%s: %d steps done, %v", name, done, err)
			}
		case errors.Is(err, ErrGone) && done == 0:
		case !refused || !refusal.Unanswered || len(refusal.Steps) != len(steps)-c.done || done != c.done:
			t.Errorf("%s: %d steps done, %v", name, done, err)
		}
	}
}

// answers are HAProxy's to the commands by which its state is read, for one route.
const answers = "0x55 h.test/ be_http:a:r:1|a|x||1000\n" +
	"be_http:a:r:1\nrouter_default\n" +
	"1\n# be_id be_name srv_id srv_name\n4 be_http:a:r:1 1 s1 198.18.0.1 2 0 100 1 0 1 0 0 6 0 0 0 - 80 - 0 0 - - 0\n" +
	`haproxy_server_limit_sessions{proxy="be_http:a:r:1",server="s1"} 10` + "\n" +
	"*/d/certs/open.pem\n/d/certs/a_r_1.pem\n/etc/other.pem\n/d/certs/a_r_1.ca - 1 certificate(s)\n" +
	"# /d/crt.list\n/d/certs/a_r_1.pem:1 [alpn h2] h.test\n" +
	"Filename: /d/certs/a_r_1.pem\nSHA1 FingerPrint: 4806827708EBF92172FCC0138B867FBF3B8EF416\n" +
	"[6]: 3.4.7\n" + "Pid: 7\nVersion: 3.4.7\ndescription: x\n" +
	"6.Pid.1:MGP:u32:7\n15.Maxconn.1:CLP:u32:10\n16.Hard_maxconn.1:CLP:u32:11\n30.SessRateLimit.1:CLP:u32:5\n" +
	"public,FRONTEND,,,0,0,500,0,0,0,0,0,0,,,,,OPEN,,,\npublic,FRONTEND,,,0,0,5,0,0,0,0,0,0,,,,,STOP,,,\nbe_http:a:r:1,BACKEND,0,0,0,0,50,0,0,0,0,0,0,,0,0,0,UP (UNPUB),1\n"

// TestReadBackOfAnswers: the answers that the fuzzer starts from are understood.
func TestReadBackOfAnswers(t *testing.T) {
	t.Parallel()
	i := newImpostor(t)
	text := strings.ReplaceAll(answers, "/d/", i.layout.Dir+"/")
	i.answer.Store(&text)
	r, err := NewRuntime(i.layout, plan.Capabilities{DynamicBackends: true})
	if err != nil {
		t.Fatal(err)
	}
	st, err := r.ReadBack()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Inspect(st, plan.NewState()); err != nil {
		t.Fatal(err)
	}
	if b := st.Backends["be_http:a:r:1"]; b == nil || b.Servers.Get("s1") == nil || b.Servers.Get("s1").MaxConn != 10 || !b.Unpublished ||
		len(st.Lines) == 0 || len(st.Certs) == 0 || len(st.CAs) == 0 || len(st.Repairs) == 0 || st.Broken == "" ||
		st.Entries[plan.Entry{Map: plan.MapHTTP, Key: "h.test/"}] != "be_http:a:r:1|a|x||1000" {
		t.Errorf("read back as %+v", st)
	}
}

// FuzzReadBack: whatever a program behind HAProxy's sockets answers, reading it
// back ends, and gives names and steps that can be sent, or an error.
func FuzzReadBack(f *testing.F) {
	f.Add(answers)
	f.Add(strings.Replace(answers, "*/d/certs/open.pem\n", "", 1))
	for l := range strings.Lines(answers) {
		f.Add(strings.Repeat(l, 3))
		for _, odd := range []string{"\n", "\t", "\r", "\x00", "\f", " ", ",", "-1", "99999999999999999999", strings.Repeat("x", 70<<10)} {
			f.Add(strings.Replace(l, "1", odd, 1))
		}
	}
	i := newImpostor(f)
	caps := plan.Capabilities{DynamicBackends: true, MaxPayload: 1 << 20}
	r, err := NewRuntime(i.layout, caps)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "/d/", i.layout.Dir+"/")
		i.answer.Store(&text)
		_, _ = r.Info()
		_, _ = OldWorkers(i.layout)
		known := plan.NewState()
		known.Certs["a:r:1"] = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
		if _, err := r.Digest(known, Everything); err != nil && !errors.Is(err, ErrGone) && !errors.Is(err, errTooLong) {
			t.Logf("no digest: %v", err)
		}
		st, err := r.ReadBack()
		if err != nil {
			return
		}
		if err := r.Inspect(st, known); err != nil {
			return
		}
		// All of it is put right, in commands that mean nothing else.
		p := plan.Diff(st, plan.NewState(), plan.FullScope(st), caps)
		steps := p.Steps
		for _, s := range p.Removals {
			steps = append(steps, plan.Removal(st, s)...)
		}
		for _, s := range steps {
			lines, err := encode([]plan.Step{s}, i.layout, caps, minCommand)
			for _, l := range lines {
				checkLine(t, l)
			}
			if refusal, ok := errors.AsType[*RefusedError](err); err != nil && (!ok || len(refusal.Steps) != 1) {
				t.Errorf("%#v: %v", s, err)
			}
		}
	})
}

// checkLine looks for what ends a command and was not meant to.
func checkLine(t *testing.T, l *line) {
	t.Helper()
	command := l.text.String()
	if l.payload {
		command, _, _ = strings.Cut(command, "\n")
	}
	if strings.ContainsAny(command, "\n\r\x00") {
		t.Errorf("%q", command)
	}
}

// TestAnswersAreBounded: a program that never ends its answer, or a line of it,
// does not fill the router's memory.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]string{"a line": strings.Repeat("x", maxKeptLine+1), "lines": strings.Repeat("x\n", 600)} {
		if err := eachLine(&bounded{strings.NewReader(from), 1000}, func(string) {}); !errors.Is(err, errTooLong) {
			t.Errorf("%s: %v", name, err)
		}
		var r Runtime
		r.lines = bufio.NewReaderSize(nil, 16)
		if err := r.eachBytes(&bounded{strings.NewReader(from), 1000}, func([]byte) {}); !errors.Is(err, errTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := eachLine(strings.NewReader(strings.Repeat("x", maxKeptLine+1)), func(string) {}); !errors.Is(err, errTooLong) {
		t.Errorf("a line alone: %v", err)
	}
}
