package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	gojson "github.com/go-json-experiment/json"
	gojsonv1 "github.com/go-json-experiment/json/v1"
)

// Bounds of a snapshot.
const (
	// MaxSize is the longest encoding, without its head.
	MaxSize     = 64 << 20
	MaxPolicies = 50_000
	MaxID       = 256
	headSize    = 4 + sha256.Size
)

// ErrHash is a snapshot that was damaged on its way.
var ErrHash = errors.New("the snapshot's hash differs from its content")

// Encode returns a snapshot as it is sent and kept: its length, its SHA-256, and its
// JSON.
func Encode(s *Snapshot) ([]byte, error) {
	s.Version = Version
	body, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the snapshot: %w", err)
	}
	if len(body) > MaxSize {
		return nil, fmt.Errorf("encode the snapshot: it has %d bytes, more than %d", len(body), MaxSize)
	}
	sum := sha256.Sum256(body)
	b := binary.BigEndian.AppendUint32(make([]byte, 0, headSize+len(body)), uint32(len(body)))
	return append(append(b, sum[:]...), body...), nil
}

// Read reads one encoded snapshot and checks its hash. io.EOF is the end before its
// first byte.
func Read(r io.Reader) ([]byte, error) {
	head := make([]byte, headSize)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n > MaxSize {
		return nil, fmt.Errorf("the snapshot has %d bytes, more than %d", n, MaxSize)
	}
	// The memory grows with what arrives, not with what is announced.
	var whole bytes.Buffer
	whole.Write(head)
	if m, err := io.CopyN(&whole, r, int64(n)); err != nil {
		return nil, fmt.Errorf("the snapshot ends after %d of %d bytes: %w", m, n, io.ErrUnexpectedEOF)
	}
	sum := sha256.Sum256(whole.Bytes()[headSize:])
	if !bytes.Equal(sum[:], head[4:]) {
		return nil, ErrHash
	}
	return whole.Bytes(), nil
}

// Question is sent in place of a snapshot, to ask what the agent decides by.
func Question() []byte {
	sum := sha256.Sum256(nil)
	return append(make([]byte, 4, headSize), sum[:]...)
}

// Empty reports whether an encoding is a Question.
func Empty(encoded []byte) bool { return len(encoded) == headSize }

// Decode returns the snapshot of an encoding. An error means that nothing of it may be
// used.
func Decode(encoded []byte) (*Snapshot, error) {
	r := bytes.NewReader(encoded)
	whole, err := Read(r)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the snapshot is incomplete: %w", err)
	case err != nil:
		return nil, err
	case r.Len() > 0:
		return nil, fmt.Errorf("%d bytes follow the snapshot", r.Len())
	}
	var s Snapshot
	// Case-sensitive, no name twice, no field that this version does not know: it could be
	// a protection.
	if err := gojson.Unmarshal(whole[headSize:], &s, gojson.RejectUnknownMembers(true), gojsonv1.FormatDurationAsNano(true)); err != nil {
		return nil, fmt.Errorf("read the snapshot: %w", err)
	}
	switch {
	case s.Version != Version:
		return nil, fmt.Errorf("the snapshot has version %d, and this agent reads %d", s.Version, Version)
	case len(s.Policies) > MaxPolicies:
		return nil, fmt.Errorf("the snapshot has %d policies, more than %d", len(s.Policies), MaxPolicies)
	}
	seen := make(map[string]bool, len(s.Policies))
	for i := range s.Policies {
		id := s.Policies[i].ID
		if id == "" || len(id) > MaxID || seen[id] {
			return nil, fmt.Errorf("policy %d has an ID that is empty, too long, or of another policy", i)
		}
		seen[id] = true
	}
	if err := checkRelays(s.Relays); err != nil {
		return nil, err
	}
	return &s, nil
}

// Hash returns what identifies the content of a policy, whatever its generation.
func (p *Policy) Hash() string {
	body, err := json.Marshal(p)
	if err != nil {
		return "" // there is nothing in a policy that has no JSON
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Join encodes a snapshot of policies that are encoded already, each as encoding/json
// writes a Policy.
func Join(generation uint64, around Surroundings, policies []string) ([]byte, error) {
	forbidden, err := json.Marshal(around.Networks.Forbidden)
	if err != nil {
		return nil, fmt.Errorf("encode the snapshot: %w", err)
	}
	sessions, err := json.Marshal(around.Sessions) //nolint:gosec // the agent gets the keys by this, in memory
	if err != nil {
		return nil, fmt.Errorf("encode the snapshot: %w", err)
	}
	replicas, err := json.Marshal(around.Replicas)
	if err != nil {
		return nil, fmt.Errorf("encode the snapshot: %w", err)
	}
	relays, err := encodeRelays(around.Relays)
	if err != nil {
		return nil, err
	}
	size := 180 + len(forbidden) + len(sessions) + len(replicas) + len(relays)
	for _, p := range policies {
		size += len(p) + 1
	}
	if size > MaxSize {
		return nil, fmt.Errorf("encode the snapshot: it has %d bytes, more than %d", size, MaxSize)
	}
	b := fmt.Appendf(make([]byte, headSize, headSize+size), `{"version":%d,"generation":%d,"forbidden":%s,"byEndpoints":%t,"sessions":%s,"replicas":%s,"relays":%s,"policies":[`,
		Version, generation, forbidden, around.Networks.Incomplete, sessions, replicas, relays)
	for i, p := range policies {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p...)
	}
	b = append(b, "]}"...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-headSize))
	sum := sha256.Sum256(b[headSize:])
	copy(b[4:], sum[:])
	return b, nil
}
