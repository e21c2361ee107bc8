package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/osrg/gobgp/v3/pkg/log"
	packet "github.com/osrg/gobgp/v3/pkg/packet/bgp"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// problemLogger listens to what gobgp logs about a session, because gobgp says nowhere else
// why it is not up. Everything is passed on at level debug.
type problemLogger struct {
	log *slog.Logger
	// explained says that this attempt to open a session has its problem noted.
	explained atomic.Bool

	mu      sync.Mutex // guards what follows
	peer    bgp.Peer
	problem string
	changed func()
}

// setPeer makes it listen to the messages about another peer's session. Changed is called when
// the problem is another one.
func (e *problemLogger) setPeer(peer bgp.Peer, changed func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.peer, e.problem, e.changed = peer, "", changed
}

func (e *problemLogger) currentPeer() bgp.Peer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.peer
}

// lastProblem returns why the session is not up, as far as gobgp logged it.
func (e *problemLogger) lastProblem() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.problem
}

func (e *problemLogger) setProblem(problem string) {
	e.mu.Lock()
	differs := e.problem != problem
	e.problem = problem
	changed := e.changed
	e.mu.Unlock()
	if differs {
		changed()
	}
}

func (e *problemLogger) handle(level slog.Level, msg string, fields log.Fields) {
	switch msg {
	case "failed to connect":
		if err, ok := fields["Error"].(error); ok {
			e.setProblem(dialProblem(e.currentPeer(), err))
		}
	case "received notification":
		code, _ := fields["Code"].(uint8)
		subcode, _ := fields["Subcode"].(uint8)
		text, _ := fields["Communicated-Reason"].(string)
		e.setProblem(receivedProblem(e.currentPeer(), code, subcode, text))
	case "sent notification":
		if err, ok := fields["Data"].(*packet.MessageError); ok {
			e.explained.Store(true)
			e.setProblem(sentProblem(e.currentPeer(), err))
		}
	case "state changed":
		e.changeState(fields)
	case "hold timer expired":
		e.setProblem("the peer was silent for longer than the hold time")
	case "Peer Down":
		if fields["Reason"] == "read-failed" {
			e.setProblem("the peer closed the connection without a word")
		}
	case "Peer Up":
		e.setProblem("")
	}
	if e.log.Enabled(context.Background(), slog.LevelDebug) {
		e.log.Debug(msg, "peer", e.currentPeer().Name, "gobgp", level.String(), "fields", fields)
	}
}

// changeState notes why a session was not opened. What the peer said about it
// gobgp does not log.
func (e *problemLogger) changeState(fields log.Fields) {
	if fields["new"] != packet.BGP_FSM_IDLE.String() {
		e.explained.Store(false)
		return
	}
	opening := fields["old"] == packet.BGP_FSM_OPENSENT.String() || fields["old"] == packet.BGP_FSM_OPENCONFIRM.String()
	if !opening || e.explained.Load() {
		return
	}
	p := e.currentPeer()
	switch fmt.Sprint(fields["reason"]) {
	case "invalid-msg":
		e.setProblem(fmt.Sprintf("the peer refused the session: it expects another AS than %d from this node, or another hold time; its log says which", p.OwnASN()))
	case "read-failed":
		e.setProblem("the peer closed the connection at once: it does not know this address as a neighbour, or it has a session with it already")
	}
}

// The methods that gobgp's Logger wants.

func (e *problemLogger) Panic(msg string, fields log.Fields) { e.handle(slog.LevelError, msg, fields) }

func (e *problemLogger) Fatal(msg string, fields log.Fields) { e.handle(slog.LevelError, msg, fields) }

func (e *problemLogger) Error(msg string, fields log.Fields) { e.handle(slog.LevelError, msg, fields) }

func (e *problemLogger) Warn(msg string, fields log.Fields) { e.handle(slog.LevelWarn, msg, fields) }

func (e *problemLogger) Info(msg string, fields log.Fields) { e.handle(slog.LevelInfo, msg, fields) }

func (e *problemLogger) Debug(msg string, fields log.Fields) { e.handle(slog.LevelDebug, msg, fields) }
func (e *problemLogger) SetLevel(log.LogLevel)               {}

// GetLevel is debug always: why a connection failed is logged on that level only.
func (e *problemLogger) GetLevel() log.LogLevel { return log.DebugLevel }

func dialProblem(p bgp.Peer, err error) string {
	var netErr net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("%s refuses the connection: BGP does not run there, or does not know this node as a neighbour", p)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Sprintf("this node does not have the source address %s", p.Source)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Sprintf("there is no way to %s: no route, or no host has the address", p)
	case errors.Is(err, syscall.ENODEV):
		return fmt.Sprintf("this node has no device %q", cmp.Or(p.VRF, p.Interface))
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		if p.Password != "" {
			return fmt.Sprintf("%s does not answer: the password differs, or port and address are filtered", p)
		}
		return fmt.Sprintf("%s does not answer: it wants a password, or port and address are filtered", p)
	default:
		return fmt.Sprintf("connect to %s: %v", p, err)
	}
}

func receivedProblem(p bgp.Peer, code, subcode uint8, text string) string {
	told := packet.NewNotificationErrorCode(code, subcode).String()
	switch {
	case code == packet.BGP_ERROR_OPEN_MESSAGE_ERROR && subcode == packet.BGP_ERROR_SUB_BAD_PEER_AS:
		return fmt.Sprintf("the peer expects another AS than %d from this node", p.OwnASN())
	case code == packet.BGP_ERROR_OPEN_MESSAGE_ERROR && subcode == packet.BGP_ERROR_SUB_UNACCEPTABLE_HOLD_TIME:
		return "the peer does not accept the hold time"
	case code == packet.BGP_ERROR_HOLD_TIMER_EXPIRED:
		return "the peer received nothing from this node for longer than the hold time"
	case code == packet.BGP_ERROR_CEASE && subcode == packet.BGP_ERROR_SUB_ADMINISTRATIVE_SHUTDOWN:
		told = "the session is shut down there"
	case code == packet.BGP_ERROR_CEASE && subcode == packet.BGP_ERROR_SUB_PEER_DECONFIGURED:
		told = "this node is no longer configured as a neighbour there"
	case code == packet.BGP_ERROR_CEASE && subcode == packet.BGP_ERROR_SUB_MAXIMUM_NUMBER_OF_PREFIXES_REACHED:
		told = "it got more prefixes than it allows"
	}
	if text != "" {
		told += ": " + text
	}
	return "the peer ended the session: " + told
}

func sentProblem(p bgp.Peer, err *packet.MessageError) string {
	if err.TypeCode == packet.BGP_ERROR_OPEN_MESSAGE_ERROR && err.SubTypeCode == packet.BGP_ERROR_SUB_BAD_PEER_AS {
		return fmt.Sprintf("the peer's AS is not %d", p.PeerASN)
	}
	if err.TypeCode == packet.BGP_ERROR_CEASE {
		return "this node ended the session"
	}
	return "this node ended the session: " + packet.NewNotificationErrorCode(err.TypeCode, err.SubTypeCode).String()
}
