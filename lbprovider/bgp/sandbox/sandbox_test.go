package sandbox_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead/fairlead/lbprovider/bgp/sandbox"
)

// asPrisoner in the environment makes the test binary a confined process that
// tries to harm its parent, and prints what it could do.
const asPrisoner = "FAIRLEAD_BGP_PRISONER"

func TestMain(m *testing.M) {
	if _, prisoner := os.LookupEnv(asPrisoner); !prisoner {
		os.Exit(m.Run())
	}
	if err := sandbox.Enter(sandbox.Limits{Data: 256 << 20, Files: 16}); err != nil {
		fmt.Fprintln(os.Stdout, "enter:", err)
		os.Exit(1)
	}
	for what, err := range escapes() {
		if err == nil {
			fmt.Fprintln(os.Stdout, "possible:", what)
		}
	}
	for what, err := range needs() {
		if err != nil {
			fmt.Fprintln(os.Stdout, "refused:", what, err)
		}
	}
	fmt.Fprintln(os.Stdout, "end")
	os.Exit(0)
}

// escapes are what a process must not do that an attacker has taken over.
func escapes() map[string]error {
	parent := os.Getppid()
	out := map[string]error{}
	_, out["read a file, such as the speaker's token"] = os.ReadFile("/proc/self/status")
	_, out["write a file"] = os.Create("/tmp/fairlead-prisoner")
	// Not this program: unconfined, each would start the next one, for ever.
	out["start a program"] = exec.Command("/bin/true").Start()
	_, _, fork := syscall.RawSyscall(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0)
	if fork == 0 && os.Getppid() != parent {
		os.Exit(0) // the child, if there is one
	}
	out["fork"] = number(fork)
	out["end the speaker"] = syscall.Kill(parent, 0)
	out["end a thread of the speaker"] = unix.Tgkill(parent, parent, 0)
	out["end all"] = syscall.Kill(-1, 0)
	_, _, async := syscall.RawSyscall(syscall.SYS_FCNTL, 0, syscall.F_SETOWN, uintptr(parent))
	out["have signals sent"] = number(async)
	_, out["open the speaker"] = unix.PidfdOpen(parent, 0)
	out["trace the speaker"] = unix.PtraceSeize(parent)
	_, out["read the speaker's memory"] = unix.ProcessVMReadv(parent, nil, nil, 0)
	out["limit the speaker"] = unix.Prlimit(parent, unix.RLIMIT_NOFILE, nil, &unix.Rlimit{})
	out["slow the speaker"] = unix.Setpriority(unix.PRIO_PROCESS, parent, 0)
	out["leave its group"] = syscall.Setpgid(0, syscall.Getpgrp())
	_, out["speak to a local socket"] = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	_, out["send frames"] = syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW, 0)
	_, out["take memory that does not count"] = syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ, syscall.MAP_ANON|syscall.MAP_SHARED)
	_, out["take memory as a file"] = unix.MemfdCreate("x", 0)
	_, out["take memory as a segment"] = unix.SysvShmGet(unix.IPC_PRIVATE, 1<<20, 0o600)
	_, out["take 512 MiB"] = syscall.Mmap(-1, 0, 512<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	out["open many sockets"] = sockets(64)
	return out
}

func number(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

func sockets(n int) error {
	var all []int
	defer func() {
		for _, fd := range all {
			_ = syscall.Close(fd) // it was opened below
		}
	}()
	for range n {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		all = append(all, fd)
	}
	return nil
}

// needs are what a session needs beyond what engine's tests do.
func needs() map[string]error {
	out := map[string]error{}
	_, out["list interfaces"] = net.Interfaces()
	_, out["find an interface"] = net.InterfaceByName("lo")
	_, dial := net.Dial("tcp", "127.0.0.1:1")
	if !errors.Is(dial, syscall.ECONNREFUSED) {
		out["connect"] = fmt.Errorf("it fails with %w", dial)
	}
	done := make(chan bool)
	for range 32 { // which take threads
		go func() {
			_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 1e6}, nil) // so that each has a thread
			done <- true
		}()
	}
	for range 32 {
		<-done
	}
	signal.Ignore(syscall.SIGTERM)
	return out
}

// TestEnter: a confined process has no way to the speaker, which runs as the same
// user beside the same files, and can do what a session does.
func TestEnter(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{asPrisoner + "=1"}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "end" {
		t.Errorf("%v:\n%s", err, out)
	}
}
