package spop

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func withLength(body []byte) []byte {
	b := append(make([]byte, lengthSize), body...)
	putLength(b)
	return b
}

// TestRefused: each frame that breaks a rule is refused with the status that
// HAProxy's log can show.
func TestRefused(t *testing.T) {
	t.Parallel()
	many := make([]Arg, MaxArgs+1)
	for i := range many {
		many[i] = arg("a", Value{})
	}
	for name, test := range map[string]struct {
		frame []byte
		want  Status
	}{
		"too short":             {[]byte{byte(TypeNotify), 0, 0}, StatusInvalid},
		"no FIN":                {[]byte{byte(TypeNotify), 0, 0, 0, 0, 1, 1}, StatusFragment},
		"ABORT":                 {[]byte{byte(TypeNotify), 0, 0, 0, 3, 1, 1}, StatusFragment},
		"no message":            {notify(1, 1, "")[:8], StatusInvalid},
		"empty name":            {notify(1, 1, ""), StatusInvalid},
		"long name":             {notify(1, 1, strings.Repeat("m", MaxName+1)), StatusInvalid},
		"long argument name":    {notify(1, 1, "ask", arg(strings.Repeat("a", MaxName+1), Value{})), StatusInvalid},
		"many arguments":        {notify(1, 1, "ask", many...), StatusInvalid},
		"fewer arguments":       {append(notify(1, 1, "ask")[:7+4], 3), StatusInvalid},
		"two messages":          {append(notify(1, 1, "ask"), notify(1, 1, "ask")[7:]...), StatusInvalid},
		"unknown type of value": {append(append(notify(1, 1, "ask")[:7+4], 1), 1, 'a', 10), StatusInvalid},
		"text beyond the frame": {append(append(notify(1, 1, "ask")[:7+4], 1), 1, 'a', byte(KindString), 9, 'x'), StatusInvalid},
		"hello of version 1":    {hello("1.0", 16380, false), StatusVersion},
		"hello with 12.0":       {hello("12.0,2.00", 16380, false), StatusVersion},
		"hello without size":    {hello("2.0", 0, false), StatusNoFrameSize},
		"hello of small frames": {hello("2.0", 255, false), StatusBadFrameSize},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, content, err := ParseHeader(test.frame)
			if err == nil && h.Type == TypeHello {
				_, err = ParseHello(content)
			} else if err == nil {
				err = new(Request).ParseNotify(h, content)
			}
			if p, ok := errors.AsType[*ProtocolError](err); !ok || p.Status != test.want {
				t.Errorf("got %v, want status %d", err, test.want)
			}
		})
	}
}

// TestReadFrame: a length is checked before memory is taken for it.
func TestReadFrame(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in   []byte
		want error
	}{
		"whole":     {withLength(question()), nil},
		"too long":  {[]byte{0xff, 0xff, 0xff, 0xff}, &ProtocolError{Status: StatusTooBig}},
		"too short": {[]byte{0, 0, 0, 6, 3, 0, 0, 0, 1, 1}, &ProtocolError{Status: StatusInvalid}},
		"cut":       {withLength(question())[:20], io.ErrUnexpectedEOF},
		"none":      {nil, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadFrame(bytes.NewReader(test.in), nil, 1000)
			p, refused := errors.AsType[*ProtocolError](err)
			want, wanted := errors.AsType[*ProtocolError](test.want)
			switch {
			case wanted:
				if !refused || p.Status != want.Status || cap(got) > 64 {
					t.Errorf("got %v with a buffer of %d, want %v", err, cap(got), test.want)
				}
			case !errors.Is(err, test.want):
				t.Errorf("got %v, want %v", err, test.want)
			case err == nil && !bytes.Equal(got, test.in[lengthSize:]):
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestHeaderLists: names compare without case, and what could end a line is refused.
func TestHeaderLists(t *testing.T) {
	t.Parallel()
	var list []byte
	for _, h := range [][2]string{{"Cookie", "a=b"}, {"COOKIE", "c=d"}, {"X-Empty", ""}} {
		var err error
		if list, err = AppendHeader(list, h[0], h[1]); err != nil {
			t.Fatal(err)
		}
	}
	h, err := ParseHeaders(EndHeaders(list))
	if err != nil {
		t.Fatal(err)
	}
	if v, n := h.Get("cookie"); n != 2 || string(v) != "a=b" {
		t.Errorf("cookie: %q, %d times", v, n)
	}
	if v, n := h.Get("x-empty"); n != 1 || len(v) != 0 {
		t.Errorf("x-empty: %q, %d times", v, n)
	}
	for _, bad := range [][2]string{{"", "x"}, {"A B", "x"}, {"A:", "x"}, {"A", "x\ny"}, {"A", "x\ry"}, {"A", "x\x00"}, {"A\n", "x"}, {"A", strings.Repeat("x", MaxHeader)}} {
		if _, err := AppendHeader(nil, bad[0], bad[1]); !errors.Is(err, ErrHeader) {
			t.Errorf("%q: %q is accepted", bad[0], shorten(bad[1]))
		}
	}
	for name, bad := range map[string][]byte{
		"no end": list, "after the end": append(EndHeaders(list), 0), "nothing": nil, "no name": []byte("\x00\x01x\x00\x00"),
	} {
		if _, err := ParseHeaders(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func shorten(s string) string { return s[:min(len(s), 20)] }
