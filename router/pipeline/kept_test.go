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

func keptRoute(change func(*Kept)) Kept {
	object := func() *routev1.Route {
		return &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "r", UID: "1"}, Spec: routev1.RouteSpec{Host: "a.test"}}
	}
	key := model.Object{Kind: route.Kind, Namespace: "a", Name: "r"}
	k := Kept{Object: key, UID: "1", Good: object(), Accepted: object(), Claims: []*model.Claim{{Owner: key, UID: "1", Host: "a.test", Backend: model.Backend{Owner: key}}}, Refused: "x", Fallback: 1}
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
	other := model.Object{Kind: route.Kind, Namespace: "victim", Name: "r"}
	right = map[string]string{
		"none": "[]", "one": text(func(*Kept) {}), "nothing served": text(func(k *Kept) { k.Good, k.Accepted, k.Claims = nil, nil, nil }),
	}
	wrong = map[string]string{
		"no JSON": "x", "not a list": "{}", "something behind": "[] []", "an unknown field": `[{"Evil":1}]`,
		"no name":                             text(func(k *Kept) { k.Object = model.Object{}; k.Good, k.Accepted, k.Claims = nil, nil, nil }),
		"no UID":                              text(func(k *Kept) { k.UID = ""; k.Good, k.Accepted, k.Claims = nil, nil, nil }),
		"a good version of another route":     text(func(k *Kept) { k.Good.SetNamespace("victim") }),
		"an accepted version of another UID":  text(func(k *Kept) { k.Accepted.SetUID("2") }),
		"a claim of another route":            text(func(k *Kept) { k.Claims[0].Owner = other }),
		"a claim with another's backend":      text(func(k *Kept) { k.Claims[0].Backend.Owner = other }),
		"a claim without its version":         text(func(k *Kept) { k.Accepted = nil }),
		"a fallback that does not exist":      text(func(k *Kept) { k.Fallback = 17 }),
		"a fallback that does not exist, too": text(func(k *Kept) { k.Fallback = -1 }),
	}
	return right, wrong
}

func parseKept(text []byte) ([]Kept, error) {
	return New([]door.Door{route.Door{}}, nil, door.Settings{}, &model.Certificate{}).ParseKept(text)
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
