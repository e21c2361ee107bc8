package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// release is what is published: the images in a folder, and manifests that name them.
type release struct {
	registry, images, manifests, to string
}

// programs are the images that the manifests name: those of the folder, and of the console's beside it.
func programs() []string { return []string{"operator", "router", "speaker", "console"} }

// The images of the router and the canary are in the operator's environment, which the field "images" of
// kustomize does not reach.
var kustomization = template.Must(template.New("").Parse(`# Written by test/image/publish. The images are named by digest.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- {{.Manifests}}
images:
{{- range $name, $digest := .Digests}}
- {name: fairlead.dev/{{$name}}, newName: {{$.Registry}}/{{$name}}, digest: "{{$digest}}"}
{{- end}}
{{- if .Operator}}
patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: ingress-operator, namespace: openshift-ingress-operator}
    spec:
      template:
        spec:
          containers:
          - name: operator
            env:
            - {name: ROUTER_IMAGE, value: "{{.Registry}}/router@{{.Digests.router}}"}
            - {name: CANARY_IMAGE, value: "{{.Registry}}/operator@{{.Digests.operator}}"}
{{- end}}
`))

// publish pushes the images and writes the kustomization. The digests are those
// that the registry has.
func (r release) publish(ctx context.Context) error {
	digests := map[string]string{}
	for _, program := range programs() {
		digest, err := r.push(ctx, program)
		if err != nil {
			return fmt.Errorf("push the image of %s: %w", program, err)
		}
		digests[program] = digest
	}
	for folder, manifests := range map[string]string{r.to: r.manifests, filepath.Join(r.to, "console"): filepath.Join(r.manifests, "..", "console")} {
		if err := r.write(folder, manifests, digests); err != nil {
			return fmt.Errorf("write the manifests: %w", err)
		}
	}
	fmt.Println(r.to)
	return nil
}

// write writes a kustomization of some manifests.
func (r release) write(folder, manifests string, digests map[string]string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err //nolint:wrapcheck // publish says what it is about
	}
	from, err := relative(folder, manifests)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := kustomization.Execute(&text, map[string]any{"Manifests": from, "Registry": r.registry, "Digests": digests, "Operator": folder == r.to}); err != nil {
		return err //nolint:wrapcheck // publish says what it is about
	}
	return os.WriteFile(filepath.Join(folder, "kustomization.yaml"), text.Bytes(), 0o644) //nolint:wrapcheck // publish says what it is about
}

// push pushes an image and returns its digest. The tag says what it was built as;
// nothing of ours names it.
func (r release) push(ctx context.Context, program string) (string, error) {
	image, err := tarball.ImageFromPath(filepath.Join(r.images, program+".tar"), nil)
	if err != nil {
		return "", fmt.Errorf("%w; build it with \"make images\"", err)
	}
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("compute the digest: %w", err)
	}
	tag, err := name.NewTag(r.registry + "/" + program + ":dev")
	if err != nil {
		return "", fmt.Errorf("name the image: %w", err)
	}
	if err := remote.Write(tag, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return "", err //nolint:wrapcheck // it names the registry
	}
	return digest.String(), nil
}

// relative is how kustomize wants folders to be named.
func relative(from, to string) (string, error) {
	var abs [2]string
	for i, dir := range []string{from, to} {
		var err error
		if abs[i], err = filepath.Abs(dir); err != nil {
			return "", fmt.Errorf("find %s: %w", dir, err)
		}
	}
	path, err := filepath.Rel(abs[0], abs[1])
	if err != nil {
		return "", fmt.Errorf("name %s from %s: %w", to, from, err)
	}
	return filepath.ToSlash(path), nil
}
