// Command sigstore signs what test/release made, attaches the signatures to images in a registry, and verifies a release. It is a module of
// its own, so that Sigstore's modules stay out of the product.
//
//	go run . sign [-keyless] -version v1.2.3 -registry registry.example.com/fairlead dist
//	go run . attach -version v1.2.3 -registry registry.example.com/fairlead dist
//	go run . verify -version v1.2.3 -registry registry.example.com/fairlead [-key release.pub] [-pushed] dist
//
// sign writes a bundle (FILE.sigstore.json) beside each file, and attestations of each image: its signature, provenance, and bills of
// materials. Keyless, the identity is that of a workflow of GitHub Actions; else FAIRLEAD_SIGNING_KEY has the key. verify -pushed
// reads the images and their attestations from the registry, too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sigstore:", err)
		os.Exit(1)
	}
}

// signingKey is the environment variable with the key that signs a release.
const signingKey = "FAIRLEAD_SIGNING_KEY"

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("say what to do: sign, attach or verify")
	}
	var d dist
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	f.StringVar(&d.version, "version", "", "`version` of the release, such as v1.2.3")
	f.StringVar(&d.registry, "registry", "fairlead.dev", "`registry` with path of the images")
	keyless := f.Bool("keyless", false, "sign: with the identity of this workflow of GitHub Actions")
	key := f.String("key", "", "verify: the public key (PEM, a `file`) of the release, in place of the identity of its workflow")
	identity := f.String("identity", "", "verify: the `identity` in the certificates; default: the workflow release of the project, at the version's tag")
	issuer := f.String("issuer", "https://token.actions.githubusercontent.com", "verify: the `issuer` of the identity")
	pushed := f.Bool("pushed", false, "verify: read the images and their attestations from the registry, too")
	if err := f.Parse(args[1:]); err != nil {
		return err //nolint:wrapcheck // it names the flag
	}
	if f.NArg() != 1 {
		return errors.New("give the folder with the files of the release, such as dist")
	}
	d.folder, d.version = f.Arg(0), "v"+strings.TrimPrefix(d.version, "v")
	if err := d.find(); err != nil {
		return err
	}
	switch args[0] {
	case "sign":
		s, err := signerFor(ctx, *keyless)
		if err != nil {
			return err
		}
		return d.sign(s, out)
	case "attach":
		return d.attach(ctx, out)
	case "verify":
		trust, err := trustFor(*key, *issuer, *identity, d.version)
		if err != nil {
			return err
		}
		if err := d.verify(trust, out); err != nil || !*pushed {
			return err
		}
		return d.verifyImages(ctx, trust, out)
	}
	return fmt.Errorf("unknown command %q; use one of: sign, attach, verify", args[0])
}
