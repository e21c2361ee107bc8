// Package sandbox confines the process that holds a BGP session to what a
// session needs: memory, threads, timers, the files that it has open, and
// sockets of the internet protocols. It shares user, files and process
// identifiers with the speaker; without this, a peer's bytes that run as code
// could read the speaker's token, end it, or take the pod's memory.
//
// All that is not named is refused with EPERM, also to the 32-bit interface of
// a 64-bit kernel. It cannot be undone.
package sandbox

import (
	"fmt"
	"os"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// Limits are what the process may take.
type Limits struct {
	// Data is the most memory that it may allocate, in bytes. Memory that it
	// could share with others does not count, and is refused.
	Data uint64
	// Files is how many files and sockets it may have open.
	Files uint64
}

// Enter confines the process, all of its threads.
func Enter(l Limits) error {
	for _, r := range []struct {
		what     string
		resource int
		most     uint64
	}{{"memory", unix.RLIMIT_DATA, l.Data}, {"open files", unix.RLIMIT_NOFILE, l.Files}, {"core files", unix.RLIMIT_CORE, 0}} {
		if err := unix.Setrlimit(r.resource, &unix.Rlimit{Cur: r.most, Max: r.most}); err != nil {
			return fmt.Errorf("limit %s: %w", r.what, err)
		}
	}
	machine, err := arch.GetInfo("")
	if err != nil {
		return fmt.Errorf("find the machine's system calls: %w", err)
	}
	group := seccomp.SyscallGroup{Action: seccomp.ActionAllow, NamesWithCondtions: conditionallyAllowed(uint64(os.Getpid()))}
	for _, name := range alwaysAllowed() {
		if _, known := machine.SyscallNames[name]; known {
			group.Names = append(group.Names, name)
		}
	}
	err = seccomp.LoadFilter(seccomp.Filter{
		NoNewPrivs: true, Flag: seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{DefaultAction: seccomp.ActionErrno, Syscalls: []seccomp.SyscallGroup{group}},
	})
	if err != nil {
		return fmt.Errorf("restrict system calls: %w", err)
	}
	return nil
}

// alwaysAllowed are the system calls that Go and a session need; not every machine has
// each.
func alwaysAllowed() []string {
	return []string{
		"read", "readv", "pread64", "write", "writev", "close", "fstat",
		"munmap", "mprotect", "madvise", "mincore", "brk",
		"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
		"futex", "sched_yield", "sched_getaffinity", "nanosleep", "clock_nanosleep", "clock_gettime", "gettimeofday",
		"timer_create", "timer_settime", "timer_delete",
		"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd2",
		"connect", "bind", "getsockname", "getpeername", "setsockopt", "getsockopt",
		"sendto", "recvfrom", "sendmsg", "recvmsg", "shutdown",
		"getpid", "gettid", "getuid", "geteuid", "uname", "getrandom", "exit", "exit_group",
	}
}

// conditionallyAllowed are those that are allowed with some arguments only.
func conditionallyAllowed(self uint64) []seccomp.NameWithConditions {
	when := func(name string, argument uint32, operation seccomp.Operation, value uint64) seccomp.NameWithConditions {
		return seccomp.NameWithConditions{Name: name, Conditions: seccomp.ArgumentConditions{{Argument: argument, Operation: operation, Value: value}}}
	}
	all := []seccomp.NameWithConditions{
		when("clone", 0, seccomp.BitsSet, unix.CLONE_THREAD),
		when("mmap", 3, seccomp.BitsNotSet, unix.MAP_SHARED),
		when("prctl", 0, seccomp.Equal, unix.PR_SET_VMA),
		when("socket", 0, seccomp.Equal, unix.AF_INET),
		when("socket", 0, seccomp.Equal, unix.AF_INET6),
		when("socket", 0, seccomp.Equal, unix.AF_NETLINK),
		when("tgkill", 0, seccomp.Equal, self),
	}
	for _, command := range []uint64{unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL} {
		all = append(all, when("fcntl", 1, seccomp.Equal, command)) // others send signals
	}
	return all
}
