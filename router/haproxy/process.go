package haproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// Restart back-off of a HAProxy that dies: the first restart is at once for
// traffic's sake, then ever slower so that a broken binary does not spin.
const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 10 * time.Second
	// steadyAfter is the run time after which the back-off starts again.
	steadyAfter = 10 * time.Second
)

var versionLine = regexp.MustCompile(`(?i)^HAProxy version (\d+\.\d+\S*)`)

// Detect runs "haproxy -v" and returns what that version can do. The error
// names the next step when the binary is missing or too old.
func Detect(ctx context.Context, binary string) (plan.Capabilities, string, error) {
	out, err := exec.CommandContext(ctx, binary, "-v").Output()
	if err != nil {
		return plan.Capabilities{}, "", fmt.Errorf("run %s -v: %w; give the path of HAProxy 3.0 or newer with --haproxy", binary, err)
	}
	m := versionLine.FindStringSubmatch(string(out))
	if m == nil {
		return plan.Capabilities{}, "", fmt.Errorf("%s -v does not answer like HAProxy; give its path with --haproxy", binary)
	}
	caps, err := plan.CapabilitiesOf(m[1])
	if err != nil {
		return plan.Capabilities{}, m[1], fmt.Errorf("%s: %w", binary, err)
	}
	build, err := exec.CommandContext(ctx, binary, "-vv").Output()
	if err != nil {
		return plan.Capabilities{}, m[1], fmt.Errorf("run %s -vv: %w", binary, err)
	}
	caps.Lua = strings.Contains(string(build), "+LUA")
	return caps, m[1], nil
}

// Starting reports whether there is a master, which before its worker answers
// means that the worker is reading its files. A master whose worker refuses them
// ends.
func (r *Runtime) Starting() bool {
	conn, err := net.DialTimeout("unix", filepath.Join(r.layout.RunDir(), "master.sock"), time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was asked
	return true
}

// Supervisor keeps one HAProxy master running on the files of a layout. It
// adopts a master that is already there, so the end of the supervisor's own
// process need not be the end of traffic.
type Supervisor struct {
	Binary string
	Layout render.Layout
	// Ambient are capabilities that HAProxy gets of those that this process is
	// permitted.
	Ambient []uintptr
	Log     *slog.Logger
	// Memory, if set, returns what HAProxy's container uses and may use.
	Memory func() (used, limit int64, limited bool)
	// Bound has the kernel end HAProxy with this process, however that ends. Run must be
	// called on a thread of its own (runtime.LockOSThread), by whose end the kernel goes.
	Bound bool
	// Starts counts the masters that this supervisor started, Ended the old
	// workers that it ended.
	Starts, Ended int
	// failed is true after a start that ended early: the messages of the next one are read.
	failed bool
}

// Run keeps HAProxy running until the context ends; then it lets running
// requests finish and returns when the master is gone, at the latest after
// the grace time.
func (s *Supervisor) Run(ctx context.Context, grace time.Duration) error {
	backoff := firstBackoff
	for {
		if !s.waitForConfig(ctx) {
			return nil
		}
		started := time.Now()
		exited, err := s.runOnce(ctx, grace)
		if ctx.Err() != nil {
			return err
		}
		early := time.Since(started) <= steadyAfter
		if s.failed = exited && early; !early {
			backoff = firstBackoff
		}
		s.Log.Error("HAProxy ended; starting it again", "err", err, "adopted", !exited, "after", time.Since(started).Round(time.Millisecond), "wait", backoff)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(backoff):
		}
		backoff = min(backoff*4, maxBackoff)
	}
}

// waitForConfig waits until there is a configuration to start from. It
// reports false when the context ended first.
func (s *Supervisor) waitForConfig(ctx context.Context) bool {
	for {
		if _, err := os.Stat(s.Layout.Config()); err == nil {
			return ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// HugePages are the variables that make malloc ask for huge pages, of jemalloc,
// which Debian builds HAProxy with, and of glibc. The walk through all backends
// that each new one takes touches a page for each of them: with huge pages it
// takes two thirds of the time, and all memory 5 % more.
func HugePages() []string {
	return []string{"MALLOC_CONF=thp:always", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"}
}

// runOnce adopts or starts a master and waits for its end. It reports whether
// the master was its own child.
func (s *Supervisor) runOnce(ctx context.Context, grace time.Duration) (child bool, err error) {
	if pid := s.runningMaster(); pid != 0 {
		s.Log.Info("adopting the running HAProxy", "pid", pid)
		defer s.bounding(ctx, pid)()
		return false, s.watch(ctx, pid, grace)
	}
	// The child gets our own stderr, which is there when we are not.
	// Quiet, because HAProxy would print a line for every runtime change. Not so after a start that failed.
	cmd := exec.Command(s.Binary, "-q", "-W", "-S", s.Layout.RunDir()+"/master.sock,mode,600", "-f", s.Layout.Config())
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	alert := func() string { return "" }
	if s.failed {
		cmd.Args = slices.Delete(cmd.Args, 1, 2)
		if alert, err = listen(cmd); err != nil {
			return true, err
		}
	}
	cmd.Env = slices.Concat(HugePages(), os.Environ()) // the last one of a name counts
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, AmbientCaps: s.Ambient}
	if s.Bound {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	}
	err = inShortTurns(cmd.Start)
	if into, file := cmd.Stderr.(*os.File); file && s.failed {
		_ = into.Close() // HAProxy has its own
	}
	if err != nil {
		return true, fmt.Errorf("start HAProxy: %w", err)
	}
	s.Starts++
	s.Log.Info("started HAProxy", "pid", cmd.Process.Pid)
	defer s.bounding(ctx, cmd.Process.Pid)()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		said := alert()
		if why, checkErr := Check(context.WithoutCancel(ctx), s.Binary, s.Layout); checkErr == nil && why != "" {
			said = FirstAlert(why)
		}
		if said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return true, err
	case <-ctx.Done():
	}
	return true, stop(cmd.Process.Pid, grace, func(wait time.Duration) bool {
		select {
		case err = <-done:
			return true
		case <-time.After(wait):
			return false
		}
	})
}

// mostMessages bounds what is kept of HAProxy's messages at its start, in bytes.
const mostMessages = 64 << 10

// listen reads the messages of a HAProxy that is not quiet, and returns what gives its first alert, or "", once it has ended. Its check
// of the files does not find all that may keep it from starting, such as a port that another program has. What it says
// later is read and dropped. If this program ends before it, it goes on without a reader.
func listen(cmd *exec.Cmd) (alert func() string, err error) {
	from, into, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("read HAProxy's messages: %w", err)
	}
	cmd.Stderr = into
	var messages strings.Builder
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.CopyN(&messages, from, mostMessages)
		_, _ = io.Copy(io.Discard, from)
		_ = from.Close()
	}()
	return func() string {
		select {
		case <-ended:
			return alertLine.FindString(messages.String())
		case <-time.After(time.Second): // a process that it left behind holds the other end
			return ""
		}
	}, nil
}

// bounding bounds the old workers of a master until the function that it returns
// is called.
func (s *Supervisor) bounding(ctx context.Context, master int) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.boundWorkers(ctx, master)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// watch waits for the end of a process that is not our child.
func (s *Supervisor) watch(ctx context.Context, pid int, grace time.Duration) error {
	done := ended(pid)
	select {
	case <-done:
		return errors.New("the adopted process is gone")
	case <-ctx.Done():
	}
	return stop(pid, grace, func(wait time.Duration) bool {
		select {
		case <-done:
			return true
		case <-time.After(wait):
			return false
		}
	})
}

// ended returns a channel that is closed when a process that is not our child
// has ended. The kernel reports it; where it cannot (before Linux 5.3), one has to
// look.
func ended(pid int) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			defer func() { _ = unix.Close(fd) }()
			for err = unix.EINTR; errors.Is(err, unix.EINTR); {
				_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			}
		}
		for alive(pid) {
			<-time.After(100 * time.Millisecond)
		}
	}()
	return done
}

// Ended returns a channel that is closed when the worker with this process number has ended.
// It is nil if that cannot be known: HAProxy in a container of its own counts its processes by
// itself, and the number is that of another process here, or of none.
func (r *Runtime) Ended(pid int) <-chan struct{} {
	if !r.sees(pid) {
		return nil
	}
	return ended(pid)
}

// sees reports whether the process behind the socket has this number here, too: the kernel
// says which one listened first, the worker or its master, and 0 for one of elsewhere.
func (r *Runtime) sees(pid int) bool {
	conn, err := net.DialTimeout("unix", filepath.Join(r.layout.RunDir(), "admin.sock"), readLimit)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return false
	}
	listened := 0
	if err := raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			listened = int(cred.Pid)
		}
	}); err != nil || listened == 0 {
		return false
	}
	parent, err := parentOf(pid)
	return listened == pid || err == nil && listened == parent
}

// stop asks a master to finish its requests and leave.
func stop(pid int, grace time.Duration, gone func(time.Duration) bool) error {
	_ = syscall.Kill(pid, syscall.SIGUSR1)
	if gone(grace) {
		return nil
	}
	_ = syscall.Kill(pid, syscall.SIGTERM)
	if gone(5 * time.Second) {
		return nil
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	return fmt.Errorf("HAProxy (pid %d) did not stop in %s and was killed", pid, grace)
}

func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// runningMaster returns the pid of a master that answers on the layout's
// socket, or 0. The kernel knows the process behind the socket.
func (s *Supervisor) runningMaster() int {
	conn, err := net.DialTimeout("unix", s.Layout.RunDir()+"/master.sock", time.Second)
	if err != nil {
		return 0
	}
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	var pid int
	_ = raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	if !alive(pid) {
		return 0
	}
	return pid
}
