package feed

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/observe"
)

const (
	// alive is how often a client gets the state of its stream, which also finds out whether it
	// is there.
	alive = Lease / 3
	// soon is when it gets that for the first time, if nothing can be observed.
	soon = time.Second
)

// ServeHTTP streams records as lines of JSON (observe.Line) until the client leaves, and answers with what is kept of one
// request below observe.KeptPath.
func (f *Feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, observe.KeptPath) {
		f.serveKept(w, r)
		return
	}
	if r.Method != http.MethodGet {
		http.Error(w, "only GET is served", http.StatusMethodNotAllowed)
		return
	}
	// Not r.URL.Query(): it leaves out what it cannot read, and no filter takes all.
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	filter, err := observe.ParseFilter(query)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reader, err := f.open(filter)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer f.close(reader)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	out := &stream{http.NewResponseController(w), json.NewEncoder(w)}
	_ = f.follow(r, reader, out) // the client has gone
}

// stream is what a client gets.
type stream struct {
	control *http.ResponseController
	lines   *json.Encoder
}

func (s *stream) write(line *observe.Line) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(Lease)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err //nolint:wrapcheck // it ends the stream
	}
	return s.lines.Encode(line) //nolint:wrapcheck // it ends the stream
}

// follow writes until something fails.
func (f *Feed) follow(r *http.Request, reader *reader, out *stream) error {
	ticker := time.NewTicker(soon)
	defer ticker.Stop()
	began := reader.began
	for {
		var err error
		select {
		case <-r.Context().Done():
			return r.Context().Err() //nolint:wrapcheck // it ends the stream
		case <-began:
			began = nil // once
			err = f.writeState(reader, out)
		case <-ticker.C:
			ticker.Reset(alive)
			err = f.writeState(reader, out)
		case record := <-reader.records:
			if err = out.write(&observe.Line{Record: &record}); err != nil || len(reader.records) > 0 {
				break // the last of those that wait goes out with them
			}
			err = out.control.Flush()
		}
		if err != nil {
			return err
		}
	}
}

func (f *Feed) writeState(reader *reader, out *stream) error {
	state := f.state(reader)
	if err := out.write(&observe.Line{State: &state}); err != nil {
		return err
	}
	return out.control.Flush() //nolint:wrapcheck // it ends the stream
}
