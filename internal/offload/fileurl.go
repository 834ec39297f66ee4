// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

import (
	"net/url"
	"strings"
)

// fileURL returns the file URL of an absolute path, of this system or of Windows:
// "/a b" is file:///a%20b, `C:\a` is file:///C:/a, `\\host\share` is
// file://host/share. No path of another system looks like the latter two.
func fileURL(path string) string {
	drive := len(path) >= 3 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	share, isShare := strings.CutPrefix(path, `\\`)
	switch {
	case drive:
		path = "/" + strings.ReplaceAll(path, `\`, "/")
	case isShare:
		path = strings.ReplaceAll(share, `\`, "/")
	}
	return "file://" + escapePath(strings.TrimSuffix(path, "/"))
}

// escapePath encodes path for a URL; slashes stay.
func escapePath(path string) string {
	return (&url.URL{Path: path}).EscapedPath()
}
