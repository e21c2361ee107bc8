package explain

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/settings"
)

// Settings are what the IngressController of the router says.
type Settings struct {
	Router string
	// Domain is that of generated hosts, empty if it is not known.
	Domain string
	// Known is false if there is no IngressController, or it could not be read: the
	// settings are the defaults then.
	Known bool
	// Written are the fields of the spec, and the annotations, that have a value.
	Written []Setting
	// Reload are the settings that differ from the defaults and that HAProxy reads only
	// when it reloads, in the words of fairlead_router_reloads_total.
	Reload   []string
	Findings []Finding
	Notes    []string
}

// Setting is one field as it is written.
type Setting struct{ Field, Value string }

// Settings returns what the IngressController of the router says.
func (s *Snapshot) Settings() *Settings {
	out := &Settings{Router: s.options.Router, Domain: s.settings.Domain, Known: s.controller != nil, Notes: s.Notes()}
	for _, f := range s.allFindings() {
		if f.Object.Kind == "IngressController" {
			out.Findings = append(out.Findings, s.finding(f))
		}
	}
	if s.controller == nil {
		return out
	}
	plain, _ := settings.From(nil, settings.Flags{
		RouterName: s.options.Router, HTTPPort: s.render.HTTPPort, HTTPSPort: s.render.HTTPSPort, MaxConn: 20000, Threads: 1,
		AgentDir: s.render.AgentDir, FirewallDir: s.render.FirewallDir,
	})
	plain.Render.Key = s.render.Key
	out.Reload = render.Changed(plain.Render, s.render)
	for _, name := range sortedKeys(s.controller.Annotations) {
		if name != lastApplied {
			out.Written = append(out.Written, Setting{"metadata.annotations[" + name + "]", s.controller.Annotations[name]})
		}
	}
	var spec any
	if text, err := json.Marshal(s.controller.Spec); err == nil && json.Unmarshal(text, &spec) == nil {
		out.Written = flatten(out.Written, "spec", spec)
	}
	return out
}

// flatten appends the values in a JSON value, each with its path.
func flatten(to []Setting, path string, value any) []Setting {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			to = flatten(to, path+"."+name, v[name])
		}
	case []any:
		for i, item := range v {
			to = flatten(to, path+"["+strconv.Itoa(i)+"]", item)
		}
	case nil:
	case string:
		if v != "" {
			to = append(to, Setting{path, v})
		}
	default:
		to = append(to, Setting{path, fmt.Sprint(v)})
	}
	return to
}
