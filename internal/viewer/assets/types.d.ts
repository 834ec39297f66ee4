// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// The types of the scripts: first of the data, as package inspect writes it, then of the views.
// A list
// that Go wrote as null is an empty list here, see wholeSession.

interface SessionKey { app: string; user: string; id: string }
type Status = "none"|"pending"|"safe"|"drift"|"check_failed"|"rejected"|"expired"|"superseded"
  | "executed"|"failed"|"in_doubt"|"unknown";
interface Tokens { prompt: number; completion: number; total: number }

interface Summary {
  session: SessionKey;
  title: string;
  status: Status;
  start: string;
  end: string;
  agents: string[];
  models: string[];
  turns: number;
  events: number;
  errors: number;
  approvals: number;
  tokens: Tokens;
  waited_ms: number;
}

interface SessionParts {
  problems: Problem[];
  spans: Span[];
  edges: Edge[];
  entities: Entity[];
  approvals: Approval[];
  thoughts: Thoughts;
  flows?: Flow[]; // the runs of graphs, the last one last
  critical_path: string[];
  rows: Row[];
  gists: Gist[]; // of the rows, in their order
  left: Left[];
}

/** What a session left when it went back. Rows, spans and entities of it have it as left, so does
 * no other: markLeft adds it. */
interface Left { at: string; by: string; rows: number[] }

type Session = Omit<Summary, "approvals"> & SessionParts;
interface Problem { kind: string; detail: string; rows?: number[]; count: number }

interface Span {
  key: string;
  span_id: string;
  trace_id: string;
  parent?: string;
  kind: string;
  class: "user"|"agent"|"model"|"tool"|"hitl"|"check"|"other";
  name: string;
  agent: string;
  invocation_id: string;
  branch?: string;
  call_id?: string;
  turn: number;
  depth: number;
  start: string;
  end: string;
  duration_ms: number;
  status: string;
  error?: string;
  open?: boolean;
  tokens?: Tokens;
  rows: number[];
  left?: Left;
}

interface Edge { from: string; to: string; kind: string }

interface Flow {
  name: string;
  run: string;
  state: "ended"|"failed"|"cancelled"|"waits"|"open";
  error?: string;
  nodes: FlowNode[];
  edges: {from: string, to: string, name?: string, taken: number}[];
  path: string[];
}
interface FlowNode { name: string; visits: number; at?: boolean; waits?: string[]; span?: string }

interface Entity {
  key: string;
  type: string;
  value: string;
  attributes: Record<string, string>;
  confidence: number;
  artifact_uri?: string;
  sources: string[];
  first_seen: string;
  last_seen: string;
  evaluated: Sighting[];
  left?: Left;
}

interface Sighting {
  span: string;
  link: string; // "evaluated" or "named"
  row: number;
  seen_at: string;
  source: string;
  confidence: number;
  attributes: Record<string, string>;
}

interface Row {
  event_id: string;
  timestamp: string;
  event_type: string;
  agent: string;
  span: string;
  invocation_id: string;
  trace_id: string;
  span_id: string;
  parent_span_id: string;
  content?: any;
  content_parts?: any;
  attributes?: any;
  latency_ms?: any;
  status: string;
  error_message?: string;
  is_truncated?: boolean;
  left?: Left;
}

/** What is known of the payload of a row before it is there: the beginning of what a user said,
 * the tools that a model called for or that it answered, whether the instruction or the system
 * prompt is as before, and how many messages of a request were in the request before. */
interface Gist {
  said?: string;
  calls?: string[];
  answers?: boolean;
  again?: boolean;
  before?: number;
  loaded: boolean;
}
interface Thoughts { nodes: Thought[]; edges: Edge[] }

interface Thought {
  id: string;
  kind: "INCIDENT"|"THOUGHT"|"TOOL_CALL"|"OBSERVATION"|"ACTION";
  label: string;
  detail?: string;
  agent: string;
  turn: number;
  span?: string;
  row: number;
  at: string;
  status?: string;
}

interface Approval {
  id: string;
  session: SessionKey;
  confirmation_id: string;
  kind: string;
  call_id: string;
  tool: string;
  agent: string;
  span: string;
  status: Status;
  explanation: string;
  findings: Finding[]; // of the last check
  can: ("approve"|"reject"|"override"|"resolve"|"check")[]; // what can be done about it now
  hopeless?: string; // why no yes can work
  total?: string; // what the call buys in all
  unproven?: string; // why a yes may not let it run now
  replaced_by?: string; // the id of the newer request for the same call
  state?: string;
  enforced: boolean;
  action?: string; // what happens on a yes, in a sentence
  hint?: string;
  args?: any;
  costs: Cost[];
  may_approve?: string; // who may approve, in a sentence
  args_digest?: string;
  fingerprint?: string;
  policy_version?: string;
  replaces?: string;
  difference?: Difference;
  requested_at: string;
  expires_at?: string;
  waited_ms: number;
  requester?: {name: string, authenticated: boolean};
  may_override?: string[];
  approvers: number;
  consents: string[];
  change?: string;
  overridden?: boolean;
  warnings: string[];
  notes?: string[];
  entities: Rested[];
  not_checked?: string[];
  not_chosen?: NotChosen;
  answers: Answer[];
  checks: Check[];
  execution?: Execution;
  why: Why[];
  progress: Progress[];
  history?: Step[];
}

/** A text of a cost is "" where it is not known. */
interface Cost {
  budget_type: string;
  budget: string;
  limit: string;
  seen: string;
  now: string;
  others?: string;
  unavailable?: string;
  exceeded: boolean;
}

interface Difference {
  since?: string;
  entities?: EntityDifference[];
  arguments?: ValueDifference[];
  tool?: boolean;
  consents?: string[];
  omitted?: number;
}

interface EntityDifference {
  type: string;
  value: string;
  change: string;
  attributes?: ValueDifference[];
}

interface ValueDifference {
  name: string;
  was?: string;
  now?: string;
}

interface Rested {
  key?: string;
  type: string;
  value: string;
  confidence: number;
  seen: Record<string, string>|null;
  seen_at?: string;
  conditions?: Record<string, string>;
  now?: Record<string, string>|null;
  as_of?: string;
  outcome?: string;
  unseen?: boolean;
  reason?: string;
}

interface NotChosen {
  total: number;
  entities: {type: string, value: string, seen: Record<string, string>|null, seen_at?: string}[];
}

interface Answer {
  at: string;
  confirmed: boolean;
  accepted: boolean;
  approver?: string;
  authenticated: boolean;
  change?: string;
  override?: string;
  because?: string;
  reason?: string;
  refusal?: string; // the reason in words
  row: number;
}

interface Check {
  id: string;
  stage: string;
  verdict: string;
  at: string;
  duration_ms: number;
  span: string;
  row: number;
  fingerprint?: string;
  policy_version?: string;
  total_entities: number;
  stale_entities: number;
  entities: Rested[];
  alerts: Alert[];
  warnings: Alert[];
  failures: Failure[];
  costs: Cost[];
  findings: Finding[]; // the alerts, the warnings and the failures as one list
  changed?: string; // what changed, in brackets, as sentences have it
  failed?: string; // the same of what failed
}

/** One thing that a check found: text says it in a phrase. */
interface Finding {
  type?: string;
  value?: string;
  attribute?: string;
  read?: string;
  now?: string;
  need?: string;
  reason: string;
  effect: "block"|"warn"|"fail";
  text: string;
  remedy?: string;
  hopeless?: boolean;
}

interface Alert {
  entity_type: string;
  entity: string;
  attribute: string;
  drift_type: string;
  before: string;
  after: string;
  condition?: string;
  change_percent?: number;
  severity: number;
  effect: string;
  recommendation: string;
}

interface Failure { entity_type?: string; entity?: string; reason: string; detail?: string }
interface Execution { start: string; end?: string; status?: string; error?: string; span: string }
interface Why {
  entity: string;
  type: string;
  value: string;
  origin: string;
  note?: string;
  hops: number;
  path: {span: string, edge?: string}[];
}
/** What happened to a request. The status is the one that the step speaks for. */
interface Progress {
  at: string;
  step: "asked"|"answered"|"refused"|"checked"|"started"|"ended";
  status: Status;
  text: string;
}

interface Step {
  from?: string;
  to: string;
  at: string;
  actor?: string;
  run?: string;
  verdict?: string;
  check?: string;
  authenticated?: boolean;
  override?: boolean;
  resolved?: boolean;
  note?: string;
}

/** A request of any session that waits for people. What is known of the world comes from its
 * last check. */
interface InboxItem {
  session: SessionKey;
  title: string;
  approval_id: string;
  confirmation_id: string;
  tool: string;
  action: string;
  kind: string;
  agent: string;
  status: Status;
  enforced: boolean;
  requested_at: string;
  expires_at?: string;
  known: ""|"safe"|"drift"|"check_failed"; // the verdict of the last check
  known_at?: string;
  findings: Finding[];
  can: string[];
  hopeless?: string;
  approvers: number;
  consents: string[];
  warnings: string[];
}

/** The answer of the server to “check now”. */
interface Rechecked {
  verdict: "safe"|"drift"|"check_failed";
  explanation: string;
  check: Check|null;
  needs_agent: Record<string, string>; // by the type of entity, why only the agent can ask
}

interface QueryText {
  name: string;
  title: string;
  category: string;
  language: string;
  tags: string[]|null;
  text: string;
}
interface CodeStep { title: string; text: string }

/** What is selected. The key of an approval and of a row is its index as text; that of an edge
 * is made by edgeKey. */
interface Ref { type: "span"|"entity"|"approval"|"row"|"edge"; key: string }

// data

interface PageData {
  live: boolean;
  generated: string;
  source: string;
  complete: boolean;
  note: string;
  list: Summary[];
  sessions: Session[];
  queries: QueryText[];
  code: Record<string, CodeStep[]>;
  decisions: boolean;
  checks?: boolean; // the server can check now
  inbox?: InboxItem[]; // in a file
  words: typeof WORDS;
  version: string;
}

interface ListQuery {
  app: string;
  user: string;
  q: string;
  status: Status[];
  after?: string;
  limit: number;
}
interface ListPage { sessions: Summary[]; next: string }
interface Loaded { session: Session; code: CodeStep[] }
interface Reply {
  confirmed: boolean;
  reason?: string;
  change?: string;
  override?: string;
  resolve?: string;
}
interface Decision {
  session: SessionKey;
  approval_id: string;
  confirmation_id: string;
  token: string;
  reply: Reply;
}

// app

/** A view shows one session in its own element. It is mounted when it is first opened; show is
 * called when it is open and the session is another one or has changed, select when it is open
 * and the selection changed, also with null. A view with sessionless is also shown null. One
 * with everywhere shows all sessions and has no tab; one with has has a tab where that says yes.
 * key gets the keys that nobody else takes,
 * and says whether it has taken one. */
interface View {
  show: (session: any) => void;
  select: (ref: Ref|null) => void;
  key?: (ev: KeyboardEvent) => boolean;
  destroy: () => void;
}

interface ViewSpec {
  id: string;
  title: string;
  sessionless?: boolean;
  everywhere?: boolean;
  has?: (session: Session) => boolean;
  mount: (root: HTMLElement, app: App) => View;
}

/** A view in its place; shown is the session that it shows, undefined for none yet. */
interface Panel {
  spec: ViewSpec;
  panel: HTMLElement;
  tab: HTMLElement|null;
  view: View|null;
  shown: Session|null|undefined;
}

// dom

type Child = Node|string|number|boolean|null|undefined|Child[];

/** a text is the class */
type Props = Record<string, any>|string|null|undefined;

// look

type IconName = keyof typeof ICONS;

interface Mark { label: string; icon: IconName; tone: string }

// canvas

interface Point { x: number; y: number }
interface Rect { x: number; y: number; w: number; h: number }
interface MapMark { x: number; y: number; w: number; h: number; cls: string }

// graph-layout

interface Box { id: string; along: number; across: number; group: number; lane: number }
/** a point, along and across */
interface Place { a: number; c: number }
/** rows of one turn; more where it began in another band */
interface Band {
  group: number;
  more: boolean;
  rows: BoardRow[];
  a: number;
  c: number;
  along: number;
  across: number;
}
/** where a box begins */
interface Placed { box: Box; column: number; row: number; a: number; c: number }
interface BoardRow {
  cells: Box[];
  things: Box[];
  group: number;
  index: number;
  column: number;
  a: number;
  along: number;
  gap: number;
}
/** heads are the room before each lane for the heads of lines */
interface Board {
  rows: BoardRow[];
  at: Map<string, Placed>;
  bands: Band[];
  lanes: Map<string, number>;
  heads: number[];
  along: number;
  across: number;
}

/** a quiet link takes no room */
interface Link { from: string; to: string; kind: string; quiet: boolean }
type Way = "straight"|"drop"|"side"|"turn"|"loop"|"far";

interface Route {
  way: Way;
  back: boolean; // it leads from its end to its beginning
  free: boolean; // whether nothing stands between the step and the lane of the other end
  from: Placed;
  to: Placed;
  share: string; // lines with the same share run together
}

// graph-model

interface GraphNode {
  id: string;
  type: "span"|"entity";
  kind: string; // the class of a span, the type of an entity
  label: string;
  sub: string;
  turn: number;
  spans: Span[];
  entity: Entity|null;
  errors: number;
  ms: number;
  verdict: string; // the status of what a step asked for or checked, "" for other steps
  found: Found|null; // what the checks found of an entity
  left: boolean; // all of it
}

interface GraphEdge {
  from: string;
  to: string;
  kind: string;
  edges: Edge[];
}

interface GraphModel {
  nodes: GraphNode[];
  edges: GraphEdge[];
  byId: Map<string, GraphNode>;
  nodeOf: Map<string, string>; // the node that shows a span or an entity
}

/** a value that is another one now */
interface Turned { name: string; seen: string; now: string }
interface Found { outcome: string; turned: Turned[]; reason: string; as_of: string }
/** verdicts by the key of the span */
type Drifts = {verdicts: Map<string, string>, entities: Map<string, Found>};

// list

/** the id stays the same when the session has new rows */
interface Line { id: string }

/** Look describes one list to StepList. */
interface Look<T extends Line> {
  scroll: HTMLElement; // what scrolls
  head: HTMLElement; // what stays above the lines
  root: HTMLElement; // what holds the lines
  height?: number; // that of each line: only the lines that can be seen are made.
  // Without it a line is as high as what it says: lines are made some at a time, and stay.
  keeps: (line: T) => boolean; // says whether a line is shown
  // makes a line; what takes the focus in it has the id as data-row
  make: (line: T, place: number) => HTMLElement;
  // is the heading over a line, if it begins something
  above?: (line: T, before: T|undefined) => Child;
  holds: (line: T, ref: Ref) => boolean; // says whether a line shows what is selected
  mark: (el: HTMLElement, on: boolean) => void; // marks a line as selected
  // brings what is around the lines up to date; false while there is no room for any
  frame: () => boolean;
  behind?: () => Child; // is what lies behind the lines
  none?: () => Child; // is what stands there without any line
  open?: (line: T) => void; // makes that a line is kept
  across?: (line: T) => void; // scrolls sideways to a line
  keys?: (line: T) => Record<string, () => void>; // are the keys that only this list has
}

// roving

/** What the keys do: key may take one before all others. */
interface RovingKeys {
  activate: (id: string) => void;
  key: (id: string, ev: KeyboardEvent) => boolean;
  leave: () => void;
}

interface Stop {
  el: SVGElement;
  rect: Rect;
  prev: string[]; // what leads to it, nearest first
  next: string[]; // what it leads to
}

// thought-cards

/** x and y count from the upper left of the card */
interface Word { text: string; x: number; y: number; cls: string }
/** rules are the heights of lines across */
interface Face { h: number; words: Word[]; rules: number[] }
type Shape = {text: string}
  | {facts: [string, string][], head: string[], rows: string[][], more: string};

interface Excursion { call: Thought|null; seen: Thought|null }

/** Bone is a place on the backbone: a thought, or a turn that is collapsed */
interface Bone {
  id: string;
  thought: Thought;
  turn: number;
  trips: Excursion[];
  folded: Thought[]; // what a collapsed turn stands for
}

type ThoughtShape = "horizontal"|"vertical"|"clustered";
interface ThoughtCard {
  id: string;
  rect: Rect;
  bone: Bone|null;
  thought: Thought;
  hidden: number;
  face: Face;
}
interface ThoughtLine { from: string; to: string; kind: string; points: Point[] }
interface ThoughtDrawing {
  cards: ThoughtCard[];
  lines: ThoughtLine[];
  turns: {turn: number, rect: Rect}[];
  bounds: Rect;
}

/** Columns is where a thought, a call and an observation stand across */
interface Columns {
  bone: number; // the width of a thought
  call: number;
  seen: number;
  callAt: number;
  seenAt: number;
  row: boolean; // whether a call and its observation stand beside each other
  under: boolean; // whether both stand under the thought
}

// timeline

interface Stretch { t0: number; t1: number; idle: boolean; x0: number; x1: number }

/** TimeRow is a span, or a turn */
interface TimeRow {
  id: string;
  span: Span|null;
  turn: number;
  depth: number;
  parent: TimeRow|null;
  size: number; // how many rows are within it
  errors: number; // how many of those failed
  left: boolean;
  t0: number;
  t1: number;
}

// trajectory

interface Item { id: string; row: Row; gist: Gist; index: number; turn: number; cls: string }

// values

/** A value that was seen, and the one now. now is undefined where nobody knows it. */
interface Value {
  e: Rested;
  name: string;
  seen: string|undefined;
  now: string|undefined;
  changed: boolean;
  condition: string;
  alert: Alert|undefined;
}

// detail

/** What the pane of details says of something; rows are those within value. */
interface Described { title: string; mark: Child; body: Child[]; value: any; rows?: number[] }

// decide

type Choice = "yes"|"no"|"change"|"override"|"happened"|"didnot";

/** What a choice says, and the words that it takes; reply makes the answer of the words. */
interface ChoiceLook {
  button: string;
  icon: IconName;
  cls: string;
  send: string;
  note: string;
  label: string;
  reply: (words: string) => Reply;
}
