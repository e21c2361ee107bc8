package render

import (
	"slices"
	"testing"
)

// TestTogether: only neighbours with one condition, which none of them changes, are set by one
// rule, in their order.
func TestTogether(t *testing.T) {
	t.Parallel()
	const of = " if { var(txn.on) -m found }"
	for _, c := range []struct {
		name      string
		have, all []string
	}{
		{
			"neighbours",
			[]string{"http-request set-var(txn.a) var(txn.x),field(1,|)" + of, "http-request set-var(txn.b,ifnotempty) var(txn.a),mul(8)" + of, "http-request deny" + of},
			[]string{`http-request set-var-fmt(txn.unread) "%[var(txn.x),field(1,|),set-var(txn.a)]%[var(txn.a),mul(8),set-var(txn.b,ifnotempty)]"` + of, "http-request deny" + of},
		},
		{"one", []string{"http-request set-var(txn.a) var(txn.x)" + of}, nil},
		{"other conditions", []string{"http-request set-var(txn.a) path" + of, "http-request set-var(txn.b) path" + of + " METH_GET"}, nil},
		{"no condition", []string{"http-request set-var(txn.a) path", "http-request set-var(txn.b) path"}, nil},
		{"a condition that changes", []string{"http-request set-var(txn.a) path if !{ var(txn.a) -m found }", "http-request set-var(txn.b) path if !{ var(txn.a) -m found }"}, nil},
		{"of the session", []string{"http-request set-var(sess.a) src" + of, "http-request set-var(sess.b) src" + of}, nil},
		{"quotes and brackets", []string{`http-request set-var(txn.a) 'var(txn.x),regsub("[a-z]","")'` + of, `http-request set-var(txn.b) 'var(txn.x),regsub("[a-z]","")'` + of}, nil},
		{"a format", []string{`http-request set-var-fmt(txn.a) "%[src]"` + of, `http-request set-var-fmt(txn.b) "%[src]"` + of}, nil},
	} {
		want := c.all
		if want == nil {
			want = c.have
		}
		if got := together(c.have); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.name, got, want)
		}
	}
}
