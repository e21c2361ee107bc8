package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const cgroupFolder = "/sys/fs/cgroup"

// createCgroup makes a control group that kubelet can use as its root: one in every hierarchy of version 1, or the one of
// version 2 with its controllers turned on.
func createCgroup(name string) error {
	for _, hierarchy := range hierarchies() {
		dir := filepath.Join(hierarchy, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make control group %s: %w", dir, err)
		}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := inherit(hierarchy, dir, file); err != nil {
				return err
			}
		}
	}
	if unified() {
		if err := enableControllers(name); err != nil {
			return err
		}
	}
	return weigh(name)
}

// weight is how many busy processes of the machine a node's pods together are
// worth; by default it would be one, and a node would stand still for seconds
// while a compiler runs beside the cluster.
const weight = 8

// weigh gives the group its share of the processors, where one can be given.
func weigh(name string) error {
	shares := map[string]int{"cpu.shares": 1024 * weight, "cpu.weight": 100 * weight}
	for _, hierarchy := range hierarchies() {
		for file, value := range shares {
			path := filepath.Join(hierarchy, name, file)
			if _, err := os.Stat(path); err != nil {
				continue // of the other version
			}
			if err := os.WriteFile(path, []byte(strconv.Itoa(value)), 0o644); err != nil {
				return fmt.Errorf("weigh control group %s: %w", name, err)
			}
		}
	}
	return nil
}

// hierarchies lists the folders in which a group of ours stands.
func hierarchies() []string {
	if unified() {
		return []string{cgroupFolder}
	}
	entries, err := os.ReadDir(cgroupFolder)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, entry := range entries {
		dir := filepath.Join(cgroupFolder, entry.Name())
		if entry.IsDir() && entry.Name() != "unified" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// unified says whether the machine has version 2 only.
func unified() bool {
	_, err := os.Stat(filepath.Join(cgroupFolder, "cgroup.controllers"))
	return err == nil
}

// inherit copies a cpuset file of version 1, which starts empty and then takes no process.
func inherit(parent, dir, file string) error {
	if unified() {
		return nil
	}
	value, err := os.ReadFile(filepath.Join(parent, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", file, parent, err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), value, 0o644); err != nil {
		return fmt.Errorf("set %s of %s: %w", file, dir, err)
	}
	return nil
}

func enableControllers(name string) error {
	for _, dir := range []string{cgroupFolder, filepath.Join(cgroupFolder, name)} {
		available, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
		if err != nil {
			return fmt.Errorf("list controllers of %s: %w", dir, err)
		}
		for controller := range strings.FieldsSeq(string(available)) {
			// One by one: a controller that cannot be turned on must not keep the others off; kubelet names what it misses.
			_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
		}
	}
	return nil
}

// removeCgroup removes the group with all below it; its processes are gone, but the kernel may need a moment.
func removeCgroup(ctx context.Context, name string) error {
	folders := hierarchies()
	if !unified() {
		folders = append(folders, filepath.Join(cgroupFolder, "unified")) // runc adds a group there
	}
	for _, hierarchy := range folders {
		top := filepath.Join(hierarchy, name)
		if _, err := os.Stat(top); err != nil {
			continue
		}
		err := poll(ctx, 20*time.Second, "control group "+top+" to be removable", func() (bool, error) {
			err := removeFolders(top)
			return err == nil, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeFolders removes top and the folders below it. Files of a control group come and go with their folder.
func removeFolders(top string) error {
	var dirs []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	for _, dir := range slices.Backward(dirs) {
		if removeErr := os.Remove(dir); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = removeErr
		}
	}
	return err
}
