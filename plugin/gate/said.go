// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"fmt"
	"maps"

	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// The members of the object under [PayloadKey] in the payload of an answer. All are texts.
const (
	// changeKey goes with "confirmed": false: what the person wants to be different.
	changeKey = "change"
	// reasonKey goes with "confirmed": false and without a change: why the person rejects.
	reasonKey = "reason"
	// overrideKey goes with "confirmed": true: why the call shall run although its sources are down.
	overrideKey = "override"
	// resolveKey goes with "confirmed": false and a reason: that a call in doubt happened, or did_not_happen.
	resolveKey = "resolve"
)

// saidIn reads from a confirmation what a person says beside yes and no.
func saidIn(c toolconfirmation.ToolConfirmation) (ans safety.Answer, err error) {
	ans.Confirmed = c.Confirmed
	if c.Payload == nil {
		return ans, nil
	}
	payload, isObject := asObject(c.Payload)
	if !isObject {
		payload = map[string]any{"": c.Payload}
	}
	rest := maps.Clone(payload)
	if own, ok := payload[PayloadKey].(map[string]any); ok && isObject {
		delete(rest, PayloadKey)
		for key, text := range map[string]*string{changeKey: &ans.Change, reasonKey: &ans.Because, overrideKey: &ans.Override, resolveKey: &ans.Resolve} {
			v, has := own[key]
			if *text, ok = v.(string); has && !ok {
				return ans, fmt.Errorf("payload.%s.%s of the answer is a %T, not a text", PayloadKey, key, v)
			}
		}
	}
	switch {
	case ans.Change != "" && c.Confirmed:
		return ans, errors.New("the answer wants a change and approves: a change goes with \"confirmed\": false")
	case ans.Because != "" && c.Confirmed:
		return ans, errors.New("the answer gives a reason and approves: a reason goes with \"confirmed\": false")
	case ans.Resolve != "" && (c.Confirmed || ans.Change != "" || ans.Because == ""):
		return ans, errors.New("the answer resolves a call in doubt: that goes with \"confirmed\": false and a reason, which says how you know")
	case ans.Because != "" && ans.Change != "":
		return ans, errors.New("the answer gives a reason and wants a change: a change says it all, so leave the reason out")
	case ans.Override != "" && !c.Confirmed:
		return ans, errors.New("the answer overrides and rejects: an override goes with \"confirmed\": true")
	case len(rest) == 0:
		return ans, nil
	}
	ans.Content, _, err = safety.ArgsDigest(rest)
	return ans, err
}
