// Package spelling compares names that users write with those that there are. It is
// pure.
package spelling

// Distance counts inserted, deleted and changed letters, up to a limit.
func Distance(a, b string, limit int) int {
	if diff := len(a) - len(b); diff >= limit || -diff >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		left := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			left, row[j] = row[j], min(row[j]+1, row[j-1]+1, left+cost)
		}
	}
	return min(row[len(b)], limit)
}
