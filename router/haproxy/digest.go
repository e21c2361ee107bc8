package haproxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"

	"github.com/fairlead/fairlead/router/plan"
)

// Digest returns a number that stays the same for as long as ReadBack and
// Inspect would return the same. It takes the router a tenth of their time and
// no memory, because nothing is kept of the answers.
func (r *Runtime) Digest() (uint64, error) {
	var sum uint64
	add := func(command string, stable func(l []byte) []byte) func() error {
		return func() error { return r.digest(command, stable, &sum) }
	}
	types := "1" // frontends
	if r.caps.DynamicBackends {
		types = "3" // and backends
	}
	asks := []func() error{
		add("show backend", whole),
		add("show servers state", serverColumns()),
		add("show ssl cert", whole), add("show ssl ca-file", whole), add("show ssl crt-list -n "+r.layout.CrtList(), whole),
		add("show stat -1 "+types+" -1", statColumns()),
		func() error {
			return r.limits(func(body io.Reader) error { return r.digestLines(body, "limits", whole, &sum) })
		},
	}
	for _, m := range plan.Maps() {
		asks = append(asks, add("show map "+r.layout.MapFile(m), afterReference))
	}
	for _, ask := range asks {
		if err := ask(); err != nil {
			return 0, fmt.Errorf("take a digest of HAProxy's state: %w", err)
		}
	}
	return sum, nil
}

func (r *Runtime) digest(command string, stable func([]byte) []byte, sum *uint64) error {
	return r.answer(command, func(from io.Reader) error { return r.digestLines(from, command, stable, sum) })
}

// digestLines adds up the hashes of lines, whose order does not matter.
func (r *Runtime) digestLines(from io.Reader, command string, stable func([]byte) []byte, sum *uint64) error {
	lines, about := bufio.NewReaderSize(from, 64<<10), maphash.String(r.seed, command)
	for {
		l, err := lines.ReadSlice('\n')
		if text := stable(l); len(text) > 0 {
			*sum += maphash.Bytes(r.seed, text) ^ about
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
	}
}

func whole(l []byte) []byte { return l }

// afterReference leaves out the address of a map's element.
func afterReference(l []byte) []byte {
	_, rest, _ := bytes.Cut(l, []byte(" "))
	return rest
}

// serverColumns keeps of "show servers state" what ReadBack reads.
func serverColumns() func([]byte) []byte {
	kept := []int{colBackend, colServer, colAddress, colAdminState, colWeight, colPort}
	return columnsOf(' ', kept, colPort)
}

// statColumns keeps of "show stat" what Inspect reads.
func statColumns() func([]byte) []byte {
	return columnsOf(',', []int{statName, statRow, statStatus}, statStatus)
}

// columnsOf returns a function that keeps some columns up to the last one. Its
// result is valid until the next call.
func columnsOf(separator byte, kept []int, last int) func([]byte) []byte {
	var out []byte
	return func(l []byte) []byte {
		out = out[:0]
		for n := 0; n <= last && len(l) > 0; n++ {
			end := bytes.IndexByte(l, separator)
			if end < 0 {
				end = len(l)
			}
			if slices.Contains(kept, n) {
				out = append(append(out, l[:end]...), separator)
			}
			l = l[min(end+1, len(l)):]
		}
		return out
	}
}
