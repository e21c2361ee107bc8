package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// Variables that carry over into the namespace.
const (
	insideVariable = "FAIRLEAD_RIG_INSIDE"
	routerVariable = "FAIRLEAD_RIG_ROUTER"
)

// ErrUnable says, wrapped with the reason, that this machine lacks something.
var ErrUnable = errors.New("cannot run here")

// Inside reports whether the program already runs in its namespace, and sets
// the namespace up if so.
func Inside() (bool, error) {
	if os.Getenv(insideVariable) == "" {
		return false, nil
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return true, fmt.Errorf("separate the mounts: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return true, fmt.Errorf("mount /proc: %w", err)
	}
	for _, args := range []string{"link set lo up", "addr add 198.18.0.1/16 dev lo"} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return true, fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	return true, nil
}

// Enter builds the router, runs this program again in a namespace of its own
// and returns its exit code.
func Enter() (int, error) {
	if os.Geteuid() != 0 {
		return 1, fmt.Errorf("%w: network namespaces need root", ErrUnable)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl", "haproxy"} {
		if _, err := toolset.Path(name); err != nil {
			return 1, fmt.Errorf("%w: %w", ErrUnable, err)
		}
	}
	router, err := buildRouter()
	if err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideVariable+"=1", routerVariable+"="+router)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
		Pdeathsig:  syscall.SIGKILL, // the kernel then ends all that runs inside
	}
	// The signal above comes at the end of the thread that started the program.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, fmt.Errorf("enter a namespace: %w", err)
	}
	return 0, nil
}

// RunDir is the git-ignored folder for binaries and results.
func RunDir() (string, error) {
	root, err := toolset.Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "test", ".run")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the folder for results: %w", err)
	}
	return dir, nil
}

func buildRouter() (string, error) {
	dir, err := RunDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "router")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/fairlead/fairlead/cmd/router")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the router: %w\n%s", err, out)
	}
	return path, nil
}

// EnterTests is Enter for a TestMain. If run is true the tests are to run in
// this process, and those that need a rig to skip themselves if unable is not
// nil. Otherwise they have run in a namespace, and code is their exit code.
func EnterTests(short bool) (run bool, code int, unable error) {
	if short {
		return true, 0, errors.New("needs root and takes its time")
	}
	inside, err := Inside()
	if inside && err == nil {
		return true, 0, nil
	}
	code = 1
	if err == nil {
		code, err = Enter()
	}
	if errors.Is(err, ErrUnable) {
		return true, 0, err
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return false, code, nil
}
