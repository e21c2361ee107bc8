package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

const (
	// streamsKept is how many streams are open at most. A browser needs one, whatever number
	// of tabs it has.
	streamsKept = 32
	// streamLook is how often a stream looks for something new, and streamPause the least time
	// between two events: what happens meanwhile is one event. streamAge is how much newer data
	// must be that say the same. streamComment is how often something is sent, so that both ends notice when
	// the other one has gone.
	streamLook, streamPause, streamAge, streamComment = 200 * time.Millisecond, time.Second, 4 * time.Second, 10 * time.Second
	// streamWrite is how long a browser may take to read an event, and streamLife how long a
	// stream lasts: then the browser asks again, and the guard looks at it again.
	streamWrite, streamLife = 5 * time.Second, 10 * time.Minute
)

// streams counts those to browsers. Nothing waits in a queue for them: each event is the state
// as it is when it is written.
type streams struct {
	// most is how many there may be, and life how long each lasts.
	most int64
	life time.Duration

	open, refused, dropped atomic.Int64
}

// streamState is what an event says. Generation differs when the objects do, and At is when
// they were read, in milliseconds of Unix time.
type streamState struct {
	Generation int    `json:"generation"`
	At         int64  `json:"at"`
	Problem    string `json:"problem"`
}

// live tells a browser when there is something new, until it goes.
func (v *visit) live(w http.ResponseWriter) {
	s := &v.streams
	if s.open.Add(1) > s.most {
		s.open.Add(-1)
		s.refused.Add(1)
		if v.sights != nil {
			v.sights.log.Warn("too many streams", "user", v.viewer.name, "all", s.most)
		}
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d streams are open: close another page of the console", s.most), http.StatusServiceUnavailable)
		return
	}
	defer s.open.Add(-1)
	if v.r.Method == http.MethodHead {
		return
	}
	// A stream lasts for minutes: what it began with must not stay in memory for it.
	v.world, v.kept = nil, kept[world]{}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := &stream{ResponseWriter: w, controller: http.NewResponseController(w)}
	// The server's own limit is for requests, which have been read.
	err := out.controller.SetReadDeadline(time.Time{})
	if err == nil {
		err = v.tell(out)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.dropped.Add(1)
	}
}

// tell writes events until the browser goes, or reads too slowly.
func (v *visit) tell(out *stream) error {
	tick := time.NewTicker(streamLook)
	defer tick.Stop()
	end := time.NewTimer(v.streams.life)
	defer end.Stop()
	var last streamState
	sent := time.Time{}
	for {
		since := time.Since(sent)
		var err error
		switch now := v.streamState(); {
		case sent.IsZero(), since >= streamPause && now.differs(last):
			err = out.send(now)
			last, sent = now, time.Now()
		case since >= streamComment:
			err = out.write(": still here\n\n")
			sent = time.Now()
		}
		if err != nil {
			return err
		}
		select {
		case <-v.r.Context().Done():
			return nil
		case <-v.process.Done():
			return nil
		case <-end.C:
			return nil
		case <-tick.C:
		}
	}
}

// differs reports whether a browser should hear of a state. That the same was read again it
// hears so often that it knows how old the data are.
func (s streamState) differs(o streamState) bool {
	return s.Generation != o.Generation || s.Problem != o.Problem || s.At-o.At >= streamAge.Milliseconds()
}

// streamState is the state now. It has newer data read if they are due.
func (v *visit) streamState() (state streamState) {
	k := v.readings.worlds.get(v.r.Context(), v.process)
	if k.err != nil && !v.viewer.all {
		k.err = errUnread
	}
	if state.Problem = problemText(k.err); k.value != nil {
		state.Generation, state.At = v.views.generation(k.value, v.viewer), v.options.Now().Add(-k.age).UnixMilli()
	}
	return state
}

// stream is the way to one browser.
type stream struct {
	http.ResponseWriter
	controller *http.ResponseController
}

func (s *stream) send(state streamState) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	return s.write(fmt.Sprintf("id: %d\nevent: objects\ndata: %s\n\n", state.Generation, text))
}

// write waits until the browser has taken the text, but not for long.
func (s *stream) write(text string) error {
	if err := s.controller.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil {
		return fmt.Errorf("bound the time of a browser: %w", err)
	}
	if _, err := s.Write([]byte(text)); err != nil {
		return fmt.Errorf("write to a browser: %w", err)
	}
	if err := s.controller.Flush(); err != nil {
		return fmt.Errorf("write to a browser: %w", err)
	}
	return nil
}
