package plan

import (
	"strings"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Tables returns what requests are looked up in.
func (s *State) Tables() *match.Tables {
	t := &match.Tables{HTTP: match.Table{}, HTTPS: match.Table{}, SNI: match.Table{}, Listeners: match.Table{}, Suffixes: match.Table{}, Certificates: s.Lines, Rewrites: rewrites, ClientMark: clientMark}
	for e, v := range s.Entries {
		switch e.Map {
		case MapHTTP:
			t.HTTP[e.Key] = v
		case MapHTTPS:
			t.HTTPS[e.Key] = v
		case MapSNI:
			t.SNI[e.Key] = v
		case MapListeners:
			t.Listeners[e.Key] = v
		case MapSuffixes:
			t.Suffixes[e.Key] = v
		case MapPolicy, MapAllow, MapDeny, MapExempt, MapSubjects, MapKeys, MapRedirects, MapCORS, MapRequestHeaders, MapResponseHeaders, MapPages, MapPageTexts:
		}
	}
	return t
}

// rewrites reports whether a Target changes the path.
func rewrites(target string) bool {
	_, record, _ := strings.Cut(target, "|")
	return model.RecordField(record, model.FieldStrip)+model.RecordField(record, model.FieldPattern) != ""
}

// clientMark returns the mark of the authorities that must have signed the certificates
// of clients, or "".
func clientMark(target string) string {
	_, record, _ := strings.Cut(target, "|")
	return model.RecordField(record, model.FieldClientCA)
}
