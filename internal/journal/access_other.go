// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package journal

import "os"

// checkFolder, checkOwned and accessOfOthers know of the permissions of Unix only.
func checkFolder(string) error { return nil }

func checkOwned(string) error { return nil }

func accessOfOthers(string) string { return "" }

// checkWritable returns an error unless the file at path can be opened for writing.
func checkWritable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
