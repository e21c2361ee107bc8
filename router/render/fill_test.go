package render

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"github.com/fairlead/fairlead/templates"
)

// TestFill: the skeleton is what text/template makes of it, with nothing and with
// everything in it.
func TestFill(t *testing.T) {
	t.Parallel()
	oracle := template.Must(template.New("oracle").Parse(templates.Skeleton))
	skeleton, err := parseForm("skeleton", templates.Skeleton)
	if err != nil {
		t.Fatal(err)
	}
	all := &templateData{}
	written := everything(reflect.ValueOf(all).Elem(), 1)
	if written < 100 {
		t.Fatalf("only %d values in the data", written)
	}
	for name, data := range map[string]*templateData{"nothing": {}, "everything": all} {
		var want, got bytes.Buffer
		if err := oracle.Execute(&want, data); err != nil {
			t.Fatal(err)
		}
		if err := skeleton.fill(&got, data); err != nil {
			t.Fatal(err)
		}
		if want.String() != got.String() {
			t.Errorf("%s: other than text/template:\n%s", name, got.String())
		}
	}
}

// everything sets all that can be set below a value, each to another one, and returns
// the next number.
func everything(v reflect.Value, next int) int {
	switch v.Kind() {
	case reflect.Struct:
		for _, inner := range v.Fields() {
			next = everything(inner, next)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			next = everything(v.Index(i), next)
		}
	case reflect.Array:
		for i := range v.Len() {
			next = everything(v.Index(i), next)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprintf("text%d", next))
		next++
	default:
		v.SetInt(int64(next))
		next++
	}
	return next
}

// TestFillRefuses: what a skeleton cannot have is an error that names it.
func TestFillRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{{.Absent}}":                    "has no field Absent",
		"{{.RunDir.Length}}":             "has no field Length",
		"{{range .RunDir}}x{{end}}":      "needs a slice",
		"{{.Timeouts}}":                  "cannot be written",
		"{{.RunDir | index}}":            "is not known here",
		"{{$x := .RunDir}}{{$x}}":        "is not known here",
		"{{with .RunDir}}{{.}}{{end}}":   "is not known here",
		"{{index .LimitTables 7}}":       "is not known here",
		"{{template \"other\" .RunDir}}": "is not known here",
	} {
		f, err := parseForm("x", text)
		if err == nil {
			err = f.fill(&bytes.Buffer{}, &templateData{Timeouts: []string{"a"}})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", text, err, want)
		}
	}
}
