package model

import "strconv"

// Bandwidth is in bytes a second of one request; 0 is no limit.
type Bandwidth struct {
	// Download is that of the answer, Upload that of the request.
	Download, Upload int
}

// bandwidth writes the field of a record: "DOWNLOAD:UPLOAD", each of which may be empty.
func bandwidth(p *Policy) string {
	if p.Bandwidth == (Bandwidth{}) {
		return ""
	}
	return number(p.Bandwidth.Download) + ":" + number(p.Bandwidth.Upload)
}

// String says what is limited, for people.
func (b Bandwidth) String() string {
	text := ""
	if b.Download > 0 {
		text = "answers " + strconv.Itoa(b.Download) + " bytes a second"
	}
	if b.Upload > 0 {
		if text != "" {
			text += ", "
		}
		text += "requests " + strconv.Itoa(b.Upload) + " bytes a second"
	}
	return text
}
