package statssecret

import (
	"testing"
)

func TestStatsSecretKeepsItsPassword(t *testing.T) {
	t.Parallel()
	live := Desired("a")
	if _, changed := Changed(live, Desired("a")); changed {
		t.Error("the password changes every time")
	}
	delete(live.Data, keyStatsPassword)
	if updated, changed := Changed(live, Desired("a")); !changed || len(updated.Data[keyStatsPassword]) == 0 {
		t.Error("a missing password is not replaced")
	}
}
