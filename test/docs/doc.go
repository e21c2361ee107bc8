// Package docs tests the documentation: examples work as they are written,
// links lead somewhere, and everything that has a name is mentioned.
//
// A yaml block that the router must refuse, or warn about, has the comment
// "<!-- refused: Reason -->" or "<!-- warns: Reason -->" in the line before. A
// block that the API server must refuse is marked "yaml refused", and the text
// block after it is what the API server says.
package docs
