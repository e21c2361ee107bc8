package explain

import (
	"github.com/fairlead/fairlead/router/model"
)

func (w *World) extraFindings(model.Key) []Finding { return nil }
