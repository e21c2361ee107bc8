// Command release makes what is published of a version, in one folder:
//
//	go run ./test/release -version v1.2.3 -registry registry.example.com/fairlead dist
//
//	PROGRAM_VERSION_OS_ARCH.tar.gz     a static program with its licences and bill of materials
//	PROGRAM_VERSION_OS_ARCH.cdx.json   the bill of materials (CycloneDX 1.6), and as .spdx.json (SPDX 2.3)
//	IMAGE-image_VERSION.oci.tar        an image for amd64 and arm64, as a layout of OCI; its bills of materials
//	fairlead-VERSION.tgz               the Helm chart
//	install.yaml and its like          docs/install.md
//	fairlead.yaml                      the manifest of the plug-in for krew
//	kubectl-fairlead.rb                the formula of the plug-in for Homebrew
//	SHA256SUMS                         of all these files
//	provenance.json                    of what, by what and with what they were made (in-toto, SLSA 1.0); names all of them
//	SHA256SUMS.sig, release.pub        its signature, if FAIRLEAD_SIGNING_KEY has a key (Ed25519, PKCS #8, PEM)
//
// Two calls for the same commit, in any folders, give the same bytes, but for provenance.json, which names the builder: the time of all
// files is that of the commit, or SOURCE_DATE_EPOCH. test/release/sigstore signs them. With -push it pushes the images of a release that is there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// signingKey is the environment variable with the key that signs a release.
const signingKey = "FAIRLEAD_SIGNING_KEY"

func run(ctx context.Context) error {
	root, err := toolset.Root()
	if err != nil {
		return err
	}
	r := release{root: root, targets: targets(), images: []string{"operator", "console", "router", "speaker"}, progress: os.Stderr}
	flag.StringVar(&r.version, "version", "", "`version`, such as v1.2.3")
	flag.StringVar(&r.registry, "registry", "fairlead.dev", "`registry` with path that the images will be in")
	flag.StringVar(&r.download, "download", "https://github.com/fairlead/fairlead/releases/download", "`URL` below which the files will be, in a folder with the version's name")
	flag.StringVar(&r.commit, "commit", "", "`commit` that the release is made of; default: that of the clone, which must not have changes")
	compare := flag.String("compare", "", "make the release and compare it with the one in this `folder`")
	push := flag.Bool("push", false, "push the images in the folder to the registry, and make nothing")
	flag.Parse()
	if flag.NArg() != 1 {
		return errors.New("give one folder for the files, such as dist")
	}
	r.to = flag.Arg(0)
	r.version = "v" + strings.TrimPrefix(r.version, "v")
	if !versionForm.MatchString(r.version) {
		return fmt.Errorf("the version %q is not of the form v1.2.3 or v1.2.3-rc.1: make release VERSION=1.2.3", r.version)
	}
	if *push {
		return r.push(ctx)
	}
	if r.time, err = sourceTime(ctx, root); err != nil {
		return err
	}
	if r.commit == "" {
		r.commit = commitOf(ctx, root)
	}
	r.builder = builderFrom(os.Getenv)
	// A key that cannot be read must not end in a release without a signature.
	if text := os.Getenv(signingKey); text != "" {
		if r.key, err = readKey([]byte(text)); err != nil {
			return fmt.Errorf("read the key in %s: %w", signingKey, err)
		}
	}
	if err := r.make(ctx); err != nil || *compare == "" {
		return err
	}
	return compared(*compare, r.to, r.progress)
}

// versionForm is a version of SemVer without metadata of the build, which tags of images cannot have.
var versionForm = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// sourceTime returns the time that all files of a release have: that of the commit, unless SOURCE_DATE_EPOCH (seconds since
// 1970) says otherwise.
func sourceTime(ctx context.Context, root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		cmd := exec.CommandContext(ctx, "git", "-c", safe, "log", "-1", "--format=%ct")
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("find the time of the commit (set SOURCE_DATE_EPOCH outside of a clone): %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
