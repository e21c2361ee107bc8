package firewall

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/model"
)

// TestParse: the firewall reads what records have, and nothing else.
func TestParse(t *testing.T) {
	t.Parallel()
	f := &model.Firewall{Body: 16384, RefusesOver: true, Rules: []model.FirewallRules{
		{Block: true, Paranoia: 2, Threshold: 7, Without: []int{942100, 948999}}, {Paranoia: 4, Threshold: 1000},
	}}
	text := model.RecordField((&model.Policy{Firewall: f}).Record(), model.FieldFirewall)
	got, err := Parse(text)
	if err != nil || cmp.Diff(f.Rules, got) != "" {
		t.Errorf("%q: %v, %v", text, got, err)
	}
	for _, bad := range []string{
		"", "16384:r", "16384:r:", "16384:r:B", "16384:r:B.1", "1:r:X.1.5", "1:r:B.0.5", "1:r:B.5.5", "1:r:B.1.0", "1:r:B.1.1001", "1:r:B.1.5.", "1:r:B.1.5.949110",
		"1:r:B.1.5.942100,", "1:r:B.1.5.942100.1", "1:r:B.01.5", "1:r:B.+1.5", "1:r:B.1.5+", "1:r:B.1.5\nSecRuleEngine Off",
	} {
		if got, err := Parse(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"16384:r:B.1.5", "1024:p:D.4.1000.942100,911100+B.2.5", "a\n\t\r\x00\f:r:B.1.5", "::", "1:r:B.1.5.942100"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse(text)
		if err != nil {
			return
		}
		for _, r := range all {
			if r.Paranoia < 1 || r.Paranoia > 4 || r.Threshold < 1 || r.Threshold > 1000 || len(r.Without) > mostWithout ||
				slices.ContainsFunc(r.Without, func(id int) bool { return id < firstRule || id > lastRule }) {
				t.Errorf("%q is read as %+v", text, r)
			}
		}
	})
}

// FuzzJudge: whatever a client sends, it is judged.
func FuzzJudge(f *testing.F) {
	f.Add("POST", "/a?b=c", "application/json", []byte(`{"a":[1,`))
	f.Add("GET", "/%zz?\n\t\r\x00\f", "multipart/form-data; boundary=\x00", []byte("--\x00\r\n"))
	f.Add("POST", "/", "text/xml", []byte("<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>"))
	rules := rulesOf(f)
	f.Fuzz(func(t *testing.T, method, target, contentType string, body []byte) {
		q := get(target, Header{"Content-Type", contentType})
		q.Method, q.Body = method, body[:min(len(body), 4096)]
		if _, err := rules.Judge(q, model.FirewallRules{Block: true, Paranoia: 4, Threshold: 5}); err != nil {
			t.Error(err)
		}
	})
}

// TestQueue: namespaces take turns, none has more than its share of the places, and what
// waits no more has no turn.
func TestQueue(t *testing.T) {
	t.Parallel()
	q := newQueue(1)
	if err := q.take(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	order := make(chan string)
	wait := func(namespace string) {
		before := func() int { q.mu.Lock(); defer q.mu.Unlock(); return q.waiting }()
		go func() {
			if q.take(t.Context(), namespace) == nil {
				order <- namespace
			}
		}()
		for func() int { q.mu.Lock(); defer q.mu.Unlock(); return q.waiting }() == before {
			runtime.Gosched()
		}
	}
	for _, namespace := range []string{"a", "a", "a", "b"} {
		wait(namespace)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.take(ended, "c"); !errors.Is(err, errBusy) {
		t.Errorf("waits no more: %v", err)
	}
	var got []string
	for range 4 {
		q.give()
		got = append(got, <-order)
	}
	if diff := cmp.Diff([]string{"a", "b", "a", "a"}, got); diff != "" {
		t.Error(diff)
	}
	for range mostOfNamespace {
		wait("a")
	}
	if err := q.take(t.Context(), "a"); !errors.Is(err, errBusy) {
		t.Errorf("one more of the namespace: %v", err)
	}
	for range mostOfNamespace {
		q.give()
		<-order
	}
	q.give()
	if q.free != 1 || q.waiting != 0 || len(q.of)+len(q.turns) != 0 {
		t.Errorf("%+v", q)
	}
}
