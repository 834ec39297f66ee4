// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package record

// Values of the event_type column: the 28 names of the Python plugin and the five of
// our own at the end.
const (
	UserMessageReceived  = "USER_MESSAGE_RECEIVED"
	InvocationStarting   = "INVOCATION_STARTING"
	InvocationCompleted  = "INVOCATION_COMPLETED"
	InvocationError      = "INVOCATION_ERROR"
	AgentStarting        = "AGENT_STARTING"
	AgentCompleted       = "AGENT_COMPLETED"
	AgentError           = "AGENT_ERROR"
	AgentResponse        = "AGENT_RESPONSE"
	AgentTransfer        = "AGENT_TRANSFER"
	AgentStateCheckpoint = "AGENT_STATE_CHECKPOINT"
	EventCompaction      = "EVENT_COMPACTION"
	LLMRequest           = "LLM_REQUEST"
	LLMResponse          = "LLM_RESPONSE"
	LLMError             = "LLM_ERROR"
	ToolStarting         = "TOOL_STARTING"
	ToolCompleted        = "TOOL_COMPLETED"
	ToolError            = "TOOL_ERROR"
	ToolPaused           = "TOOL_PAUSED"
	StateDelta           = "STATE_DELTA"
	NodeOutput           = "NODE_OUTPUT"
	NodeError            = "NODE_ERROR"
	A2AInteraction       = "A2A_INTERACTION"

	HITLConfirmationRequest          = "HITL_CONFIRMATION_REQUEST"
	HITLConfirmationRequestCompleted = "HITL_CONFIRMATION_REQUEST_COMPLETED"
	HITLCredentialRequest            = "HITL_CREDENTIAL_REQUEST"
	HITLCredentialRequestCompleted   = "HITL_CREDENTIAL_REQUEST_COMPLETED"
	HITLInputRequest                 = "HITL_INPUT_REQUEST"
	HITLInputRequestCompleted        = "HITL_INPUT_REQUEST_COMPLETED"

	// WorldChangeCheck is the verdict of a world-change check.
	WorldChangeCheck = "WORLD_CHANGE_CHECK"
	// ArtifactDelta is a new version of an artifact.
	ArtifactDelta = "ARTIFACT_DELTA"
	// ToolResultRewritten is a result of a tool that models read otherwise than the row
	// says that ended the call.
	ToolResultRewritten = "TOOL_RESULT_REWRITTEN"
	// TurnClosed says that a run, which asked for an approval, took the broken record of earlier runs for closed.
	TurnClosed = "TURN_CLOSED"
	// EntitiesDeclared are the entities that a tool declared while its call went on.
	EntitiesDeclared = "ENTITIES_DECLARED"
	// EntitiesFound are the entities that a model found in another row later.
	EntitiesFound = "ENTITIES_FOUND"
)

// EventTypes returns every value that the event_type column can have, in the order
// above.
func EventTypes() []string {
	return []string{
		UserMessageReceived, InvocationStarting, InvocationCompleted, InvocationError,
		AgentStarting, AgentCompleted, AgentError, AgentResponse, AgentTransfer, AgentStateCheckpoint,
		EventCompaction, LLMRequest, LLMResponse, LLMError, ToolStarting, ToolCompleted, ToolError, ToolPaused,
		StateDelta, NodeOutput, NodeError, A2AInteraction,
		HITLConfirmationRequest, HITLConfirmationRequestCompleted,
		HITLCredentialRequest, HITLCredentialRequestCompleted,
		HITLInputRequest, HITLInputRequestCompleted,
		WorldChangeCheck, ArtifactDelta, ToolResultRewritten, TurnClosed, EntitiesDeclared, EntitiesFound,
	}
}
