package settings

import "testing"

func TestReadSample(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"off": 0, "all": 1, "1/1": 1, "1/16": 16, "1/10000": 10_000} {
		if n, ok := readSample(text); n != want || !ok {
			t.Errorf("%s: %d, %t", text, n, ok)
		}
	}
	for _, text := range []string{"", "on", "0", "16", "1/0", "1/10001", "1/-1", "1/+5", "1/016", "1/ 5", "2/16", "1/16 ", "ALL"} {
		if n, ok := readSample(text); ok {
			t.Errorf("%q is read as %d", text, n)
		}
	}
}
