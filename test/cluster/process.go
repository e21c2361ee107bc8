package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

// process identifies a process over its whole life: the kernel gives a pid again, but not with the same start time.
type process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // clock ticks after boot, from /proc/PID/stat
	Boot  string `json:"boot"`
}

// identify returns the identity of a running process.
func identify(pid int) (process, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	// The second field, the program's name, may hold blanks and brackets.
	_, rest, ok := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')-1:]), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return process{}, fmt.Errorf("identify process %d: unreadable /proc entry", pid)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return process{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return process{PID: pid, Start: fields[19], Boot: strings.TrimSpace(string(boot))}, nil
}

// running says whether this very process still exists (a zombie does not count).
func (p process) running() bool {
	if p.PID <= 1 {
		return false
	}
	now, err := identify(p.PID)
	return err == nil && now == p && !zombie(p.PID)
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	after := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return strings.HasPrefix(strings.TrimSpace(after), "Z")
}

// kill ends this very process and waits until it is gone.
func (p process) kill(ctx context.Context) error {
	if !p.running() {
		return nil
	}
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("end process %d: %w", p.PID, err)
	}
	return poll(ctx, 30*time.Second, fmt.Sprintf("process %d to end", p.PID), func() (bool, error) { return !p.running(), nil })
}

// poll calls ready every 50 ms until it is true. Its error names what was waited for and the last error of ready.
func poll(ctx context.Context, limit time.Duration, what string, ready func() (bool, error)) error {
	return wait.Poll{Limit: limit, Every: 50 * time.Millisecond}.Until(ctx, what, func() error {
		ok, err := ready()
		if err == nil || ok {
			err = wait.True(ok)
		}
		return err
	})
}

// bootScript is the first process of a host. It is process 1 of the host's own process namespace, so that ending it ends
// all that runs there, as a power cut does, and it reaps orphans. The host's own mounts cover the folders that kubelet,
// containerd and CNI plugins write to at fixed places. It drops its copies of the mounts that name network namespaces, or
// they would keep other hosts' namespaces and cables alive. It covers the settings of the whole machine that kubelet wants to
// change by files that already say so. It waits for a line on its input: if its starter dies before
// having recorded it, it ends by itself. It says when it is up.
const bootScript = `
set -e
umount -R -l /run/netns
mount --make-rshared /
mount -t proc proc /proc
for folder in /run /var/log /var/lib/cni; do mkdir -p $folder; mount -t tmpfs tmpfs $folder; done
mkdir -p /run/lock /run/sysctl
cover() { echo "$2" >"/run/sysctl/${1//\//.}"; mount --bind "/run/sysctl/${1//\//.}" "/proc/sys/$1"; }
cover vm/overcommit_memory 1
cover vm/panic_on_oom 0
cover kernel/panic 10
cover kernel/panic_on_oops 1
cover kernel/keys/root_maxkeys 1000000
cover kernel/keys/root_maxbytes 25000000
hostname "$1"
read -r word
[ "$word" = go ]
echo up
exec </dev/null >/dev/null 2>&1
set +e
while :; do sleep 1000000 & wait $!; done
`

// boot starts the first process of a host.
func (c *Cluster) boot(host string) error {
	cmd := exec.Command("nsenter", "--net="+filepath.Join(netnsFolder, c.layout.netns(host)),
		"unshare", "--pid", "--mount", "--uts", "--ipc", "--propagation", "slave", "--fork", "--kill-child=KILL",
		"bash", "-c", bootScript, "boot", host)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	log, err := os.Create(filepath.Join(c.dir, host+"-boot.log"))
	if err != nil {
		return fmt.Errorf("boot %s: %w", host, err)
	}
	defer log.Close()
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("boot %s: %w", host, err)
	}
	defer stdin.Close()
	up, told, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("boot %s: %w", host, err)
	}
	defer up.Close()
	cmd.Stdout = told
	err = cmd.Start()
	_ = told.Close()
	if err != nil {
		return fmt.Errorf("boot %s: %w", host, err)
	}
	go func() { _ = cmd.Wait() }() // reaps; how it ends says nothing
	var child process
	err = poll(context.Background(), 10*time.Second, host+" to boot", func() (bool, error) {
		child, err = onlyChild(cmd.Process.Pid)
		return err == nil, err
	})
	if err != nil {
		return err
	}
	if err := c.recordInit(host, child); err != nil {
		return err
	}
	_, err = stdin.Write([]byte("go\n"))
	if err == nil {
		// What starts before the host's own folders are mounted would write into the machine's.
		_ = up.SetReadDeadline(time.Now().Add(time.Minute))
		_, err = up.Read(make([]byte, 8))
	}
	if err != nil {
		said, _ := os.ReadFile(log.Name()) // why it ended, if it said so
		return fmt.Errorf("boot %s: %w: %s", host, err, said)
	}
	return nil
}

func onlyChild(pid int) (process, error) {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return process{}, err
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		return process{}, fmt.Errorf("children of %d: %q", pid, children)
	}
	return identify(child)
}

// enter returns the command line that runs argv on the host, in all its namespaces.
func (c *Cluster) enter(host string, argv []string) ([]string, error) {
	first := c.hostState(host)
	if !first.Init.running() {
		return nil, fmt.Errorf("run %s on %s: the host is not running", argv[0], host)
	}
	wd, err := os.Getwd()
	if err != nil {
		wd = "/"
	}
	args := []string{"nsenter", "--target", strconv.Itoa(first.Init.PID), "--net", "--pid", "--mount", "--uts", "--ipc", "--wd=" + wd, "--"}
	return append(args, argv...), nil
}

// spawn starts a lasting program on the host; it ends with the host at the latest. Its output goes to HOST-NAME.log.
func (c *Cluster) spawn(host, name string, argv ...string) error {
	args, err := c.enter(host, argv)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(c.logFile(host, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("start %s on %s: %w", name, host, err)
	}
	defer log.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), lazyCollection()...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s on %s: %w", name, host, err)
	}
	go func() { _ = cmd.Wait() }() // reaps
	return nil
}

// spawnService is spawn for a program that the host's init starts again when it ends, as systemd does.
func (c *Cluster) spawnService(host, name string, argv ...string) error {
	return c.spawn(host, name, append([]string{"bash", "-c", `while :; do "$@"; sleep 1; done`, name}, argv...)...)
}

func (c *Cluster) logFile(host, name string) string {
	return filepath.Join(c.dir, host+"-"+name+".log")
}

// Command returns a command that runs argv on the host ("cp", "n1", "client", "tor"). Cancelling ctx ends it and what it
// started in the foreground.
func (c *Cluster) Command(ctx context.Context, host string, argv ...string) (*exec.Cmd, error) {
	args, err := c.enter(host, argv)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd, nil
}

// Attached returns a command that runs argv on the host in this process's foreground, for terminals.
func (c *Cluster) Attached(host string, argv ...string) (*exec.Cmd, error) {
	args, err := c.enter(host, argv)
	if err != nil {
		return nil, err
	}
	return exec.Command(args[0], args[1:]...), nil
}

// Exec runs argv on the host and returns its standard output. The error holds its standard error.
func (c *Cluster) Exec(ctx context.Context, host string, argv ...string) (string, error) {
	cmd, err := c.Command(ctx, host, argv...)
	if err != nil {
		return "", err
	}
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return string(out), fmt.Errorf("run %s on %s: %w", strings.Join(argv, " "), host, err)
	}
	return string(out), nil
}
