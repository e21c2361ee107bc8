// Package dashboards are the Grafana dashboards of Fairlead. config/monitoring has them as ConfigMaps that Grafana's
// sidecar finds; a test asks a real Prometheus each of their queries.
package dashboards

import (
	"encoding/json"
	"fmt"
)

// Dashboard is one page of panels.
type Dashboard struct {
	// ID is the dashboard's uid, which links name.
	ID, Title string
	Rows      []Row
}

// Row is a title with the panels below it.
type Row struct {
	Title  string
	Panels []Panel
}

// Panel is one graph.
type Panel struct {
	Title, Description string
	// Unit is one of Grafana's.
	Unit    string
	Queries []Query
}

// Query is PromQL with the legend of its series. $__rate_interval and the variable $instance may stand in it.
type Query struct{ Expr, Legend string }

// All returns the dashboards.
func All() []Dashboard { return []Dashboard{routers(), policies(), addresses(), operator()} }

// Sizes in Grafana's grid, which is 24 wide.
const (
	width, height = 8, 8
	columns       = 24 / width
)

// JSON returns the dashboard as Grafana reads it.
func (d Dashboard) JSON() (string, error) {
	var panels []any
	y, id := 0, 0
	for _, row := range d.Rows {
		id++
		panels = append(panels, map[string]any{
			"id": id, "type": "row", "title": row.Title, "collapsed": false, "panels": []any{},
			"gridPos": position(0, y, 24, 1),
		})
		y++
		for i, p := range row.Panels {
			id++
			panels = append(panels, p.json(id, position(i%columns*width, y+i/columns*height, width, height)))
		}
		y += (len(row.Panels) + columns - 1) / columns * height
	}
	text, err := json.MarshalIndent(map[string]any{
		"uid": d.ID, "title": d.Title, "tags": []string{"fairlead"}, "schemaVersion": 39, "version": 1, "editable": true,
		"time": map[string]any{"from": "now-3h", "to": "now"}, "refresh": "30s", "timezone": "browser",
		"templating": map[string]any{"list": []any{
			map[string]any{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
			map[string]any{
				"name": "instance", "label": "Instance", "type": "query", "datasource": source(), "includeAll": true, "multi": true, "allValue": ".*", "refresh": 2,
				"query":   map[string]any{"query": "label_values(fairlead_build_info, instance)", "refId": "instance"},
				"current": map[string]any{"selected": true, "text": "All", "value": "$__all"},
			},
		}},
		"links": []any{map[string]any{
			"title": "Alerts and runbooks", "type": "link", "targetBlank": true,
			"url": "https://github.com/fairlead/fairlead/blob/main/docs/monitoring/runbooks/README.md",
		}},
		"panels": panels,
	}, "", " ")
	if err != nil {
		return "", fmt.Errorf("write the dashboard %s: %w", d.ID, err)
	}
	return string(text) + "\n", nil
}

func source() map[string]any { return map[string]any{"type": "prometheus", "uid": "${datasource}"} }

func position(x, y, w, h int) map[string]any { return map[string]any{"x": x, "y": y, "w": w, "h": h} }

func (p Panel) json(id int, at map[string]any) map[string]any {
	var targets []any
	for i, q := range p.Queries {
		targets = append(targets, map[string]any{"refId": string(rune('A' + i)), "datasource": source(), "expr": q.Expr, "legendFormat": q.Legend})
	}
	return map[string]any{
		"id": id, "type": "timeseries", "title": p.Title, "description": p.Description, "datasource": source(), "gridPos": at, "targets": targets,
		"fieldConfig": map[string]any{"defaults": map[string]any{"unit": p.Unit, "min": 0}, "overrides": []any{}},
		"options": map[string]any{
			"legend":  map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true},
			"tooltip": map[string]any{"mode": "multi", "sort": "desc"},
		},
	}
}
