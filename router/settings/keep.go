package settings

import "github.com/fairlead/fairlead/api"

// keep reads which requests are kept for kubectl fairlead explain --id.
func (r *reader) keep(annotations map[string]string) {
	text, set := annotations[api.AnnotationKeepRequests]
	const field = "metadata.annotations[" + api.AnnotationKeepRequests + "]"
	switch {
	case !set || text == "off":
	case text != "failed":
		r.find(field, "must be failed or off", "no requests are kept")
	case r.flags.OneLogFormat && r.out.Render.Log.Target != "":
		r.find(field, "HAProxy before 3.1 has no records of requests beside an access log", "no requests are kept")
	default:
		r.out.Render.KeepFailed = true
	}
}
