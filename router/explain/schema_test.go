package explain

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/schema.txt")

// TestSchema holds the JSON forms: scripts read them. A field that vanishes or
// changes its type needs a new number in the Schema constant; for a new field
// run the test with -update.
func TestSchema(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, form := range []struct {
		schema string
		value  any
	}{{SchemaExplain, Explanation{}}, {SchemaWhy, Why{}}, {SchemaLint, Lint{}}, {SchemaRender, Rendered{}}, {SchemaCheck, Checked{}}, {SchemaCerts, Certs{}}, {SchemaDiff, Difference{}}} {
		fmt.Fprintf(&b, "%s\n", form.schema)
		fields(&b, "  ", reflect.TypeOf(form.value))
	}
	const file = "testdata/schema.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("the JSON form changed (-before +now):\n%s", d)
	}
}

func fields(b *strings.Builder, indent string, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() == "time" {
		return
	}
	for f := range t.Fields() {
		if !f.IsExported() || f.Tag.Get("json") == "-" {
			continue
		}
		name := f.Tag.Get("json")
		if name == "" {
			name = f.Name + " (untagged)"
		}
		fmt.Fprintf(b, "%s%s %s\n", indent, name, strings.ReplaceAll(f.Type.String(), "explain.", ""))
		fields(b, indent+"  ", f.Type)
	}
}
