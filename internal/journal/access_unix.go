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

// checkFolder returns an error if others may put another file in the place of the one at path: whoever
// writes a journal approves requests. In a folder with the sticky bit, such as /tmp, others cannot
// replace a file of ours.
func checkFolder(path string) error {
	info, err := os.Stat(filepath.Dir(path))
	if err == nil && info.Mode().Perm()&everybody != 0 && info.Mode()&fs.ModeSticky == 0 {
		err = fmt.Errorf("everybody may replace it, because the mode of its folder is %v: run chmod 700 on the folder, or choose another", info.Mode().Perm())
	}
	return err
}

// checkOwned returns an error if others may write the file at path.
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
	return nil
}

// The bits of a mode with which everybody, or the members of a group, may write, and with which both
// may go through a folder.
const (
	everybody fs.FileMode = 0o002
	group     fs.FileMode = 0o020
	enter     fs.FileMode = 0o011
)

// accessOfOthers says what others may do with the journal at path, and the reason why they should not;
// "" if it is nothing. An operator may have meant it, as volumes of Kubernetes with an fsGroup do it.
func accessOfOthers(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	folder, err := os.Stat(filepath.Dir(path))
	switch {
	case info.Mode().Perm()&group != 0:
		return "the members of a group may write the journal, and whoever writes it approves requests"
	case err == nil && info.Mode().Perm()>>2&folder.Mode().Perm()&enter != 0:
		return "others than its owner may read the journal, which holds what people and models said"
	}
	return ""
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
