package pipeline

import (
	"encoding/json"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

func savedRoute(change func(*Saved)) Saved {
	object := func() *routev1.Route {
		return &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "r", UID: "1"}, Spec: routev1.RouteSpec{Host: "a.test"}}
	}
	key := model.Object{Kind: route.Kind, Namespace: "a", Name: "r"}
	k := Saved{Object: key, UID: "1", Good: object(), Accepted: object(), Claims: []*model.Claim{{Owner: key, UID: "1", Host: "a.test", Backend: model.Backend{Owner: key}}}, Refused: "x", Fallback: 1}
	change(&k)
	return k
}

// keptTexts are files of former processes, of which only the first ones are right.
func keptTexts(t testing.TB) (right, wrong map[string]string) {
	t.Helper()
	text := func(change func(*Saved)) string {
		b, err := json.Marshal([]Saved{savedRoute(change)})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	other := model.Object{Kind: route.Kind, Namespace: "victim", Name: "r"}
	right = map[string]string{
		"none": "[]", "one": text(func(*Saved) {}), "nothing served": text(func(k *Saved) { k.Good, k.Accepted, k.Claims = nil, nil, nil }),
	}
	wrong = map[string]string{
		"no JSON": "x", "not a list": "{}", "something behind": "[] []", "an unknown field": `[{"Evil":1}]`,
		"no name":                             text(func(k *Saved) { k.Object = model.Object{}; k.Good, k.Accepted, k.Claims = nil, nil, nil }),
		"no UID":                              text(func(k *Saved) { k.UID = ""; k.Good, k.Accepted, k.Claims = nil, nil, nil }),
		"a good version of another route":     text(func(k *Saved) { k.Good.SetNamespace("victim") }),
		"an accepted version of another UID":  text(func(k *Saved) { k.Accepted.SetUID("2") }),
		"a claim of another route":            text(func(k *Saved) { k.Claims[0].Owner = other }),
		"a claim with another's backend":      text(func(k *Saved) { k.Claims[0].Backend.Owner = other }),
		"a claim without its version":         text(func(k *Saved) { k.Accepted = nil }),
		"a fallback that does not exist":      text(func(k *Saved) { k.Fallback = 17 }),
		"a fallback that does not exist, too": text(func(k *Saved) { k.Fallback = -1 }),
	}
	return right, wrong
}

func parseSaved(text []byte) ([]Saved, error) {
	return New([]door.Door{route.Door{}}, nil, door.Settings{}, &model.Certificate{}).ParseSaved(text)
}

func TestParseSaved(t *testing.T) {
	t.Parallel()
	right, wrong := keptTexts(t)
	for name, text := range right {
		if _, err := parseSaved([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range wrong {
		if kept, err := parseSaved([]byte(text)); err == nil || len(kept) > 0 {
			t.Errorf("%s: taken as %+v", name, kept)
		}
	}
	one, other := strings.Trim(right["one"], "[]"), strings.Trim(wrong["a claim of another route"], "[]")
	if kept, err := parseSaved([]byte("[" + one + "," + other + "," + one + "]")); err == nil || len(kept) != 2 {
		t.Errorf("beside a wrong one, %d of 2 are taken: %v", len(kept), err)
	}
}

// FuzzParseSaved: whatever a file holds, each version in it is of the route that it
// stands under.
func FuzzParseSaved(f *testing.F) {
	right, wrong := keptTexts(f)
	for _, texts := range []map[string]string{right, wrong} {
		for _, text := range texts {
			f.Add([]byte(text))
			f.Add([]byte(strings.ReplaceAll(text, "a.test", `a\n.\t\r\u0000\ftest`)))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		kept, _ := parseSaved(text)
		for _, k := range kept {
			if err := k.check(); err != nil {
				t.Errorf("%+v: %v", k, err)
			}
		}
	})
}
