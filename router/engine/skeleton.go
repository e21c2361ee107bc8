package engine

import (
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// skeletonState is what HAProxy starts from, except the routes. Its settings change
// with the IngressController; a change is a reload, which HAProxy may refuse.
type skeletonState struct {
	layout render.Layout
	caps   plan.Capabilities

	// asked are the settings of the cluster, target is what HAProxy should run, which is
	// less where it refuses those, and running what it is known to run.
	asked           render.Settings
	target, running skeletonVersion
	// refused is the fingerprint that HAProxy refused, tried again only after
	// another one; tolerated that of the process which goes on instead.
	refused, tolerated string
	// postponed is true if the target waits until files can be written.
	postponed bool

	// words are HAProxy's about what it refused last.
	words string
	// refusedSink, if not nil, receives a refusal, and nil when it has ended.
	refusedSink func(*api.Finding)
}

// skeletonVersion is a base with the settings that it was made of.
type skeletonVersion struct {
	settings render.Settings
	base     render.Base
}

func newSkeleton(s render.Settings, l render.Layout, caps plan.Capabilities) (*skeletonState, error) {
	k := &skeletonState{layout: l, caps: caps, asked: s}
	base, err := render.Skeleton(s, l, caps)
	k.target = skeletonVersion{s, base}
	return k, err
}

// setSettings changes the target, and reports whether it is another one now.
func (k *skeletonState) setSettings(s render.Settings) (bool, error) {
	base, err := render.Skeleton(s, k.layout, k.caps)
	if err != nil {
		return false, err
	}
	k.asked = s
	if base.Fingerprint == k.refused {
		return false, nil
	}
	k.report("")
	k.refused, k.words = "", ""
	if base.Fingerprint == k.target.base.Fingerprint {
		return false, nil
	}
	k.target, k.tolerated = skeletonVersion{s, base}, ""
	return true, nil
}

// lacksPorts reports whether HAProxy goes on without the ports for Gateways that it should
// have.
func (k *skeletonState) lacksPorts() bool {
	have, want := k.target.settings, k.asked
	return have.HTTPSlots.Count < want.HTTPSlots.Count || have.HTTPSSlots.Count < want.HTTPSSlots.Count || have.FallbackSlots.Count < want.FallbackSlots.Count ||
		have.TLSSlots.Count < want.TLSSlots.Count || have.TCPSlots.Count < want.TCPSlots.Count
}

// is reports whether a process may go on with what it runs.
func (k *skeletonState) is(fingerprint string) bool {
	return fingerprint == k.target.base.Fingerprint || fingerprint == k.tolerated
}

// reason says why a reload is needed, for log and metric.
func (k *skeletonState) reason() string {
	if k.running.base.Fingerprint == "" {
		return "router-wide settings changed"
	}
	changed := render.Changed(k.running.settings, k.target.settings)
	switch len(changed) {
	case 0:
		return "router-wide settings changed"
	case 1, 2, 3:
		return strings.Join(changed, ", ")
	}
	return strings.Join(changed[:3], ", ") + " and others"
}

// report says that HAProxy refuses the target, or with an empty message that
// another one is tried.
func (k *skeletonState) report(message string) {
	switch {
	case k.refusedSink == nil:
	case message != "":
		k.refusedSink(&api.Finding{
			Field: k.reason(), Reason: api.ReasonRefusedByHAProxy, Severity: api.SeverityError,
			Message: message, Effect: "HAProxy keeps its former settings until these are changed",
		})
	case k.refused != "":
		k.refusedSink(nil)
	}
}

// started notes that HAProxy runs the target.
func (k *skeletonState) started() { k.running, k.tolerated = k.target, "" }

// fallBack makes the target what certainly works: the last version that ran,
// if that is what the process still runs, else one without anything that could
// be refused. The ports for Gateways stay in that at first: another process of the node may
// have one of them.
func (k *skeletonState) fallBack(fingerprint string) error {
	k.report("HAProxy refuses the settings" + k.words)
	k.refused, k.tolerated = k.target.base.Fingerprint, fingerprint
	if k.running.base.Fingerprint != "" && k.running.base.Fingerprint == fingerprint {
		k.target = k.running
		return nil
	}
	safe := k.target.settings.Safe()
	base, err := render.Skeleton(safe, k.layout, k.caps)
	if err == nil && base.Fingerprint == k.target.base.Fingerprint {
		safe.HTTPSlots, safe.HTTPSSlots, safe.FallbackSlots, safe.TLSSlots, safe.TCPSlots = render.Slots{}, render.Slots{}, render.Slots{}, render.Slots{}, render.Slots{}
		base, err = render.Skeleton(safe, k.layout, k.caps)
	}
	if err == nil {
		k.target = skeletonVersion{safe, base}
	}
	return err
}

// fallBack goes on with what certainly works. Gateways have no port where that has none.
func (e *Engine) fallBack(fingerprint string) error {
	if err := e.skeleton.fallBack(fingerprint); err != nil {
		return err
	}
	e.update(door.Changes{Objects: model.Objects{{Kind: door.KindSlots}: {}}})
	return nil
}

// setSettings takes router-wide settings; the next sync applies them.
func (e *Engine) setSettings(s render.Settings) {
	changed, err := e.skeleton.setSettings(s)
	if err != nil {
		e.log.Error("cannot render router-wide settings, the last ones stay", "err", err)
	}
	if changed {
		e.pid = 0 // compare with the process at once
	}
}

// replaceSkeleton makes a process that runs another skeleton run the wanted
// one. If HAProxy refuses it, the process goes on as it is.
func (e *Engine) replaceSkeleton(info haproxy.Info) error {
	reason := e.skeleton.reason()
	e.log.Info("router-wide settings differ from those of the running HAProxy", "reason", reason, "have", info.Description, "want", e.skeleton.target.base.Fingerprint)
	err := e.reload(reason)
	if isFilesError(err) {
		e.skeleton.tolerated, e.skeleton.postponed = info.Description, true
		return e.readBack(info.PID)
	}
	if !haproxy.Refused(err) {
		return err
	}
	e.log.Error("HAProxy refused router-wide settings; the last ones stay until they are changed", "fields", reason, "err", err)
	e.skeleton.words = ": " + err.Error()
	if err := e.fallBack(info.Description); err != nil {
		return err
	}
	if err := e.writeFiles(); err != nil {
		return err
	}
	return e.readBack(info.PID)
}
