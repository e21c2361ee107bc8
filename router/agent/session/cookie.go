package session

import (
	"fmt"
	"strings"
)

// Bounds of the cookies of one session. Browsers keep 4096 bytes of a cookie with its name
// and attributes, and HAProxy's buffer holds all headers of a request.
const (
	chunkSize = 3500
	maxChunks = 4
	// MaxText is the longest text of a session, in base64.
	MaxText = 14000
)

// Chunk is one cookie of a session.
type Chunk struct{ Name, Value string }

// Split cuts a text into cookies: NAME, NAME-1 and so on. The first one begins with their
// number. It reports false for a text that is too long.
func Split(name, text string) ([]Chunk, bool) {
	n := (len(text) + chunkSize - 1) / chunkSize
	if n == 0 || n > maxChunks || len(text) > MaxText {
		return nil, false
	}
	chunks := make([]Chunk, 0, n)
	for i := range n {
		part := text[i*chunkSize : min((i+1)*chunkSize, len(text))]
		if i == 0 {
			part = fmt.Sprintf("%d.%s", n, part)
		}
		chunks = append(chunks, Chunk{chunkName(name, i), part})
	}
	return chunks, true
}

// Join puts a text together again. get returns the value of a cookie that is there once.
func Join(name string, get func(string) (string, bool)) (string, bool) {
	first, ok := get(name)
	if !ok || len(first) < 2 || len(first) > chunkSize+2 || first[1] != '.' || first[0] < '1' || first[0] > '0'+maxChunks {
		return "", false
	}
	var b strings.Builder
	b.WriteString(first[2:])
	for i := 1; i < int(first[0]-'0'); i++ {
		part, ok := get(chunkName(name, i))
		if !ok || len(part) > chunkSize {
			return "", false
		}
		b.WriteString(part)
	}
	return b.String(), true
}

// Names are all names that a session's cookies may have.
func Names(name string) []string {
	list := make([]string, 0, maxChunks)
	for i := range maxChunks {
		list = append(list, chunkName(name, i))
	}
	return list
}

func chunkName(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, i)
}
