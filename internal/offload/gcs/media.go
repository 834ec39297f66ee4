// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"io"
	"sync"
)

// media reads the data of a part until it is released. A request that failed may
// still be reading its body for a moment when the client returns, but the data is
// the caller's again by then.
type media struct {
	mu   sync.Mutex
	data []byte // what is left to read
	end  error  // of the reader, io.EOF unless released
}

func newMedia(data []byte) *media {
	return &media{data: data, end: io.EOF}
}

func (m *media) Read(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.data) == 0 {
		return 0, m.end
	}
	n := copy(p, m.data)
	m.data = m.data[n:]
	return n, nil
}

// release ends the use of the data. A body that is cut short by it fails and does not
// look whole.
func (m *media) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data, m.end = nil, io.ErrClosedPipe
}
