package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// images are container images by the version of HAProxy in them.
type images map[string]string

// String implements flag.Value.
func (i *images) String() string {
	var list []string
	for _, version := range slices.Sorted(maps.Keys(*i)) {
		list = append(list, version+"="+(*i)[version])
	}
	return strings.Join(list, ",")
}

// Set implements flag.Value.
func (i *images) Set(text string) error {
	version, image, ok := strings.Cut(text, "=")
	if !ok || version == "" || image == "" {
		return fmt.Errorf("%q is not VERSION=IMAGE, such as 3.2=example.com/router:haproxy-3.2", text)
	}
	if *i == nil {
		*i = images{}
	}
	(*i)[version] = image
	return nil
}
