// Package console tests the console in a real browser.
package console
