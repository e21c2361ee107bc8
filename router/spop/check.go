package spop

import (
	"errors"
	"net"
)

// AppendHello appends HAPROXY-HELLO, for programs that play HAProxy's part.
func AppendHello(b []byte, maxFrame uint32, check bool) []byte {
	start := len(b)
	b = appendHeader(b, Header{Type: TypeHello})
	b = appendString(appendText(b, "supported-versions"), "2.0")
	b = appendUint32(appendText(b, "max-frame-size"), maxFrame)
	b = appendString(appendText(b, "capabilities"), "pipelining")
	if check {
		b = append(appendText(b, "healthcheck"), byte(KindBool)|trueFlag)
	}
	putLength(b[start:])
	return b
}

// Check makes HAProxy's health check on a connection.
func Check(c net.Conn) error {
	if _, err := c.Write(AppendHello(nil, MinFrame, true)); err != nil {
		return err
	}
	frame, err := ReadFrame(c, nil, MinFrame)
	if err != nil {
		return err
	}
	if h, _, err := ParseHeader(frame); err != nil || h.Type != TypeAgentHello {
		return errors.New("the agent does not answer with AGENT-HELLO")
	}
	return nil
}
