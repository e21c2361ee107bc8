// Package toolset fetches and builds the programs that tests and the demo run: HAProxy from Debian packages, Kubernetes
// and etcd from Go modules, and the machine's own apt packages. It does not build the product or its images.
//
// Everything lands in one git-ignored folder, .tools (FAIRLEAD_TOOLS overrides it):
//
//	.tools/bin/NAME            programs
//	.tools/haproxy-X.Y/root    the unpacked Debian HAProxy with its libraries
//	.tools/stamps/NAME         what an artefact was made from; equal means nothing to do
package toolset

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const modulePath = "github.com/fairlead/fairlead"

// Root returns the folder of the project's go.mod, found upwards from the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the project's root: %w", err)
	}
	for {
		if isModule(filepath.Join(dir, "go.mod")) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the project's root: run this inside a clone of the project")
		}
		dir = parent
	}
}

func isModule(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "module "+modulePath {
			return true
		}
	}
	return false
}

// Dir returns the absolute path of the tools folder, whether it exists or not.
func Dir() (string, error) {
	if dir := os.Getenv("FAIRLEAD_TOOLS"); dir != "" {
		return filepath.Abs(dir)
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".tools"), nil
}

// Path returns the absolute path of the program name in the tools folder. Its error names the next step.
func Path(name string) (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "bin", name)
	if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("%s is not there yet: run `make tools`", path)
	}
	return path, nil
}

// Images returns the paths of all image archives. Its error names the next step.
func Images() ([]string, error) {
	const all = 5
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	images, err := filepath.Glob(filepath.Join(dir, "images", "*.tar"))
	if err != nil || len(images) < all {
		return nil, fmt.Errorf("images are missing in %s: run `make images`", dir)
	}
	return images, nil
}

// Image returns the path of the image archive name (operator, router, speaker, demo, pause).
func Image(name string) (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "images", name+".tar")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not there yet: run `make images`", path)
	}
	return path, nil
}
