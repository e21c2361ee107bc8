package certificate

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/fairlead/fairlead/router/model"
)

// Direct says which of some authorities could let in certificates that it has not signed itself, by an
// intermediate one that the client sends along. HAProxy has no setting for that: what OpenSSL
// holds is the length of path that an authority states. So each must be the end of its chain,
// and state the length 0.
func Direct(ca *model.CA) error {
	for rest := []byte(ca.PEM); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return fmt.Errorf("read the certificate of an authority: %w", err)
		}
		switch {
		case c.CheckSignatureFrom(c) != nil:
			return fmt.Errorf("%.200q is not signed by itself: it is an intermediate authority", c.Subject.String())
		case !c.BasicConstraintsValid || !c.IsCA || c.MaxPathLen != 0 || !c.MaxPathLenZero:
			return fmt.Errorf("%.200q may have intermediate authorities below it: its basic constraints do not state the path length 0", c.Subject.String())
		}
	}
}
