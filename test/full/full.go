// Package full says whether tests run in their long form. `make test` runs all that notices a fault within seconds; what takes minutes
// to show the same fault with more numbers, or on one more version, is behind the flag -full of a package of tests:
//
//	make test-full                              # everything in its long form
//	go test ./test/churn -v -args -full         # one package
package full

import (
	"flag"
	"os"
	"testing"
)

// Variable has the long form of all packages: a flag would stop those that do not know it.
const Variable = "FAIRLEAD_FULL"

var wanted = flag.Bool("full", os.Getenv(Variable) != "", "run the long form of the tests")

// Wanted reports whether the long form is asked for.
func Wanted() bool { return *wanted }

// Or returns what the long form has, or what the short one has.
func Or[T any](long, short T) T {
	if Wanted() {
		return long
	}
	return short
}

// Only skips a test that has no short form; why says where the short form is.
func Only(t testing.TB, why string) {
	t.Helper()
	if !Wanted() {
		t.Skip("make test-full, or -args -full: " + why)
	}
}
