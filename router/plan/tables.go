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
		if table := tableOf(t, e.Map); table != nil {
			table[e.Key] = v
		}
	}
	return t
}

// UpdateTables makes tables of a former state those of this one, which differs from it in
// what a scope has.
func (s *State) UpdateTables(t *match.Tables, of *Scope) {
	for e := range of.Entries {
		table := tableOf(t, e.Map)
		if table == nil {
			continue
		}
		if v, there := s.Entries[e]; there {
			table[e.Key] = v
		} else {
			delete(table, e.Key)
		}
	}
	t.Certificates = s.Lines
}

// tableOf returns the table that a map is, or nil.
func tableOf(t *match.Tables, m Map) match.Table {
	switch m {
	case MapHTTP:
		return t.HTTP
	case MapHTTPS:
		return t.HTTPS
	case MapSNI:
		return t.SNI
	case MapListeners:
		return t.Listeners
	case MapSuffixes:
		return t.Suffixes
	case MapPolicy, MapAllow, MapDeny, MapExempt, MapSubjects, MapKeys, MapRedirects, MapCORS, MapRequestHeaders, MapResponseHeaders, MapPages, MapPageTexts:
	}
	return nil
}

// rewrites reports whether a Target changes the path.
func rewrites(target string) bool {
	_, record, _ := strings.Cut(target, "|")
	return model.RecordField(record, model.FieldStrip)+model.RecordField(record, model.FieldPattern) != "" ||
		strings.Contains(model.RecordField(record, model.FieldMode), model.FlagBranchPath)
}

// clientMark returns the mark of the authorities that must have signed the certificates
// of clients, or "".
func clientMark(target string) string {
	_, record, _ := strings.Cut(target, "|")
	return model.RecordField(record, model.FieldClientCA)
}
