package bfd_test

import (
	"context"
	"encoding/hex"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// asSender in the environment makes the test binary send one datagram.
const asSender = "FAIRLEAD_BFD_TEST_SEND"

// sendFrom sends a datagram from a network namespace.
func sendFrom(t *testing.T, ns, from, to, ttl, payload string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command("nsenter", "--net=/run/netns/"+ns, self, from, to, ttl, payload)
	cmd.Env = append(os.Environ(), asSender+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("send: %v: %s", err, out)
	}
}

func sendDatagram(args []string) error {
	ttl, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	payload, err := hex.DecodeString(args[3])
	if err != nil {
		return err
	}
	d := net.Dialer{
		LocalAddr: &net.UDPAddr{IP: net.ParseIP(args[0])},
		Control: func(_, _ string, c syscall.RawConn) error {
			var err error
			outer := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_TTL, ttl) })
			if outer != nil {
				return outer
			}
			return err
		},
	}
	conn, err := d.DialContext(context.Background(), "udp4", args[1])
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write(payload)
	return err
}
