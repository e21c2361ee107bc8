package engine

import (
	"bufio"
	"strconv"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/traffic"
)

// objectives is the metric of what Routes' annotations say of their requests.
var objectives = family{name: "fairlead_route_slo_ratio", kind: "gauge", help: "Objectives of Routes, by the annotation slo: the share of requests that are to be answered without an error (availability), or within the time that it names (latency)."}

// objective is one of a Route.
type objective struct {
	slo   string
	share int32
}

// objectivesOf returns those of a row.
func objectivesOf(r *traffic.Row) (all []objective) {
	if r.Measure.Availability > 0 {
		all = append(all, objective{"availability", r.Measure.Availability})
	}
	if r.Measure.LatencyShare > 0 {
		all = append(all, objective{"latency", r.Measure.LatencyShare})
	}
	return all
}

func writeObjectives(w *bufio.Writer, rows []traffic.Row) {
	objectives.begin(w)
	for i := range rows {
		for _, o := range objectivesOf(&rows[i]) {
			b := objectives.labels(w, &rows[i], `slo="`+o.slo+`",`)
			b = strconv.AppendFloat(b, float64(o.share)/model.Whole, 'g', -1, 64)
			_, _ = w.Write(append(b, '\n')) // Flush has the error
		}
	}
}
