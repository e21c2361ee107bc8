package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// unknown is SPDX's word for what a document does not say.
const unknown = "NOASSERTION"

// spdx is the bill of materials in the form of SPDX 2.3. It depends on the content of the parts and on the release's time, which the
// format requires.
func (p parts) spdx(of cdx.Component, at time.Time) ([]byte, error) {
	all, err := p.list()
	if err != nil {
		return nil, err
	}
	purpose := "APPLICATION"
	if of.Type == cdx.ComponentTypeContainer {
		purpose = "CONTAINER"
	}
	top := spdxPackage("Package", part{name: of.Name, version: of.Version})
	top.PrimaryPackagePurpose, top.PackageLicenseDeclared = purpose, "Apache-2.0"
	doc := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: of.Name + " " + of.Version + " " + p.arch,
		CreationInfo: &v2_3.CreationInfo{
			Created:  at.UTC().Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "fairlead-release"}},
		},
		Packages:      []*v2_3.Package{top},
		Relationships: []*v2_3.Relationship{relationship("DOCUMENT", common.TypeRelationshipDescribe, "Package")},
	}
	content := sha256.New()
	for i, one := range all {
		id := fmt.Sprintf("Part-%d", i+1)
		fmt.Fprintf(content, "%q %q\n", one.url, one.sum)
		pkg := spdxPackage(id, one)
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(one.sum, "h1:")); err == nil && len(sum) == sha256.Size {
			pkg.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: fmt.Sprintf("%x", sum)}}
		}
		pkg.PackageExternalReferences = []*v2_3.PackageExternalReference{{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: one.url}}
		doc.Packages = append(doc.Packages, pkg)
		doc.Relationships = append(doc.Relationships, relationship("Package", common.TypeRelationshipContains, id))
	}
	// Each document has a name of its own; that of an equal one is equal.
	doc.DocumentNamespace = fmt.Sprintf("https://github.com/fairlead/fairlead/spdx/%s-%s-%s-%x", strings.ReplaceAll(of.Name, "/", "-"), of.Version, p.arch, content.Sum(nil)[:16])
	var out bytes.Buffer
	if err := spdxjson.Write(doc, &out, spdxjson.Indent("  "), spdxjson.EscapeHTML(false)); err != nil {
		return nil, fmt.Errorf("write the bill of materials (SPDX): %w", err)
	}
	return out.Bytes(), nil
}

// spdxPackage is a part whose files are not listed.
func spdxPackage(id string, of part) *v2_3.Package {
	return &v2_3.Package{
		PackageSPDXIdentifier: common.ElementID(id), PackageName: of.name, PackageVersion: of.version, PackageDownloadLocation: unknown,
		PackageLicenseConcluded: unknown, PackageLicenseDeclared: unknown, PackageCopyrightText: unknown,
	}
}

func relationship(from, kind, to string) *v2_3.Relationship {
	return &v2_3.Relationship{RefA: common.MakeDocElementID("", from), Relationship: kind, RefB: common.MakeDocElementID("", to)}
}
