package spelling

import "testing"

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "a", 0}, {"www", "wwv", 1}, {"www", "ww", 1}, {"abc", "cab", 2}, {"abc", "xyz", 3}, {"abcdef", "a", 3}} {
		if got := Distance(tt.a, tt.b, 3); got != tt.want {
			t.Errorf("%s, %s: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
