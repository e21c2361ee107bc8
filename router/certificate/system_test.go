package certificate_test

import (
	"encoding/pem"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/router/certificate"
)

// TestSystemCA: what cannot be used is left out, as is the text around; a bundle without
// anything that can be used is an error.
func TestSystemCA(t *testing.T) {
	t.Parallel()
	pair, err := certfile.SelfSigned("ca.test")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(pair.PEM))
	good := string(pem.EncodeToMemory(block))
	broken := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("nonsense")}))
	ca, err := certificate.SystemCA("# Some authority\n" + good + broken)
	if err != nil || ca.PEM != good {
		t.Fatalf("%+v, %v", ca, err)
	}
	for _, text := range []string{"", "nonsense", broken} {
		if ca, err := certificate.SystemCA(text); err == nil {
			t.Errorf("%q is %+v", text, ca)
		}
	}
	many, err := certificate.SystemCA(strings.Repeat(good, 400)) // more than a tenant's bundle may have
	if err != nil || strings.Count(many.PEM, "BEGIN") != 400 {
		t.Errorf("%v", err)
	}
}
