// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/adk-contextgraph/contextgraph/record"
)

// peerUser begins the user id that ADK's A2A server gives to callers that did not
// authenticate.
const peerUser = "A2A_USER_"

// fromPeer reports whether another agent sent the message of a run, over A2A. Whoever
// can send the request that leads to an approval there can send the approval.
func fromPeer(ctx context.Context, s record.Session) bool {
	_, served := a2asrv.CallContextFrom(ctx)
	return served || strings.HasPrefix(s.User, peerUser)
}
