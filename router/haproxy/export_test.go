package haproxy

import (
	"github.com/haproxytech/client-native/v5/runtime"

	"github.com/fairlead/fairlead/router/render"
)

// Stream runs a command as the router does where an answer is long.
func (r *Runtime) Stream(command string, line func([]byte)) error {
	return r.streamBytes(command, line)
}

// Library is the client of the library on the same socket.
func (r *Runtime) Library() *runtime.SingleRuntime { return &r.socket }

// Layout is that of the process.
func (r *Runtime) Layout() render.Layout { return r.layout }

// ProcessLimits reads the limits of the process.
func (r *Runtime) ProcessLimits() (connections int, err error) {
	_, connections, err = r.processLimits()
	return connections, err
}

// Held is the connection that stays open, or nil.
func (r *Runtime) Held() *connection { return r.held }

// Busy says that the last line took long, or that it did not.
func (r *Runtime) Busy(busy bool) { r.busy = busy }
