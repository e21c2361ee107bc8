package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/model"
)

// TestLookalikes: each spelling of a changed header is removed once, but never a
// header that the route itself changes.
func TestLookalikes(t *testing.T) {
	t.Parallel()
	names := func(actions ...model.HeaderAction) string {
		var out []string
		for _, a := range withoutLookalikes(actions)[len(actions):] {
			if !a.Delete {
				t.Errorf("%s is set", a.Name)
			}
			out = append(out, a.Name)
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	for _, test := range []struct{ in, want string }{
		{"Plain", ""},
		{"X-A", "x_a"},
		{"X-A-B", "x-a_b x_a-b x_a_b"},
		{"a_b-c", "a_b_c"},
		{"a-b-c-d-e", "a-b-c-d_e a-b-c_d-e a-b_c-d-e a_b-c-d-e a_b_c_d_e"},
	} {
		if got := names(model.HeaderAction{Name: test.in, Value: "v"}); got != test.want {
			t.Errorf("%s: %q, want %q", test.in, got, test.want)
		}
	}
	if got := names(model.HeaderAction{Name: "X-A", Value: "v"}, model.HeaderAction{Name: "x_a", Value: "w"}); got != "" {
		t.Errorf("removes %q, which the route sets", got)
	}
	if got := names(model.HeaderAction{Name: "X-A", Value: "v"}, model.HeaderAction{Name: "x-a", Delete: true}); got != "x_a" {
		t.Errorf("removes %q", got)
	}
	if n := len(lookalikes(strings.Repeat("-", 200))); n > 201 {
		t.Error(fmt.Sprint(n, " names"))
	}
}
