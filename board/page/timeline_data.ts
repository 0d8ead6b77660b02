// Recordings of threads as the server tells them (board/api_traces.c), and the words for their slices.
// All times are nanoseconds from the beginning of the recording. What may be any whole number of 64
// bits, the number of a step and the value of a slice, stays a text.
import {address, getJson} from './dom';
import {countOf, formatBytes, formatNanoseconds} from './words';

export interface File { name: string; bytes: number; modified: number }
export interface Row { process: number; thread: number; lanes: number; name: string }
// What slices have in common, with the longest of them.
export interface Name {
  op: string; node: string; kind: number; count: number; total: number;
  row: number; depth: number; slice: number; begin: number; end: number;
}
export interface Step { index: number; number: string; begin: number; end: number; row: number; group: number }
export interface Group { steps: number; slowest: number; median: number; total: number }

export interface Trace {
  file: string; length: number; slices: number; damaged: number; kinds: string[]; causes: string[];
  processes: [number: number, name: string][]; rows: Row[]; names: Name[];
  steps: Step[]; groups: Group[]; mainGroup: number; areFound: boolean;  // until they are, there are none
}

// One slice, or several that are each shorter than a pixel.
export interface Item { begin: number; end: number; covered: number; count: number; name: number; slice: number }
export interface Lane { row: number; depth: number; items: Item[] }
export interface Slice { row: number; depth: number; slice: number; name: number; begin: number; end: number; value: string; by: number }

export interface Delay {
  cause: number; row: number; begin: number; end: number; total: number; median: number; gain: number; sentence: string;
}
// A delay as an arrow from one row to another at its end; |from| is -1 where it came from none.
export interface Arrow { begin: number; end: number; row: number; from: number; cause: number; ns: number; step: number; sentence: string }
// What is known of a node before it runs.
export interface NodeFacts { device: string; outputs: string[]; flops: number | null; source: string }
export type Piece = [begin: number, end: number, row: number, cause: number, name: number];
export interface Delays { path: Piece[]; delays: Delay[] }

export async function fetchFiles(): Promise<File[]> {
  return getJson('/data/leat/traces');
}

export async function fetchTrace(file: string): Promise<Trace> {
  const told = await getJson('/data/leat/trace', {file});
  const names = told.names.map(([op, node, kind, count, total, row, depth, slice, begin, end]: any[]): Name =>
    ({op, node, kind, count, total, row, depth, slice, begin, end}));
  return {...told, file, names, steps: [], groups: [], mainGroup: 0, areFound: false};
}

// Fills in the steps, if the server has found them and their delays.
export async function fetchSteps(trace: Trace): Promise<void> {
  const told = await getJson('/data/leat/trace/steps', {file: trace.file});
  if (told.status === 'pending') return;
  trace.steps = told.steps.map(([number, begin, end, row, group]: [string, number, number, number, number], index: number): Step =>
    ({index, number, begin, end, row, group}));
  [trace.groups, trace.mainGroup, trace.areFound] = [told.groups, told.main_group, true];
}

export async function fetchWindow(file: string, begin: number, end: number, pixels: number, first: number,
                                  rows: number): Promise<Lane[]> {
  const parameters = {file, begin: Math.floor(begin), end: Math.ceil(end), pixels: Math.ceil(pixels), first, rows};
  const answer = await fetch(address('/data/leat/trace/window',
    Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value)]))));
  if (!answer.ok) throw new Error(await answer.text());
  const data = new DataView(await answer.arrayBuffer()), lanes: Lane[] = [];
  const u32 = (at: number) => data.getUint32(at, true), f64 = (at: number) => data.getFloat64(at, true);
  for (let at = 8, left = u32(4); left > 0; --left) {
    const lane: Lane = {row: u32(at), depth: u32(at + 4), items: new Array(u32(at + 8))};
    at += 16;
    for (let i = 0; i < lane.items.length; ++i, at += 40) {
      lane.items[i] = {begin: f64(at), end: f64(at + 8), covered: f64(at + 16), count: u32(at + 24), name: u32(at + 28), slice: u32(at + 32)};
    }
    lanes.push(lane);
  }
  return lanes;
}

// The slice, then those around it, the innermost first.
export async function fetchSlice(file: string, row: number, depth: number, slice: number): Promise<Slice[]> {
  return getJson('/data/leat/trace/slice', {file, row: String(row), depth: String(depth), slice: String(slice)});
}

// The server's sentences are those of `leat trace --report`, which terminals of all kinds show.
function withSigns<T extends {sentence: string}>(delays: T[]): T[] {
  for (const delay of delays) delay.sentence = delay.sentence.replace(/(\d) us\b/g, '$1 µs');
  return delays;
}

// The |most| greatest delays between two moments; null until they are found.
export async function fetchArrows(file: string, begin: number, end: number, most: number): Promise<Arrow[] | null> {
  const told = await getJson('/data/leat/trace/arrows', {file, begin: String(Math.floor(begin)), end: String(Math.ceil(end)), most: String(most)});
  return Array.isArray(told) ? withSigns<Arrow>(told) : null;
}

// null where the name is that of no node.
export function fetchNode(file: string, name: number): Promise<NodeFacts | null> {
  return getJson('/data/leat/trace/node', {file, name: String(name)});
}

export async function fetchDelays(file: string, which: 'step' | 'group', index: number): Promise<Delays> {
  const told: Delays = await getJson('/data/leat/trace/step', {file, [which]: String(index)});
  withSigns(told.delays);
  return told;
}

// ---- Words --------------------------------------------------------------------------------------
export function threadOf(trace: Trace, row: number): string {
  const {name, thread} = trace.rows[row];
  return thread ? `${name || 'thread'} (${thread})` : name;
}

// What the rows of a process are, in the order of the server.
export function groupOf(trace: Trace, row: number): string {
  const {name, thread} = trace.rows[row];
  if (thread) return /\bstream\b/.test(name) ? 'streams' : 'threads';
  return /^core \d+$/.test(name) ? 'cores' : /^(loops|asynchronous kernels|network|memory) \d+$/.exec(name)?.[1] || 'other';
}

// The name of a kernel of |node|, or of one that the optimizer put in its place, that took the longest; -1: there is none.
export function nameOfNode(trace: Trace, node: string): number {
  const isOf = (other: string) => other === node || other.startsWith(node + '/_');
  return trace.names.reduce((best, name, i) => isKernel(trace.kinds[name.kind]) && isOf(name.node) &&
    (best < 0 || name.total > trace.names[best].total) ? i : best, -1);
}

// "MatMul layer/mul", "lock"
export function processName(trace: Trace, process: number): string {
  return trace.processes.find(([number]) => number === process)?.[1] || `process ${process}`;
}

export function nameOf(trace: Trace, name: number): string {
  const {op, node} = trace.names[name];
  return node ? `${op} ${node}` : op;
}

// Why a thread was off its core, and what its slice's |by| did.
const OFF_CORE = ['it slept', 'another thread had the core', 'it was woken, and had no core yet'];

// What the thread did that a slice names, and who it is: one of the process, or, for a time off a core, any program's.
export function whoOf(trace: Trace, slice: Slice): [string, string] | null {
  const {node, kind: number} = trace.names[slice.name], kind = trace.kinds[number], own = trace.rows[slice.row].process;
  const row = trace.rows.findIndex(r => slice.by && r.thread === slice.by && r.process === own), isOff = kind === 'off core';
  if (!slice.by || (row < 0 && !isOff)) return null;
  const label = kind === 'on core' ? 'Thread' : kind === 'lock' ? 'Held by' : !isOff ? 'Ended by' : slice.value === '1' ? 'Taken by' : 'Woken by';
  return [label, row >= 0 ? threadOf(trace, row) : `${node || 'thread'} (${slice.by})`];
}

const isKernel = (kind: string) => kind === 'kernel' || kind === 'asynchronous kernel';

// What the number of a slice says, as a label and a value; null where it says nothing.
export function valueOf(kind: string, value: string): [string, string] | null {
  if (kind === 'step') return ['Step', value];
  if (isKernel(kind)) return ['Inputs', formatBytes(Number(value))];
  if (kind === 'piece of a loop') return ['Items', value];
  if (kind === 'task') return ['Queued', formatNanoseconds(Number(value))];
  if (kind === 'memory' || kind === 'memory held') return ['Bytes', formatBytes(Number(value))];
  if (kind === 'loop') return ['Iterations', value];
  if (kind === 'iteration') return ['Number', value];
  if (kind === 'off core') return ['Why', OFF_CORE[Number(value)] || 'not known'];
  return null;
}

export function describe(trace: Trace, slices: Slice[]): string {
  const [slice, ...around] = slices, kind = trace.kinds[trace.names[slice.name].kind] || 'slice';
  const value = valueOf(kind, slice.value), name = nameOf(trace, slice.name), who = kind === 'off core' ? whoOf(trace, slice) : null;
  return `${name}${name === kind ? '' : `, ${kind}`}, ${formatNanoseconds(slice.end - slice.begin)} from ` +
    `${formatNanoseconds(slice.begin)} on, of ${threadOf(trace, slice.row)}` + (value ? `; ${value[0].toLowerCase()}: ${value[1]}` : '') +
    (who ? `; ${who[0].toLowerCase()}: ${who[1]}` : '') +
    (around.length ? `; in ${nameOf(trace, around[0].name)}` : '');
}

export function describeItem(trace: Trace, row: number, item: Item): string {
  return `${countOf(item.count, 'slice')} within ${formatNanoseconds(item.end - item.begin)} of ${threadOf(trace, row)}, ` +
    `the first ${nameOf(trace, item.name)}: zoom in to see them`;
}
