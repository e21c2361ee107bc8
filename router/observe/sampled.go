package observe

import (
	"bytes"
	"time"
)

// Sampled reads of a line of the ring only how long a request took, and the backend that it went to, if it is one of the
// share that is sampled and has an answer. It is for each of very many: it copies nothing.
func Sampled(line []byte) (backend []byte, took time.Duration, ok bool) {
	// No field of a client has a bar.
	if !bytes.HasPrefix(line, []byte("h|")) || !bytes.HasSuffix(line, []byte("|1")) || bytes.Count(line, []byte("|")) != fieldSampled {
		return nil, 0, false
	}
	var status, timers []byte
	rest := line
	for i := fieldKind; i <= fieldTimers; i++ {
		var field []byte
		field, rest, _ = bytes.Cut(rest, []byte("|"))
		switch i {
		case fieldTarget:
			backend = field
		case fieldStatus:
			status = field
		case fieldTimers:
			timers = field
		}
	}
	// A request without an answer has no end to measure to, and an upgraded connection lasts as long as it is used.
	const switching = "101"
	if len(status) != len(switching) || status[0] < '1' || status[0] > '9' || string(status) == switching {
		return nil, 0, false
	}
	total := bytes.TrimPrefix(timers[bytes.LastIndexByte(timers, '/')+1:], []byte("+"))
	ms, known := digits(total)
	return backend, time.Duration(ms) * time.Millisecond, known
}

// digits reads a number of at most ten digits.
func digits(text []byte) (n int64, ok bool) {
	const most = 10
	if len(text) == 0 || len(text) > most {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
