// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// journalName is the journal's file in the demo's folder.
const journalName = "contextgraph.db"

// markerName marks a folder as the demo's own: only there does it replace a journal.
const markerName = ".contextgraph-demo"

const markerText = "This folder belongs to the contextgraph demo (examples/adcp).\nEvery run replaces " + journalName + ", " + configName + " and " + pageName + " in it.\n"

// configName is the file that the command line reads in the demo's folder.
const configName = "contextgraph.yaml"

// writeConfig writes contextgraph.yaml with the address of the ad server, so that commands in the folder know the
// rules and checkers. The server ends with the demo: a check after that says that nobody could be asked.
func writeConfig(dir, server string) error {
	data := bytes.ReplaceAll(configYAML, []byte(configuredServer), []byte(server))
	if err := os.WriteFile(filepath.Join(dir, configName), data, 0o666); err != nil {
		return fmt.Errorf("the folder for the demo's files cannot be written: %w; choose another with --dir", err)
	}
	return nil
}

// prepareFolder makes dir ready for a run and returns the path of the journal, which does not exist yet. The session
// ids of the demo are fixed, so it starts from an empty journal; it removes one only where the marker says that an
// earlier run made it.
func prepareFolder(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("the folder for the demo's files cannot be made: %w; choose another with --dir", err)
	}
	journal, marker := filepath.Join(dir, journalName), filepath.Join(dir, markerName)
	_, err := os.Lstat(marker)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		for _, name := range []string{journal, filepath.Join(dir, configName), filepath.Join(dir, pageName)} {
			if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("%s is there and no earlier run of the demo made it; choose another folder with --dir, or move the file away", name)
			}
		}
	case err != nil:
		return "", fmt.Errorf("the folder for the demo's files cannot be read: %w; choose another with --dir", err)
	}
	// The marker comes first: a run that ends in between leaves a folder the next run can use.
	if err := os.WriteFile(marker, []byte(markerText), 0o666); err != nil {
		return "", fmt.Errorf("the folder for the demo's files cannot be written: %w; choose another with --dir", err)
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(journal + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("the journal of the last run cannot be replaced: %w; close the program that uses it, or choose another folder with --dir", err)
		}
	}
	return journal, nil
}
