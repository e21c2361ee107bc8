package cases

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
)

// insideEnv marks the copy of the test that runs in its own namespaces.
const insideEnv = "FAIRLEAD_CASES_INSIDE"

// podNet are the addresses of the fake pods. All of them are local in the
// test's network namespace.
const (
	podNet  = "198.18.250.0/24"
	podNet6 = "fd00:198:18::/64"
)

// TestMain runs the tests once more in network, process and mount namespaces
// of their own: no other process sees its listeners, HAProxy and the addresses of
// pods, and they vanish with the test however it ends.
func TestMain(m *testing.M) {
	if runAgentWorker() || runFirewall() || runPart() {
		return
	}
	if os.Geteuid() != 0 {
		os.Exit(m.Run())
	}
	// A worker of a fuzz target has what its coordinator has in its environment,
	// and needs namespaces of its own.
	worker := slices.Contains(os.Args, "-test.fuzzworker")
	if where := os.Getenv(insideEnv); where == "" || worker && where != "worker" {
		os.Exit(runInside(worker))
	}
	for _, args := range [][]string{
		{"mount", "-t", "proc", "proc", "/proc"},
		{"ip", "link", "set", "lo", "up"},
		{"ip", "route", "add", "local", podNet, "dev", "lo"},
		{"ip", "-6", "route", "add", "local", podNet6, "dev", "lo"},
		// Routes suffice for IPv4; listening on IPv6 takes addresses.
		{"ip", "-6", "addr", "add", "fd00:198:18::1/128", "dev", "lo", "nodad"},
		{"ip", "-6", "addr", "add", "fd00:198:18::2/128", "dev", "lo", "nodad"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "prepare the network namespace: %v: %v\n%s", args, err, out)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func runInside(worker bool) int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if worker {
		cmd.Env = append(cmd.Env, insideEnv+"=worker")
		cmd.ExtraFiles = []*os.File{os.NewFile(3, "orders"), os.NewFile(4, "answers"), os.NewFile(5, "memory")} // of "go test -fuzz"
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID,
		// The mounts of the new namespace stay in it.
		Unshareflags: syscall.CLONE_NEWNS,
		Pdeathsig:    syscall.SIGKILL,
	}
	if err := cmd.Run(); err != nil {
		if cmd.ProcessState == nil {
			fmt.Fprintln(os.Stderr, "start the tests in a network namespace:", err)
		}
		return 1
	}
	return 0
}

// needNetwork skips a test that cannot have a network namespace.
func needNetwork(t testing.TB) {
	t.Helper()
	if os.Getenv(insideEnv) == "" {
		t.Skip("needs root for a network namespace of its own: run the tests as root")
	}
}
