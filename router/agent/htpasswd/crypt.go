package htpasswd

import (
	"crypto/md5" //nolint:gosec // $1$ and $apr1$ are what users bring along
	"crypto/sha256"
	"crypto/sha512"
	gohash "hash"
)

// alphabet is crypt's own base64.
const alphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// kind is one of the two hash functions of SHA crypt.
type kind int

const (
	sha256Kind kind = iota
	sha512Kind
)

func (k kind) new() gohash.Hash {
	if k == sha512Kind {
		return sha512.New()
	}
	return sha256.New()
}

// shaCrypt is Ulrich Drepper's "Unix crypt using SHA-256 and SHA-512", version 0.6,
// without the prefix: the encoded sum.
func shaCrypt(k kind, password, salt string, rounds int) string {
	pw, s := []byte(password), []byte(salt)
	h := k.new()
	sum := func(parts ...[]byte) []byte {
		h.Reset()
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	b := sum(pw, s, pw)
	h.Reset()
	h.Write(pw)
	h.Write(s)
	h.Write(repeat(b, len(pw)))
	for n := len(pw); n > 0; n >>= 1 {
		if n&1 != 0 {
			h.Write(b)
		} else {
			h.Write(pw)
		}
	}
	a := h.Sum(nil)

	h.Reset()
	for range pw {
		h.Write(pw)
	}
	p := repeat(h.Sum(nil), len(pw))
	h.Reset()
	for range 16 + int(a[0]) {
		h.Write(s)
	}
	ds := repeat(h.Sum(nil), len(s))

	for i := range rounds {
		h.Reset()
		mix(h, i, a, p, ds)
		a = h.Sum(a[:0])
	}
	if k == sha512Kind {
		return encodeRotating(a, 21)
	}
	return encodeRotating(a, 10)
}

// mix is one round of SHA crypt and MD5 crypt.
func mix(h gohash.Hash, round int, sum, password, salt []byte) {
	first, last := sum, password
	if round&1 != 0 {
		first, last = password, sum
	}
	h.Write(first)
	if round%3 != 0 {
		h.Write(salt)
	}
	if round%7 != 0 {
		h.Write(password)
	}
	h.Write(last)
}

// repeat returns the first n bytes of b again and again.
func repeat(b []byte, n int) []byte {
	out := make([]byte, 0, n)
	for len(out) < n {
		out = append(out, b[:min(len(b), n-len(out))]...)
	}
	return out
}

// encodeRotating encodes a sum in the order of SHA crypt: three columns of width
// bytes, which change places from one group of four characters to the next.
func encodeRotating(sum []byte, width int) string {
	var out []byte
	columns := [3]int{0, width, 2 * width}
	for i := range width {
		out = encode(out, sum[columns[0]+i], sum[columns[1]+i], sum[columns[2]+i], 4)
		if width == 21 {
			columns = [3]int{columns[1], columns[2], columns[0]}
		} else {
			columns = [3]int{columns[2], columns[0], columns[1]}
		}
	}
	if width == 21 {
		return string(encode(out, 0, 0, sum[63], 2))
	}
	return string(encode(out, 0, sum[31], sum[30], 3))
}

// encode appends n characters for 24 bits, the lowest six first.
func encode(out []byte, high, middle, low byte, n int) []byte {
	v := uint(high)<<16 | uint(middle)<<8 | uint(low)
	for range n {
		out = append(out, alphabet[v&63])
		v >>= 6
	}
	return out
}

// md5Crypt is Poul-Henning Kamp's MD5 crypt, with its magic or Apache's, without
// the prefix: the encoded sum.
func md5Crypt(magic, password, salt string) string {
	pw, s := []byte(password), []byte(salt)
	inner := md5.Sum([]byte(password + salt + password)) //nolint:gosec // the user's format
	h := md5.New()                                       //nolint:gosec // the user's format
	h.Write(pw)
	h.Write([]byte(magic))
	h.Write(s)
	h.Write(repeat(inner[:], len(pw)))
	for n := len(pw); n > 0; n >>= 1 {
		if n&1 != 0 {
			h.Write([]byte{0})
		} else {
			h.Write(pw[:1])
		}
	}
	sum := h.Sum(nil)
	for i := range 1000 {
		h.Reset()
		mix(h, i, sum, pw, s)
		sum = h.Sum(sum[:0])
	}
	var out []byte
	for i := range 5 {
		third := 12 + i
		if i == 4 {
			third = 5
		}
		out = encode(out, sum[i], sum[6+i], sum[third], 4)
	}
	return string(encode(out, 0, 0, sum[11], 2))
}
