package plan

import "testing"

func TestCapabilitiesOf(t *testing.T) {
	t.Parallel()
	small := Capabilities{Lua: true, MaxPayload: smallPayload}
	medium := small
	medium.SubtractCounters, medium.PlainLogFormat, medium.LogProfiles, medium.RulesAtOnce = true, true, true, true
	bound := medium
	bound.BoundSessions = true
	sni := medium
	sni.AutoSNI = true
	open := Capabilities{DynamicBackends: true, GUIDs: true, AutoSNI: true, SubtractCounters: true, HeaderLists: true, BackendTimeouts: true, PlainLogFormat: true, LogProfiles: true, RulesAtOnce: true, Lua: true, MaxPayload: largePayload}
	all := open
	all.BoundSessions = true
	for version, want := range map[string]Capabilities{
		"3.0": small, "3.0.11": small, "3.2.25": medium, "3.2.26-1": bound, "3.2.100": bound, "3.2": bound, "3.3": sni, "3.3.9": sni,
		"3.4": all, "3.4-dev5": open, "3.4.6": open, "3.4.7-1+deb13u4": all, "3.4.x": open, "3.10": all, "4.0.1": all,
	} {
		if got, err := CapabilitiesOf(version); err != nil || got != want {
			t.Errorf("%s: %+v, %v", version, got, err)
		}
	}
	for _, version := range []string{"", "3", "2.8", "2.10.4", "x.y", "3.", ".4", "-3.4", "3.-4"} {
		if got, err := CapabilitiesOf(version); err == nil {
			t.Errorf("%q: %+v", version, got)
		}
	}
}
