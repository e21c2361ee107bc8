package router

import (
	"cmp"
	"encoding/json"
	"slices"
)

// recallLastGood takes the last good versions over from a former process of
// the router in the same pod.
func (e *Engine) recallLastGood() {
	text, err := e.files.ReadLastGood()
	var kept []Kept
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		e.log.Error("cannot read the last good versions of routes; those that are invalid now are not served", "err", err)
		return
	}
	e.lastGood = string(text)
	e.pipeline.Restore(kept)
}

// saveLastGood keeps the last good versions for the next process of the router.
func (e *Engine) saveLastGood() {
	kept := e.pipeline.Keeping()
	if len(kept) == 0 && e.lastGood == "" {
		return
	}
	slices.SortFunc(kept, func(a, b Kept) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	text, err := json.Marshal(kept)
	if err != nil {
		e.log.Error("cannot write the last good versions of routes", "err", err)
		return
	}
	if string(text) == e.lastGood {
		return
	}
	if err := e.files.WriteLastGood(text); err != nil {
		e.log.Error("cannot keep the last good versions of routes; the next process of the router will not know them", "err", err)
		return
	}
	e.lastGood = string(text)
}
