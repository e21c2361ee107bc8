package haproxy

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// Blamed is an object that HAProxy named when it refused to start.
type Blamed struct {
	// Step would create the object; it leads to the route that owns it.
	Step    plan.Step
	Message string
}

var (
	alertLine = regexp.MustCompile(`\[ALERT\][^\n]*`)
	// fileLine is a line of a file in HAProxy's messages, "[FILE:LINE]".
	fileLine = regexp.MustCompile(`\[([^\]\s]+):(\d+)\]`)
	// certFile is the file of a certificate in HAProxy's messages.
	certFile = regexp.MustCompile(`[^\s'":]+/certs/[^\s'":]+\.(?:pem|ca)`)
	// backendName is the name of a route's backend in HAProxy's messages.
	backendName = regexp.MustCompile(`be_(?:http|edge_http|secure|tcp):[^\s'"/]+`)
)

// Blame finds the objects that HAProxy's start-up messages are about, by the
// names and the lines of its configuration that they mention. It must be called
// while the refused files are still there.
func Blame(l render.Layout, messages string) []Blamed {
	var out []Blamed
	for _, alert := range alertLine.FindAllString(messages, -1) {
		_, text, _ := strings.Cut(alert, " : ")
		if name := backendName.FindString(alert); name != "" {
			out = append(out, Blamed{plan.BackendAdd{Name: name}, text})
			continue
		}
		if file := certFile.FindString(alert); file != "" {
			if id, ok := l.CertID(file); ok {
				out = append(out, Blamed{plan.CertPut{ID: id}, text})
			} else if id, ok := l.CAID(file); ok {
				out = append(out, Blamed{plan.CAPut{ID: id}, text})
			}
			continue
		}
		if m := fileLine.FindStringSubmatch(alert); m != nil && m[1] == l.Config() {
			if line, err := strconv.Atoi(m[2]); err == nil {
				if name := backendAt(l.Config(), line); name != "" {
					out = append(out, Blamed{plan.BackendAdd{Name: name}, text})
				}
			}
		}
	}
	return out
}

// backendAt returns the backend whose section holds a line of a file, or "".
func backendAt(file string, line int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	name, n := "", 0
	for l := range strings.Lines(string(text)) {
		if n++; n > line {
			break
		}
		if l == "" || l[0] == ' ' || l[0] == '\n' || l[0] == '#' {
			continue
		}
		name = ""
		if words := strings.Fields(l); len(words) > 1 && words[0] == "backend" {
			name = words[1]
		}
	}
	if !backendName.MatchString(name) {
		return "" // a section of the skeleton
	}
	return name
}

// Check asks HAProxy whether it would start from the files. It returns what
// HAProxy has against them, or nothing.
func Check(ctx context.Context, binary string, l render.Layout) (string, error) {
	out, err := exec.CommandContext(ctx, binary, "-c", "-f", l.Config()).CombinedOutput()
	if err == nil {
		return "", nil
	}
	// A process that was stopped half-way has refused nothing, whatever it has printed.
	if ctx.Err() != nil {
		return "", fmt.Errorf("check HAProxy's configuration: %w", ctx.Err())
	}
	if len(out) == 0 {
		return "", fmt.Errorf("check HAProxy's configuration: %w", err)
	}
	return string(out), nil
}
