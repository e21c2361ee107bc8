package haproxy

import (
	"errors"
	"fmt"

	"github.com/haproxytech/client-native/v5/models"

	"github.com/fairlead/fairlead/router/plan"
)

// processLimits returns what puts the limits of the process right, and what the
// limit of connections is to be, which frontends start with as well.
func (r *Runtime) processLimits() (steps []plan.Step, connections int, err error) {
	info, err := r.processInfo()
	if err != nil {
		return nil, 0, err
	}
	for _, limit := range []struct {
		what string
		now  *int64
	}{
		{"rate-limit connections global", info.ConnRateLimit},
		{"rate-limit sessions global", info.SessRateLimit},
		{"rate-limit ssl-sessions global", info.SslRateLimit},
		{"rate-limit http-compression global", info.CompressBpsRateLim},
	} {
		if limit.now != nil && *limit.now != 0 {
			steps = append(steps, plan.LimitSet{What: limit.what})
		}
	}
	connections = int(*info.HardMaxConn)
	if *info.MaxConn != *info.HardMaxConn {
		steps = append(steps, plan.LimitSet{What: "maxconn global", Value: connections})
	}
	return steps, connections, nil
}

// processInfo asks the process for "show info". The library reports an answer that
// did not come as one without values, and panics where a line of it was cut: it
// reads the fields of a line without counting them. Both are an error here.
func (r *Runtime) processInfo() (info *models.ProcessInfoItem, err error) {
	r.Commands++
	defer func() {
		if cut := recover(); cut != nil {
			info, err = nil, fmt.Errorf("%w: the answer to show info was cut off: %v", ErrGone, cut)
		}
	}()
	answer := r.socket.GetInfo()
	switch info = answer.Info; {
	case answer.Error != "":
		return nil, fmt.Errorf("%w: %w", ErrGone, errors.New(answer.Error))
	case info == nil || info.Pid == nil || info.MaxConn == nil || info.HardMaxConn == nil:
		return nil, fmt.Errorf("%w: no answer to show info", ErrGone)
	}
	return info, nil
}
