package main

import (
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string // part of the error, empty for none
	}{
		{"as installed", []string{"--router-image=router:1", "--domain=apps.example.com"}, ""},
		{"no image", nil, "--router-image is required"},
		{"a word too many", []string{"--router-image=router:1", "start"}, `unexpected argument "start"`},
		{"unknown flag", []string{"--image=x"}, "image"},
		{"DNS zones", []string{"--router-image=x", "--dns=rfc2136", "--dns-zone=example.com", "--dns-private-zone=kind=private,cluster=c1"}, ""},
		{"DNS zone without a key", []string{"--router-image=x", "--dns-zone==x"}, "is not key=value"},
		{"classes", []string{"--router-image=x", "--lb-class=a,b"}, ""},
		{"unknown level", []string{"--log-level=loud"}, "log-level"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(test.args)
			switch {
			case test.want == "" && err != nil, test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	s, err := parse([]string{"--router-image=x", "--lb-class=a,b"})
	if c := s.classes(); err != nil || c == nil || !slices.Equal(c.Names, []string{"a", "b"}) || c.Unset {
		t.Errorf("--lb-class=a,b: %+v, %v", c, err)
	}
	if _, err := parse([]string{"--help"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
}
