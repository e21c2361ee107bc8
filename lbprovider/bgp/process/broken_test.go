package process_test

import "os"

func broken(how string) { os.Exit(1) }
