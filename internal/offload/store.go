// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Store keeps parts under names. Its methods may be called concurrently.
type Store interface {
	// Create stores data under name and returns once it is stored. It never
	// overwrites: the error is ErrExists when the name is taken, and marked by Permanent
	// when it cannot be this part, stored by an attempt before. It returns soon
	// after ctx has ended. After any error the part is absent or whole. An error
	// that trying again does not cure is marked by [Permanent]. Create does not
	// change data and does not use it after its return.
	Create(ctx context.Context, name, contentType string, data []byte) error
	// URI returns where the part of that name stands, or will. It does no I/O and
	// works after Close.
	URI(name string) string
	// Close gives up what the store holds. Create is not called after it.
	Close() error
}

// ErrExists is the error of [Store] Create for a name that is taken.
var ErrExists = errors.New("the name exists already")

// permanentError is an error that trying again does not cure.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// Permanent marks err as one that trying again does not cure, such as a missing
// permission. The text stays, and errors.Is and errors.As look through the mark.
func Permanent(err error) error { return permanentError{err} }

func isPermanent(err error) bool {
	var p permanentError
	return errors.As(err, &p)
}

// maxName is the longest name that Cloud Storage takes; maxElement is the longest
// file name of common file systems.
const (
	maxName    = 1024
	maxElement = 255
)

// CheckName returns an error unless every store takes the name: a relative path of at most 1,024
// bytes of UTF-8. Its elements are separated by single slashes, have at most 255 bytes, do not
// begin with a dot, and have no backslash, no colon and no control character.
func CheckName(name string) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("name %.40q...: %d bytes are too long: use at most %d", name, len(name), maxName)
	case !fs.ValidPath(name) || !filepath.IsLocal(name):
		return fmt.Errorf("name %q: not a clean relative path: use elements separated by single slashes, without \"..\"", name)
	case name[0] == '.' || strings.Contains(name, "/."):
		return fmt.Errorf("name %q: an element begins with a dot, which is for the store's own files: use another name", name)
	}
	start := 0
	for i, r := range name {
		switch {
		case r == '\\' || r == ':' || unicode.IsControl(r):
			return fmt.Errorf("name %q: the character %q does not work everywhere: use letters, digits, '-', '_' and '.'", name, r)
		case r == '/':
			start = i + 1
		case i+utf8.RuneLen(r)-start > maxElement:
			return fmt.Errorf("name %q: an element is longer than %d bytes: shorten it", name, maxElement)
		}
	}
	return nil
}
