package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// speedScript makes wrk ask random hosts of a pattern for distinct URLs, and
// print what came of it. With a pause, in milliseconds, each connection waits
// so long on average before it asks again.
const speedScript = `
local n, hosts, pause = 0, %d, %d
math.randomseed(%d)
request = function()
  n = n + 1
  return "GET /some/path/" .. n .. "?q=1 HTTP/1.1\r\nHost: %s" .. math.random(0, hosts - 1) .. ".%s\r\nUser-Agent: wrk\r\nAccept: */*\r\n\r\n"
end
if pause > 0 then
  delay = function() return math.random(0, 2 * pause) end
end
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format("\nRESULT %%d %%d %%d %%d %%d\n", summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.timeout + e.status))
end
`

// Speed is how a proxy is asked as fast as it answers, or with pauses.
type Speed struct {
	// Port is where it listens, on 127.0.0.1.
	Port int
	// Prefix and a number below Hosts make the name of a route.
	Prefix string
	Hosts  int
	// Connections are kept for the whole time.
	Connections int
	For         time.Duration
	// Pause is the mean time that a connection waits between two requests.
	Pause time.Duration
	// Processor is where wrk runs. With Urgent it goes before everything else
	// there, so that what else runs is not measured.
	Processor int
	Urgent    bool
}

// SpeedResult is what wrk saw.
type SpeedResult struct {
	// PerSecond counts requests.
	PerSecond float64
	// P50 and P99 are the time to the whole answer.
	P50, P99 time.Duration
	// Failed is the number of requests that failed in any way.
	Failed int
}

// Measure runs wrk.
func (r *Rig) Measure(ctx context.Context, s Speed) (SpeedResult, error) {
	script := filepath.Join(r.Dir, "speed.lua")
	text := fmt.Sprintf(speedScript, s.Hosts, s.Pause.Milliseconds(), time.Now().UnixNano()%1e9, s.Prefix, Domain)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return SpeedResult{}, fmt.Errorf("write wrk's script: %w", err)
	}
	args := []string{"taskset", "-c", fmt.Sprint(s.Processor)}
	if s.Urgent {
		args = append(args, "chrt", "-f", "2")
	}
	args = append(args, "wrk", "-t1", fmt.Sprintf("-c%d", s.Connections), fmt.Sprintf("-d%ds", int(s.For.Seconds())),
		"--timeout", "10s", "-s", script, fmt.Sprintf("http://127.0.0.1:%d/", s.Port))
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return SpeedResult{}, fmt.Errorf("%v: %w: %s", args, err, out)
	}
	var requests, micros, p50, p99 float64
	var result SpeedResult
	_, line, _ := strings.Cut(string(out), "\nRESULT ")
	if _, err := fmt.Sscan(line, &requests, &micros, &p50, &p99, &result.Failed); err != nil {
		return result, fmt.Errorf("read wrk's result: %w: %s", err, out)
	}
	result.PerSecond = requests / micros * 1e6
	result.P50, result.P99 = time.Duration(p50)*time.Microsecond, time.Duration(p99)*time.Microsecond
	return result, nil
}
