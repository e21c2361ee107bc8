package engine

import (
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/outlier"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// HAProxy is the process that the engine keeps like the wanted state, and the files
// that it starts from. haproxy.Runtime and haproxy.Files together are the real one.
// Errors are haproxy.ErrGone where no process answers, and *haproxy.RefusedError
// where it refuses.
type HAProxy interface {
	// Info identifies the process, Ended returns what is closed when that has ended, and
	// Starting reports whether one reads its files.
	Info() (haproxy.Info, error)
	Ended(pid int) <-chan struct{}
	Starting() bool
	// Apply takes steps in order and calls done for each that HAProxy has taken. Pace
	// says how: gently beside traffic, and for commands of so many bytes.
	Apply(steps []plan.Step, done func(plan.Step)) error
	Pace(gentle bool, buffer int)
	// Write writes the files, and Reload makes a new process of them. Record keeps what the
	// process has taken since then for one that starts; Turn says that the state which the
	// next Write gets has all of that.
	Write(render.Base, *plan.State) error
	Record([]plan.Step) error
	Turn() error
	Reload() error
	// Mark is that of the files which the last Write wrote, StartedFrom that of the files
	// which the process started from, or "".
	Mark() string
	StartedFrom() (string, error)
	// ReadBack returns the state of the process, and Inspect adds to it what others
	// have changed since a known state.
	ReadBack() (*plan.State, error)
	Inspect(found, known *plan.State) error
	// Digest sums the state of the process up, and Expect what that should be.
	Digest(known *plan.State, depth haproxy.Depth) (uint64, error)
	Expect(*plan.State, haproxy.Depth) uint64
	// ServerErrors are what backends' servers have failed, by backend and server.
	ServerErrors(backends []string) (map[string]map[string]outlier.Errors, error)
	// OldWorkers are those that reloads have replaced, RefusedSources the clients that
	// have reached a limit of connections.
	OldWorkers() ([]haproxy.OldWorker, error)
	RefusedSources(each func(haproxy.RefusedSource)) error
	// Refusals are what policies have refused, as each thread has counted it.
	Refusals(each func(thread int, of haproxy.Refusal, count uint64)) error
}

// process is the real HAProxy.
type process struct {
	*haproxy.Runtime
	*haproxy.Files
}

func newProcess(l render.Layout, caps plan.Capabilities) (process, error) {
	files, err := haproxy.NewFiles(l, caps)
	if err != nil {
		return process{}, err //nolint:wrapcheck // it says what
	}
	runtime, err := haproxy.NewRuntime(l, caps)
	return process{runtime, files}, err //nolint:wrapcheck // it says what
}
