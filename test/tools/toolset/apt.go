package toolset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// privateAPT reads Debian suites and downloads from them without touching the machine's own APT state: it has its own
// lists, cache and an empty record of what is installed, so that every dependency down to libc is downloaded.
type privateAPT struct {
	builder *Builder
	home    string
	suites  []string
	arch    string // of the packages; empty for that of this machine
}

func (a privateAPT) options() []string {
	o := func(key, value string) string { return key + "=" + value }
	var args []string
	for _, option := range []string{
		o("Dir::State", filepath.Join(a.home, "state")),
		o("Dir::State::status", filepath.Join(a.home, "status")),
		o("Dir::Cache", filepath.Join(a.home, "cache")),
		o("Dir::Etc::sourcelist", filepath.Join(a.home, "sources.list")),
		o("Dir::Etc::sourceparts", "/dev/null"),
		o("Dir::Etc::preferencesparts", "/dev/null"),
		o("APT::Install-Recommends", "false"),
		o("APT::Sandbox::User", ""),
		o("Acquire::Languages", "none"),
		o("Acquire::IndexTargets::deb::DEP-11::DefaultEnabled", "false"),
		o("Acquire::Retries", "3"),
		o("Debug::NoLocking", "true"),
		o("APT::Update::Post-Invoke::", ""),
	} {
		args = append(args, "-o", option)
	}
	if a.arch != "" {
		args = append(args, "-o", o("APT::Architecture", a.arch), "-o", o("APT::Architectures", a.arch))
	}
	return args
}

func (a privateAPT) run(ctx context.Context, program string, args ...string) (string, error) {
	return a.builder.run(ctx, command{
		args: slices.Concat([]string{program}, a.options(), args),
		env:  []string{"LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"},
	})
}

// update reads the suites' package lists.
func (a privateAPT) update(ctx context.Context) error {
	for _, dir := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.home, dir), 0o755); err != nil {
			return fmt.Errorf("prepare a private APT: %w", err)
		}
	}
	if _, err := os.Stat(debianKeyring); err != nil {
		return fmt.Errorf("check Debian's signatures: %w (apt-get install debian-archive-keyring)", err)
	}
	mirror, err := debianMirror()
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, suite := range a.suites {
		fmt.Fprintf(&list, "deb [signed-by=%s] %s %s main\n", debianKeyring, mirror, suite)
	}
	for name, content := range map[string]string{"sources.list": list.String(), "status": ""} {
		if err := os.WriteFile(filepath.Join(a.home, name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("prepare a private APT: %w", err)
		}
	}
	a.builder.Progress("  read the package lists of Debian %s", strings.Join(a.suites, " + "))
	_, err = a.run(ctx, "apt-get", "-q", "update")
	return err
}

// debianMirror returns the mirror that FAIRLEAD_DEBIAN_MIRROR names, or else the one that this system's own APT uses.
func debianMirror() (string, error) {
	if mirror := os.Getenv("FAIRLEAD_DEBIAN_MIRROR"); mirror != "" {
		return mirror, nil
	}
	lists, err := filepath.Glob("/etc/apt/sources.list.d/*")
	if err != nil {
		return "", fmt.Errorf("find a Debian mirror: %w", err)
	}
	for _, list := range append([]string{"/etc/apt/sources.list"}, lists...) {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // a folder, or none
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for word := range strings.FieldsSeq(line) {
				if strings.Contains(word, "://") && strings.HasSuffix(strings.TrimRight(word, "/"), "/debian") {
					return word, nil
				}
			}
		}
	}
	return "", errors.New("find a Debian mirror: this system's APT names none; set FAIRLEAD_DEBIAN_MIRROR to one of https://www.debian.org/mirror/list")
}

// versions returns the versions of the package that the suites offer, newest first.
func (a privateAPT) versions(ctx context.Context, name string) ([]string, error) {
	out, err := a.run(ctx, "apt-cache", "madison", name)
	if err != nil {
		return nil, err
	}
	var versions []string
	for line := range strings.Lines(out) {
		if fields := strings.Split(line, "|"); len(fields) == 3 {
			versions = append(versions, strings.TrimSpace(fields[1]))
		}
	}
	return versions, nil
}

// download fetches the package and everything it needs, and returns the files of exactly that set.
func (a privateAPT) download(ctx context.Context, spec string) ([]string, error) {
	plan, err := a.run(ctx, "apt-get", "-y", "--print-uris", "-o", "Dir::Cache::archives="+filepath.Join(a.home, "none"), "install", spec)
	if err != nil {
		return nil, err
	}
	if _, err := a.run(ctx, "apt-get", "-q", "-y", "--download-only", "install", spec); err != nil {
		return nil, err
	}
	var files []string
	for line := range strings.Lines(plan) {
		if fields := strings.Fields(line); strings.HasPrefix(line, "'") && len(fields) > 1 {
			files = append(files, filepath.Join(a.home, "cache", "archives", fields[1]))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("download %s: apt-get named no files", spec)
	}
	return files, nil
}

// fetch downloads the newest version of each package, without what they depend on, and returns the files.
func (a privateAPT) fetch(ctx context.Context, names ...string) ([]string, error) {
	plan, err := a.run(ctx, "apt-get", slices.Concat([]string{"--print-uris", "download"}, names)...)
	if err != nil {
		return nil, err
	}
	to := filepath.Join(a.home, "cache", "archives")
	args := slices.Concat([]string{"apt-get", "-q"}, a.options(), []string{"download"}, names)
	if _, err := a.builder.run(ctx, command{dir: to, args: args, env: []string{"LC_ALL=C"}}); err != nil {
		return nil, err
	}
	var files []string
	for line := range strings.Lines(plan) {
		if fields := strings.Fields(line); strings.HasPrefix(line, "'") && len(fields) > 1 {
			files = append(files, filepath.Join(to, fields[1]))
		}
	}
	if len(files) != len(names) {
		return nil, fmt.Errorf("download %s: apt-get named %d files", strings.Join(names, ", "), len(files))
	}
	return files, nil
}

// hostPackage is an apt package that the machine itself needs, and a file that shows it is installed.
type hostPackage struct {
	name   string
	probes []string
}

// hostPackages returns what a purpose needs: "haproxy", "cluster" or "load" (load generators).
func hostPackages(purpose string) []hostPackage {
	sets := map[string][]hostPackage{
		"haproxy": {
			{"patchelf", []string{"patchelf"}},
			{"debian-archive-keyring", []string{debianKeyring}},
		},
		"cluster": {
			{"containerd", []string{"containerd"}},
			{"runc", []string{"runc"}},
			{"containernetworking-plugins", []string{"/usr/lib/cni/bridge", "/opt/cni/bin/bridge"}},
			{"nftables", []string{"nft"}},
			{"iptables", []string{"iptables"}},
			{"conntrack", []string{"conntrack"}},
			{"ipset", []string{"ipset"}},
			{"socat", []string{"socat"}},
			{"iproute2", []string{"ip"}},
			{"util-linux", []string{"nsenter"}},
			{"arping", []string{"arping"}},
			{"tcpdump", []string{"tcpdump"}},
			{"ndisc6", []string{"ndisc6"}},
			{"bind9", []string{"named"}},
			{"knot", []string{"knotd"}},
			{"frr", []string{"/usr/lib/frr/bfdd"}},
			{"bird2", []string{"bird"}},
		},
		"load": {
			{"wrk", []string{"wrk"}},
			{"nghttp2-client", []string{"h2load"}},
			{"curl", []string{"curl"}},
			{"openssl", []string{"openssl"}},
		},
	}
	return sets[purpose]
}

func (p hostPackage) present() bool {
	for _, probe := range p.probes {
		candidates := []string{probe}
		if !filepath.IsAbs(probe) {
			if _, err := exec.LookPath(probe); err == nil {
				return true
			}
			// Folders that a normal user's PATH leaves out.
			candidates = []string{"/usr/sbin/" + probe, "/sbin/" + probe}
		}
		for _, file := range candidates {
			if _, err := os.Stat(file); err == nil {
				return true
			}
		}
	}
	return false
}

// HostPackages installs all apt packages that tests and the demo need.
func (b *Builder) HostPackages(ctx context.Context) error {
	return b.Packages(ctx, slices.Concat(hostPackages("haproxy"), hostPackages("cluster"), hostPackages("load")))
}

// Packages installs those that are missing. Without root its error is one message with the command to run.
func (b *Builder) Packages(ctx context.Context, wanted []hostPackage) error {
	var names []string
	for _, p := range wanted {
		if !p.present() {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	install := "apt-get install -y --no-install-recommends " + strings.Join(names, " ")
	if os.Geteuid() != 0 {
		return fmt.Errorf("these packages are missing and only root can install them; run this, then try again:\n\n  sudo %s", install)
	}
	unlock, err := b.lock("apt")
	if err != nil {
		return err
	}
	defer unlock()
	b.Progress("apt: install %s", strings.Join(names, " "))
	env := []string{"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}
	if _, err := b.run(ctx, command{args: []string{"apt-get", "-q", "update"}, env: env}); err != nil {
		b.Progress("apt: %v", err) // an unrelated broken source must not stop the installation
	}
	leave, err := b.withoutServices(ctx, names)
	if err != nil {
		return err
	}
	defer leave()
	if _, err := b.run(ctx, command{args: strings.Fields(install), env: env}); err != nil {
		return fmt.Errorf("install apt packages: %w", err)
	}
	return nil
}

// policyFile is asked by Debian's packages whether a service may start
// (invoke-rc.d(8)); its exit code 101 means no.
const policyFile = "/usr/sbin/policy-rc.d"

// withoutServices keeps packages from starting servers on this machine: tests
// run the programs themselves, in network namespaces. The function that it
// returns ends that, and sees to it that they do not start with the machine
// either. A machine with a policy of its own keeps that.
func (b *Builder) withoutServices(ctx context.Context, names []string) (func(), error) {
	if _, err := os.Stat(policyFile); err == nil {
		return func() {}, nil
	}
	if err := os.WriteFile(policyFile, []byte("#!/bin/sh\nexit 101\n"), 0o755); err != nil {
		return nil, fmt.Errorf("keep servers from starting: %w", err)
	}
	return func() {
		_ = os.Remove(policyFile)
		units := map[string][]string{"frr": {"frr"}, "bird2": {"bird"}, "bind9": {"named"}, "knot": {"knot"}}
		for _, name := range names {
			for _, unit := range units[name] {
				// Without systemd there is nothing to disable.
				_, _ = b.run(ctx, command{args: []string{"systemctl", "disable", unit}})
			}
		}
	}, nil
}
