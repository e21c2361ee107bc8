package kube

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file reads a list in the API server's protobuf form object by object:
// "k8s\0", then a message whose field 2 holds the list, whose field 1 is its
// metadata and whose fields 2 are the objects (apimachinery, runtime.Unknown and
// meta/v1). Decoded as one value, the list and all its objects would be in memory
// three times over.

const (
	fieldRaw      = 2
	fieldListMeta = 1
	fieldItems    = 2
)

// maxObject bounds one object; etcd takes 1.5 MiB by default.
const maxObject = 64 << 20

// decodeList hands on the bytes of each object of a list, which are valid until
// the function returns.
func decodeList(from io.Reader, each func([]byte) error) (metav1.ListMeta, error) {
	var meta metav1.ListMeta
	r := bufio.NewReaderSize(from, 64<<10)
	magic := make([]byte, 4)
	if _, err := io.ReadFull(r, magic); err != nil {
		return meta, fmt.Errorf("read the answer: %w", err)
	}
	if !bytes.Equal(magic, []byte("k8s\x00")) {
		return meta, errors.New("the answer is not protobuf")
	}
	outer := message{from: r, left: math.MaxInt64}
	for {
		number, size, err := outer.field()
		if err != nil {
			return meta, fmt.Errorf("look for the list: %w", unexpected(err))
		}
		if number != fieldRaw {
			if err := outer.skip(size); err != nil {
				return meta, err
			}
			continue
		}
		list := message{from: r, left: size}
		if err := list.decode(&meta, each); err != nil {
			return meta, err
		}
		_, err = io.Copy(io.Discard, r)
		return meta, err
	}
}

// decode reads the list itself.
func (m *message) decode(meta *metav1.ListMeta, each func([]byte) error) error {
	var buffer []byte
	for {
		number, size, err := m.field()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case number != fieldListMeta && number != fieldItems:
			err = m.skip(size)
		default:
			if size > maxObject {
				return fmt.Errorf("an object has %d bytes", size)
			}
			if uint64(cap(buffer)) < size {
				buffer = make([]byte, size+size/2)
			}
			buffer = buffer[:size]
			if _, err = io.ReadFull(m.from, buffer); err != nil {
				return unexpected(err)
			}
			if number == fieldListMeta {
				err = meta.Unmarshal(buffer)
			} else {
				err = each(buffer)
			}
		}
		if err != nil {
			return err
		}
	}
}

// message is a protobuf message that is not held in memory.
type message struct {
	from *bufio.Reader
	// left is how many bytes there are behind the current field.
	left uint64
}

// field goes to the next field with a size, which is then to be read or skipped.
// It returns io.EOF at the end of the message.
func (m *message) field() (number, size uint64, err error) {
	for m.left > 0 {
		tag, err := m.varint()
		if err != nil {
			return 0, 0, unexpected(err)
		}
		value, err := m.varint()
		if err != nil {
			return 0, 0, unexpected(err)
		}
		switch tag & 7 {
		case 0: // a number
		case 2: // bytes
			if value > m.left {
				return 0, 0, io.ErrUnexpectedEOF
			}
			m.left -= value
			return tag >> 3, value, nil
		default:
			return 0, 0, fmt.Errorf("field %d has wire type %d", tag>>3, tag&7)
		}
	}
	return 0, 0, io.EOF
}

func (m *message) varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 64 && m.left > 0; shift += 7 {
		b, err := m.from.ReadByte()
		if err != nil {
			return 0, err
		}
		m.left--
		if v |= uint64(b&0x7f) << shift; b < 0x80 {
			return v, nil
		}
	}
	return 0, errors.New("a number does not end")
}

func (m *message) skip(size uint64) error {
	_, err := io.CopyN(io.Discard, m.from, int64(min(size, math.MaxInt64)))
	return unexpected(err)
}

// unexpected makes an end in the middle an error.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
