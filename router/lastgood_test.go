package router

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/model"
)

func keptRoute(change func(*Kept)) Kept {
	object := func() *routev1.Route {
		return &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "r", UID: "1"}, Spec: routev1.RouteSpec{Host: "a.test"}}
	}
	key := model.Key{Namespace: "a", Name: "r"}
	k := Kept{Key: key, UID: "1", Good: object(), Accepted: object(), Claim: &model.Claim{Key: key, UID: "1", Host: "a.test", Backend: model.Backend{Owner: key}}, Refused: "x", Fallback: 1}
	change(&k)
	return k
}

// keptTexts are files of former processes, of which only the first ones are right.
func keptTexts(t testing.TB) (right, wrong map[string]string) {
	t.Helper()
	text := func(change func(*Kept)) string {
		b, err := json.Marshal([]Kept{keptRoute(change)})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	other := model.Key{Namespace: "victim", Name: "r"}
	right = map[string]string{
		"none": "[]", "one": text(func(*Kept) {}), "nothing served": text(func(k *Kept) { k.Good, k.Accepted, k.Claim = nil, nil, nil }),
	}
	wrong = map[string]string{
		"no JSON": "x", "not a list": "{}", "something behind": "[] []", "an unknown field": `[{"Evil":1}]`,
		"no name":                             text(func(k *Kept) { k.Key = model.Key{}; k.Good, k.Accepted, k.Claim = nil, nil, nil }),
		"no UID":                              text(func(k *Kept) { k.UID = ""; k.Good, k.Accepted, k.Claim = nil, nil, nil }),
		"a good version of another route":     text(func(k *Kept) { k.Good.Namespace = "victim" }),
		"an accepted version of another UID":  text(func(k *Kept) { k.Accepted.UID = "2" }),
		"a claim of another route":            text(func(k *Kept) { k.Claim.Key = other }),
		"a claim with another's backend":      text(func(k *Kept) { k.Claim.Backend.Owner = other }),
		"a claim without its version":         text(func(k *Kept) { k.Accepted = nil }),
		"a fallback that does not exist":      text(func(k *Kept) { k.Fallback = 17 }),
		"a fallback that does not exist, too": text(func(k *Kept) { k.Fallback = -1 }),
	}
	return right, wrong
}

func TestParseKept(t *testing.T) {
	t.Parallel()
	right, wrong := keptTexts(t)
	for name, text := range right {
		if _, err := parseKept([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range wrong {
		if kept, err := parseKept([]byte(text)); err == nil || kept != nil {
			t.Errorf("%s: taken as %+v", name, kept)
		}
	}
}

// FuzzParseKept: whatever a file holds, each version in it is of the route that it
// stands under.
func FuzzParseKept(f *testing.F) {
	right, wrong := keptTexts(f)
	for _, texts := range []map[string]string{right, wrong} {
		for _, text := range texts {
			f.Add([]byte(text))
			f.Add([]byte(strings.ReplaceAll(text, "a.test", `a\n.\t\r\u0000\ftest`)))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		kept, _ := parseKept(text)
		for _, k := range kept {
			if err := k.check(); err != nil {
				t.Errorf("%+v: %v", k, err)
			}
		}
	})
}

// TestLastGoodBounded: a namespace with thousands of routes that cannot be served
// leaves the others their place in the file, and costs them nothing.
//
//nolint:paralleltest // it counts allocations
func TestLastGoodBounded(t *testing.T) {
	l := newLastGood()
	add := func(namespace, name string) {
		k := keptRoute(func(k *Kept) {
			k.Key = model.Key{Namespace: namespace, Name: name}
			k.Accepted, k.Claim = nil, nil
			k.Good.Namespace, k.Good.Name = namespace, name
			k.Good.Spec.Path = "/" + strings.Repeat("x", 10_000)
		})
		l.set(k.Key, k, true)
	}
	for i := range 1000 {
		add("flood", fmt.Sprintf("r%04d", i))
	}
	add("victim", "r")
	text := l.file()
	kept, err := parseKept(text)
	if err != nil {
		t.Fatal(err)
	}
	if last := kept[len(kept)-1]; last.Key.Namespace != "victim" || last.Good == nil {
		t.Errorf("the last kept route is %s", last.Key)
	}
	if full := l.tell(); len(text) > lastGoodShare+20_000 || len(kept) < 150 || !slices.Equal(full, []string{"flood"}) || l.tell() != nil {
		t.Errorf("%d routes in %d bytes; full: %v", len(kept), len(text), full)
	}
	if len(l.texts) != len(kept) || len(l.kept) != len(kept) {
		t.Errorf("%d texts and %d versions of %d routes are in memory", len(l.texts), len(l.kept), len(kept))
	}
	i := 0
	if n := testing.AllocsPerRun(20, func() { i++; add("victim", fmt.Sprint("q", i)) }); n > 200 {
		t.Errorf("a further route takes %.0f allocations", n)
	}
	for key := range l.kept {
		l.set(key, Kept{}, false)
	}
	if text := l.file(); string(text) != "[]" || l.total != 0 || len(l.used) > 0 || len(l.full) > 0 || !l.due {
		t.Errorf("%s is left of %d bytes: %v, %v", text, l.total, l.used, l.full)
	}
	l.due = false
	if l.set(model.Key{Namespace: "flood", Name: "r"}, Kept{}, false); l.due {
		t.Error("a route that was not kept is a reason to write the file")
	}
}
