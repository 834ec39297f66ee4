// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package index

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// checkOwner returns an error unless the index is a file of the owner of its journal that no more people
// may read or write: somebody else may have put it there, to read what it will hold.
func checkOwner(index, of fs.FileInfo) error {
	a, known := index.Sys().(*syscall.Stat_t)
	b, knownToo := of.Sys().(*syscall.Stat_t)
	switch {
	case !index.Mode().IsRegular():
		return errors.New("it is no regular file: move it away")
	case known && knownToo && a.Uid != b.Uid:
		return errors.New("it belongs to another user than the journal: move it away")
	case index.Mode().Perm()&^of.Mode().Perm() != 0:
		return fmt.Errorf("its mode %v gives more than that of the journal, %v: delete it, it is made anew", index.Mode().Perm(), of.Mode().Perm())
	}
	return nil
}
