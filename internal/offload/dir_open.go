// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// marker is the file that says that a folder is ours.
const (
	marker     = ".contextgraph"
	markerText = "Parts of agent runs that rows of a contextgraph journal name by URI. Private to the owner of this folder.\n"
)

// othersMode are the permission bits of everybody but the owner.
const othersMode = 0o077

// openRoot opens the folder at path, creates it when there is none, and makes sure
// that only its owner can read what is in it.
func openRoot(path string) (_ *os.Root, err error) {
	if path == "" || strings.Contains(path, "://") {
		return nil, errors.New("not a path: give the path of a folder")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(abs); err == nil && !info.IsDir() {
		return nil, errors.New("not a folder: give the path of a folder")
	}
	if err := os.MkdirAll(abs, dirMode); err != nil {
		return nil, fmt.Errorf("create it: %w: choose another folder", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("%w: choose another folder or change its permissions", err)
	}
	if err := closeToOthers(root); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// closeToOthers takes permissions from everybody but the owner where the folder is
// ours to change, and marks it as ours when it is new. A folder that holds anything
// else may be shared for a reason.
func closeToOthers(root *os.Root) error {
	ours, err := isOurs(root)
	if err != nil {
		return err
	}
	for tightened := false; ; tightened = true {
		info, err := root.Stat(".")
		if err != nil {
			return err
		}
		switch {
		case runtime.GOOS == "windows" || info.Mode()&othersMode == 0:
			return nil
		case !ours:
			return fmt.Errorf("mode %v lets others read it, and it holds files that are not ours: choose an empty folder, or run chmod 700 on it", info.Mode().Perm())
		case tightened:
			return fmt.Errorf("mode stays %v after chmod 700: its file system does not keep permissions: mount it with umask=077 or choose another folder", info.Mode().Perm())
		}
		if err := root.Chmod(".", dirMode); err != nil {
			return fmt.Errorf("mode %v lets others read it: %w: run chmod 700 on it as its owner or choose another folder", info.Mode().Perm(), err)
		}
	}
}

// isOurs reports whether the folder has our marker, which an empty folder gets. It looks for the
// marker last: another process may be opening the folder, and writes its marker first.
func isOurs(root *os.Root) (bool, error) {
	f, err := root.Open(".")
	if err != nil {
		return false, err
	}
	_, err = f.ReadDir(1)
	f.Close()
	empty := err == io.EOF
	if err != nil && !empty {
		return false, err
	}
	switch _, err := root.Lstat(marker); {
	case err == nil:
		return true, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	case !empty:
		return false, nil
	}
	err = root.WriteFile(marker, []byte(markerText), fileMode)
	if err != nil {
		return false, fmt.Errorf("%w: choose another folder or change its permissions", err)
	}
	return true, nil
}
