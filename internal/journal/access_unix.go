// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// checkOwned returns an error if others may write the file at path, or put another one in its
// place: whoever writes a journal approves requests. In a folder with the sticky bit, such as /tmp,
// others cannot replace a file of ours.
func checkOwned(path string) error {
	for _, end := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + end)
		switch {
		case errors.Is(err, fs.ErrNotExist) && end != "":
			continue
		case err != nil:
			return err
		case info.Mode().Perm()&everybody != 0:
			return fmt.Errorf("its mode %v lets everybody write %s, and whoever writes it approves requests: run chmod 600 on it", info.Mode().Perm(), filepath.Base(path+end))
		}
	}
	info, err := os.Stat(filepath.Dir(path))
	if err == nil && info.Mode().Perm()&everybody != 0 && info.Mode()&fs.ModeSticky == 0 {
		err = fmt.Errorf("everybody may replace it, because the mode of its folder is %v: run chmod 700 on the folder, or choose another", info.Mode().Perm())
	}
	return err
}

// The bits of a mode with which everybody, or the members of a group, may write.
const (
	everybody fs.FileMode = 0o002
	group     fs.FileMode = 0o020
)

// groupMayWrite reports whether the members of a group may write the file at path. An operator may
// have meant that, as volumes of Kubernetes with an fsGroup do it.
func groupMayWrite(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&group != 0
}

// checkWritable returns an error unless the file at path can be opened for writing.
// It does not open it, see createFile.
func checkWritable(path string) error {
	const readAndWrite = 4 | 2 // R_OK | W_OK
	if err := syscall.Access(path, readAndWrite); err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}
