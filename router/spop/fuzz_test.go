package spop

import (
	"bytes"
	"errors"
	"testing"

	"github.com/negasus/haproxy-spoe-go/action"
	"github.com/negasus/haproxy-spoe-go/frame"
	"github.com/negasus/haproxy-spoe-go/message"
	"github.com/negasus/haproxy-spoe-go/varint"
)

// notify returns a NOTIFY frame without its length.
func notify(stream, number uint64, name string, args ...Arg) []byte {
	b := appendHeader(nil, Header{Type: TypeNotify, Stream: stream, Frame: number})
	b = append(appendText(b, name), byte(len(args)))
	for _, a := range args {
		b = appendText(b, string(a.Name))
		b = append(b, byte(a.Kind)|byte(a.Number*trueFlag)*b2i(a.Kind == KindBool))
		switch a.Kind {
		case KindNull, KindBool:
		case KindInt32, KindUint32, KindInt64, KindUint64:
			b = AppendVarint(b, a.Number)
		case KindIPv4, KindIPv6:
			b = append(b, a.Data...)
		case KindString, KindBinary:
			b = appendText(b, string(a.Data))
		}
	}
	return b[lengthSize:]
}

func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func arg(name string, v Value) Arg { return Arg{[]byte(name), v} }

func text(s string) Value { return Value{Kind: KindString, Data: []byte(s)} }

func hello(versions string, size uint64, check bool) []byte {
	b := appendHeader(nil, Header{Type: TypeHello})
	b = appendString(appendText(b, "supported-versions"), versions)
	b = AppendVarint(append(appendText(b, "max-frame-size"), byte(KindUint32)), size)
	b = appendString(appendText(b, "capabilities"), "pipelining,async")
	if check {
		b = append(appendText(b, "healthcheck"), byte(KindBool)|trueFlag)
	}
	return b[lengthSize:]
}

func question() []byte {
	return notify(300, 1, "ask",
		arg("p", text("demo/members@17")), arg("method", text("GET")), arg("path", text("/a?b=c")),
		arg("src", Value{Kind: KindIPv4, Data: []byte{192, 0, 2, 1}}), arg("src6", Value{Kind: KindIPv6, Data: bytes.Repeat([]byte{1}, 16)}),
		arg("tls", Value{Kind: KindBool, Number: 1}), arg("n", Value{Kind: KindInt64, Number: 1 << 40}),
		arg("cert", Value{}), arg("", Value{Kind: KindUint32, Number: 240}))
}

// FuzzFrame: what is read from any bytes is within its bounds, and is what another
// implementation reads.
func FuzzFrame(f *testing.F) {
	f.Add(question())
	f.Add(notify(0, 0, "x"))
	f.Add(hello("1.0, 2.0", 16380, true))
	f.Add([]byte("\x03\x00\x00\x00\x01\x00\x00\x01a\x01\x01b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))
	for _, s := range []string{"\n", "\t", "\r", "\x00", "\f"} {
		f.Add(notify(1, 1, "ask", arg("path", text("/"+s))))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		h, content, err := ParseHeader(body)
		if err != nil {
			refused(t, err)
			return
		}
		switch h.Type {
		case TypeHello:
			hello, err := ParseHello(content)
			if err != nil {
				refused(t, err)
			} else if hello.MaxFrame < MinFrame {
				t.Fatalf("largest frame %d", hello.MaxFrame)
			}
		case TypeNotify:
			var q Request
			if err := q.ParseNotify(h, content); err != nil {
				refused(t, err)
				return
			}
			if len(q.Message) == 0 || len(q.Message) > MaxName || len(q.Args()) > MaxArgs {
				t.Fatalf("message %q with %d arguments", q.Message, len(q.Args()))
			}
			sameAsOracle(t, &q, content)
		case TypeDisconnect, TypeAgentHello, TypeAgentDisconnect, TypeAck:
		}
	})
}

// refused demands that a refused frame has a status for DISCONNECT.
func refused(t *testing.T, err error) {
	t.Helper()
	if p, ok := errors.AsType[*ProtocolError](err); !ok || p.Status == StatusNormal {
		t.Fatalf("refused with %v", err)
	}
}

// sameAsOracle compares with what the oracle reads from the same bytes.
func sameAsOracle(t *testing.T, q *Request, content []byte) {
	t.Helper()
	m := message.NewMessages()
	if err := m.Decode(content); err != nil {
		t.Fatalf("the oracle refuses what was read: %v", err)
	}
	if len(*m) != 1 || (*m)[0].Name != string(q.Message) {
		t.Fatalf("the oracle reads %d messages, not %q", len(*m), q.Message)
	}
	for _, a := range q.Args() {
		got := q.Arg(string(a.Name)) // the first of that name, as the oracle has the last
		if !bytes.Equal(got.Data, a.Data) || got.Number != a.Number || got.Kind != a.Kind {
			return // a name stands twice
		}
	}
	for _, a := range q.Args() {
		want, _ := (*m)[0].KV.Get(string(a.Name))
		same := true
		switch w := want.(type) {
		case nil:
			same = a.Kind == KindNull
		case bool:
			same = a.Kind == KindBool && w == a.True()
		case string:
			same = a.Kind == KindString && w == string(a.Text())
		case []byte:
			same = a.Kind == KindBinary && bytes.Equal(w, a.Text())
		case int32:
			same = a.Kind == KindInt32 && w == int32(a.Number)
		case uint32:
			same = a.Kind == KindUint32 && w == uint32(a.Number)
		case int64:
			same = a.Kind == KindInt64 && w == int64(a.Number)
		case uint64:
			same = a.Kind == KindUint64 && w == a.Number
		}
		if !same {
			t.Fatalf("argument %q is %v, and %v for the oracle", a.Name, a.Value, want)
		}
	}
}

// FuzzReply: what is set is what another implementation writes, and what does not
// fit leaves nothing.
func FuzzReply(f *testing.F) {
	f.Add("verdict", "allow", int64(60), uint16(16380))
	f.Add("body", "no\r\n\x00\t\f", int64(-1), uint16(300))
	f.Fuzz(func(t *testing.T, name, value string, number int64, limit uint16) {
		var r Reply
		r.begin(Header{Stream: 7, Frame: 300}, max(uint32(limit), MinFrame))
		head := len(r.buf)
		r.SetString(ScopeTransaction, "fixed", "allow")
		r.SetString(ScopeTransaction, name, value)
		r.SetBinary(ScopeSession, name, []byte(value))
		r.SetInt(ScopeTransaction, "ttl", number)
		got, err := r.frame()
		if len(got)-lengthSize > int(max(uint32(limit), MinFrame)) {
			t.Fatalf("a frame of %d bytes, limit %d", len(got), limit)
		}
		if err != nil {
			if len(got) != head {
				t.Fatalf("an answer that does not fit sets something: %q", got)
			}
			return
		}
		if number < 0 {
			return // the oracle's own buffer is too short
		}
		var acts action.Actions
		acts.SetVar(action.ScopeTransaction, "fixed", "allow")
		acts.SetVar(action.ScopeTransaction, name, value)
		acts.SetVar(action.ScopeSession, name, []byte(value))
		acts.SetVar(action.ScopeTransaction, "ttl", number)
		want := bytes.Buffer{}
		o := frame.NewFrame()
		o.Type, o.StreamID, o.FrameID, o.Actions = frame.TypeAgentAck, 7, 300, acts
		if _, err := o.Encode(&want); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("frame\n%q, the oracle writes\n%q", got, want.Bytes())
		}
	})
}

// FuzzVarint: every number survives, in as many bytes as the oracle takes.
func FuzzVarint(f *testing.F) {
	for _, v := range []uint64{0, 239, 240, 2287, 2288, 264431, 264432, 1<<32 - 1, 1<<64 - 1} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v uint64) {
		b := AppendVarint(nil, v)
		c := cursor{rest: b}
		if got := c.varint(); got != v || c.err != nil || len(c.rest) > 0 {
			t.Fatalf("%d is read as %d (%v)", v, got, c.err)
		}
		if o, n := varint.Uvarint(b); o != v || n != len(b) {
			t.Fatalf("the oracle reads %d from %d bytes", o, n)
		}
	})
}

// FuzzHeaders: a list that is accepted can be read and written, and nothing in a
// list that we write ends a line.
func FuzzHeaders(f *testing.F) {
	good, _ := AppendHeader(nil, "Cookie", "a=b")
	f.Add(EndHeaders(good), "X-User", "ann")
	f.Add([]byte("\x00\x00"), "X-User", "ann\r\nX-Admin: 1")
	f.Add([]byte("\xf0\xff\xff\xff\x00"), "X-User\x00", "\t\f\n")
	f.Fuzz(func(t *testing.T, list []byte, name, value string) {
		if h, err := ParseHeaders(list); err == nil {
			var again []byte
			for n, v := range h.All() {
				again = appendText(appendText(again, string(n)), string(v))
			}
			if canonical := EndHeaders(again); len(list) == len(canonical) && !bytes.Equal(canonical, list) {
				t.Fatalf("%q is read as %q", list, canonical)
			}
		}
		one, err := AppendHeader(nil, name, value)
		if err != nil {
			return
		}
		if bytes.ContainsAny([]byte(name+value), "\r\n\x00") {
			t.Fatalf("%q: %q is accepted", name, value)
		}
		h, err := ParseHeaders(EndHeaders(one))
		if err != nil {
			t.Fatal(err)
		}
		for n, v := range h.All() {
			if string(n) != name || string(v) != value {
				t.Fatalf("%q: %q", n, v)
			}
		}
	})
}
