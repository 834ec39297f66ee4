// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ofGroup are the bits of a mode that the members of a group have.
const ofGroup fs.FileMode = 0o070

// ids returns the user and the group of a file.
func ids(info fs.FileInfo) (user, group int) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		user, group = int(s.Uid), int(s.Gid)
	}
	return user, group
}

// checkOwner returns an error unless the index is a file of the user of its journal that nobody else
// may read or write: somebody else may have put it there, to read what it will hold.
func checkOwner(index, of fs.FileInfo) error {
	user, group := ids(index)
	ofUser, ofItsGroup := ids(of)
	mode := index.Mode().Perm()
	switch {
	case !index.Mode().IsRegular():
		return errors.New("is no regular file: move it away")
	case user != ofUser:
		return errors.New("belongs to another user than the journal: move it away")
	case mode&^of.Mode().Perm() != 0 || group != ofItsGroup && mode&ofGroup != 0:
		return fmt.Errorf("has the mode %v, and gives more than the journal with %v: delete it, it is made anew", mode, of.Mode().Perm())
	}
	return nil
}

// adopt gives a new index the user, the group and the mode of its journal. Only the superuser makes an
// index for the journal of another user.
func adopt(f *os.File, of fs.FileInfo) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	mode := of.Mode().Perm()
	user, group := ids(info)
	ofUser, ofItsGroup := ids(of)
	if user != ofUser || group != ofItsGroup {
		switch err := f.Chown(ofUser, ofItsGroup); {
		case err != nil && user != ofUser:
			return fmt.Errorf("the journal belongs to another user: %w", err)
		case err != nil:
			mode &^= ofGroup
		}
	}
	return f.Chmod(mode)
}
