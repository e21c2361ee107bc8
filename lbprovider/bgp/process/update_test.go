package process_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

var prefix = []byte{24, 198, 18, 7}

// advisories are what gobgp was published to crash of in 2026, and before.
func advisories() []attack {
	update := func(name string, parts ...[]byte) attack {
		return attack{name: name, bytes: message(typeUpdate, updateBody(nil, bytes.Join(parts, nil), prefix))}
	}
	as4 := attribute(0xc0, 17, 2, 3, 0, 0, 1)
	return []attack{
		update("malformed AS4_PATH before AS_PATH (CVE-2026-41643)", as4, usual()),
		update("AS4_PATH between others (CVE-2026-41643)", attribute(0x40, 1, 0), as4, attribute(0x40, 2), attribute(0xc0, 18, 1), attribute(0x40, 3, 198, 18, 0, 1)),
		update("AS4_AGGREGATOR without AGGREGATOR", usual(), attribute(0xc0, 18, 0, 0, 0, 1, 198, 18, 0, 1)),
		update("unknown attribute called well-known (CVE-2026-41642)", usual(), attribute(0x40, 99, 1, 2, 3)),
		update("unknown attribute called well-known, alone (CVE-2026-41642)", attribute(0x40, 99)),
		update("inconsistent attribute lengths (CVE-2026-42285)", attribute(0x40, 1, 0), attribute(0x40, 2, 2, 9, 0, 0), attribute(0x40, 3, 198, 18)),
		update("ORIGIN without the transitive flag", attribute(0x00, 1, 0), usual()[4:]),
		update("IPv6 extended communities cut short (CVE-2026-37461)", usual(), attribute(0xc0, 25, 0, 2, 0xfd)),
		update("IPv6 extended communities of 19 bytes (CVE-2026-37461)", usual(), attribute(0xc0, 25, make([]byte, 19)...)),
		update("NEXT_HOP of a group (CVE-2026-30405)", attribute(0x40, 1, 0), attribute(0x40, 2), attribute(0x40, 3, 224, 0, 0, 1)),
		update("NEXT_HOP of no bytes (CVE-2026-30405)", attribute(0x40, 1, 0), attribute(0x40, 2), attribute(0x40, 3)),
		{name: "withdrawn routes longer than the message (CVE-2026-37462)", bytes: message(typeUpdate, []byte{0xff, 0xff, 0, 0})},
		{name: "attributes longer than the message (CVE-2026-37462)", bytes: message(typeUpdate, []byte{0, 0, 0xff, 0xff, 0x40})},
		{name: "withdrawn routes that leave no room (CVE-2026-37462)", bytes: message(typeUpdate, []byte{0, 1, 0})},
		{name: "an UPDATE of three bytes", bytes: message(typeUpdate, []byte{0, 0, 0})},
	}
}

// updates are routes that cannot be, and too many of them.
func updates() []attack {
	update := func(name string, withdrawn, attributes, prefixes []byte) attack {
		return attack{name: name, bytes: message(typeUpdate, updateBody(withdrawn, attributes, prefixes))}
	}
	all := []attack{
		update("a prefix of 33 bits", nil, usual(), []byte{33, 1, 2, 3, 4, 5}),
		update("a prefix of 255 bits", nil, usual(), []byte{255, 1}),
		update("half a prefix", nil, usual(), []byte{24, 198}),
		update("routes without attributes", nil, nil, prefix),
		update("withdrawn half a prefix", []byte{32, 1}, nil, nil),
		update("an attribute twice", nil, append(usual(), usual()...), prefix),
		update("an empty AS_PATH segment", nil, bytes.Join([][]byte{attribute(0x40, 1, 0), attribute(0x40, 2, 2, 0), attribute(0x40, 3, 198, 18, 0, 1)}, nil), prefix),
		update("many empty AS_PATH segments", nil, bytes.Join([][]byte{attribute(0x40, 1, 0), attribute(0x50, 2, bytes.Repeat([]byte{2, 0}, 800)...), attribute(0x40, 3, 198, 18, 0, 1)}, nil), prefix),
	}
	var flood []byte
	for i := range 2000 {
		p := binary.BigEndian.AppendUint32([]byte{32}, 0xc6130000+uint32(i))
		flood = append(flood, message(typeUpdate, updateBody(nil, usual(), p))...)
	}
	return append(all, attack{name: "2,000 routes", bytes: flood})
}

// attributes are those of every code with lengths, flags and values that do not
// fit, in both orders: the first that ends the session keeps the rest from being
// read.
func attributes() []attack {
	var all []attack
	codes := []byte{128, 255}
	for code := byte(0); code <= 41; code++ {
		codes = append(codes, code)
	}
	for _, code := range codes {
		var forward, backward []byte
		for _, one := range [][]byte{
			attribute(0xc0, code),
			attribute(0x80, code, 0),
			attribute(0xc0, code, bytes.Repeat([]byte{0xff}, 13)...),
			attribute(0xd0, code, make([]byte, 300)...),
			attribute(0xc0, code, 1, 0, 1, 2, 0, 9, 0, 0, 0, 3, 0, 0xff),
			attribute(0x90, code, 0x40, 4, 71, 33, 0, 1, 2, 0, 0, 0xff, 0xff),
			attribute(0x80, code, 0, 1, 128, 12, 0, 0, 0, 0, 0, 0, 0, 0, 198, 18, 0, 1, 0, 200, 1),
			attribute(0x80, code, 0, 1, 133, 0, 0, 0xf0, 1, 1),
			{0xc0, code, 250, 1},
			{0xd0, code, 1},
		} {
			m := message(typeUpdate, updateBody(nil, append(usual(), one...), prefix))
			forward, backward = append(forward, m...), append(bytes.Clone(m), backward...)
		}
		all = append(all,
			attack{name: fmt.Sprintf("attribute %d", code), bytes: forward}, attack{name: fmt.Sprintf("attribute %d, backwards", code), bytes: backward})
	}
	return all
}
