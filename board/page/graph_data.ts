// A graph's levels as the server sends them (board/api_graph_levels.c says how), and where each of
// their boxes lies in the whole drawing.
import {getJson} from './dom';
import {countOf, formatNumber} from './words';

export enum Kind { Scope, Node, Function, Series, List }
export const KIND_NAMES = ['scope', 'node', 'function', 'series', 'list'];

export interface Box {
  item: number;
  kind: Kind;
  x: number;  // in the whole drawing
  y: number;
  width: number;
  height: number;
  nodes: number;
  structure: number;
  device: number;
  isAside: boolean;
  isOpen: boolean;
  entering: number;
  leaving: number;
  label: string;
  op: string;
  time: number;   // nanoseconds in the recorded step
  bytes: number;
  changes: number[] | null;  // how many nodes the stage has changed, in the order of CHANGES
  values: Values | null;     // of a dump
  fused: number;  // nodes in it that a fusion made, in graphs that the optimizer has seen
  level: Level;
}

// What a dump holds of the outputs in a box: how many, their elements that are no finite number, and
// the greatest magnitude.
export interface Values {
  outputs: number;
  bad: number;
  most: number;
}

// What a stage does with nodes, in the order in which the server counts them.
export const CHANGES = ['new', 'gone', 'changed', 'on another device'];

export interface Link {
  from: Box;
  to: Box;
  count: number;
  controls: number;
  shape: string;
  points: number[];  // x, y, x, y, ... in the whole drawing; empty where an end stands aside
}

export interface Level {
  item: number;
  path: string;
  x: number;
  y: number;
  width: number;
  height: number;
  boxes: Box[];
  links: Link[];
  parent: Box | null;
}

export interface Drawing {
  nodes: number;
  edges: number;
  missing: number;
  devices: string[];
  named: number;  // the item that the question named; 0: there is none
  levels: Level[];
  boxes: Map<number, Box>;  // by item
}

const HEADING = 30;  // above an open level (board/graph_level.c)

// Levels come in the order of their items, hence a level after the box that holds it.
export function parseDrawing(data: any): Drawing {
  const boxes = new Map<number, Box>(), levels: Level[] = [];
  for (const given of data.levels) {
    const parent = boxes.get(given.item) || null;
    const x = parent ? parent.x + (parent.width - given.width) / 2 : 0;
    const y = parent ? parent.y + HEADING : 0;
    const level: Level = {item: given.item, path: given.path || '', x, y, width: given.width, height: given.height,
                          boxes: [], links: [], parent};
    for (const b of given.boxes) {
      const box: Box = {
        item: b[0], kind: b[1], x: x + b[2], y: y + b[3], width: b[4], height: b[5], nodes: b[6],
        structure: b[7], device: b[8], isAside: !!b[9], isOpen: !!b[10], entering: b[11],
        leaving: b[12], label: b[13], op: b[14], time: b[15] || 0, bytes: b[16] || 0, changes: b[17] || null,
        values: b[18] ? {outputs: b[18][0], bad: b[18][1], most: b[18][2]} : null, fused: b[19] || 0, level};
      level.boxes.push(box);
      boxes.set(box.item, box);
    }
    level.links = given.links.map((l: any) => ({
      from: level.boxes[l[0]], to: level.boxes[l[1]], count: l[2], controls: l[3], shape: l[4],
      points: l[5].map((n: number, i: number) => n + (i % 2 ? y : x))}));
    levels.push(level);
  }
  return {nodes: data.nodes, edges: data.edges, missing: data.missing, devices: data.devices, named: data.named || 0,
          levels, boxes};
}

// An item as the server tells it.
export interface Item {
  item: number;
  kind: Kind;
  nodes: number;
  path: string;
  label: string;
  op: string;
  device: string;
  parents: [number, string][];
  attributes: [string, string][];
  inputs: [number, string, number, string, number][];
  inputs_total: number;
  outputs: [number, string, number, string, number][];
  outputs_total: number;
  functions?: [number, string][];
  ops?: [string, number][];
  twins?: [number, string][];
  twins_total?: number;
  placement?: Placement;
  since?: string;   // the stage that made the node
  change?: number;  // an index in CHANGES, + 1
  differences?: [string, string, string][];  // what, before, now
  values?: OutputValues[];
}

// Why a node is on its device.
export interface Placement {
  placer: string;
  reason: string;
  beside: string;
  end: number;                 // microseconds from the start of the step
  micros: [string, number][];  // on each device; -1 where it cannot run
}

// What a dump holds of one output.
export interface OutputValues {
  slot: number;
  dtype: string;
  shape: number[];
  count: number;
  times: number;
  counted: boolean;
  nan: number;
  low: number;  // infinities
  high: number;
  least: number;
  most: number;
  mean: number;
  deviation: number;
  buckets: number[];
}

export interface Stage {
  name: string;
  doc: string;
  nodes: number;
  came: number;
  gone: number;
  other: number;
  moved: number;
}

export interface Source {
  run: string;
  tag: string;
  placed: boolean;  // what the devices ran in the step |tag|, after the optimizer and placement
  stage: number;    // or what this stage of compiling left; -1
}

function named(source: Source, more: Record<string, string>): Record<string, string> {
  return {run: source.run, ...(source.tag ? {tag: source.tag} : {}),
    ...(source.placed ? {placed: '1'} : {}), ...(source.stage >= 0 ? {stage: String(source.stage)} : {}),
    ...more};
}

// |steps| names what was recorded of a step and |values| a dump, or they are empty. Scopes with the
// |paths| are opened too, and the answer numbers the item |path|.
export async function fetchDrawing(source: Source, open: number[], steps: string, values: string,
                                   paths: string[] = [], path = ''): Promise<Drawing> {
  const parameters = new URLSearchParams(named(source, {
    open: open.join(','), ...(steps ? {steps} : {}), ...(values ? {values} : {}), ...(path ? {selected: path} : {}),
    ...(source.placed ? {fused: '1'} : {})}));
  for (const path of paths) parameters.append('name', path);
  return parseDrawing(await getJson('/data/leat/graph/levels?' + parameters));
}

export function fetchItem(source: Source, item: number | string, values: string): Promise<Item> {
  return getJson('/data/leat/graph/item', named(source, {
    ...(typeof item === 'string' ? {name: item} : {item: String(item)}), ...(values ? {values} : {})}));
}

export function fetchStages(source: Source): Promise<{stages: Stage[]; written: boolean}> {
  return getJson('/data/leat/graph/stages', named({...source, stage: -1}, {}));
}

// What the source's stage has changed.
export function fetchChanges(source: Source): Promise<{items: [number, string, string, number][]; total: number}> {
  return getJson('/data/leat/graph/changes', named(source, {}));
}

export interface Dump {
  values: number;
  unread: number;
  bad: [string, number, number, number][];  // node, slot, NaN, infinite
}

export async function fetchDumps(): Promise<string[]> {
  return (await getJson('/data/leat/graph/dumps')).dumps;
}

export function fetchDump(dump: string): Promise<Dump> {
  return getJson('/data/leat/graph/dumps', {dump});
}

export function search(source: Source, q: string):
    Promise<{items: [number, Kind, string, string][]; total: number}> {
  return getJson('/data/leat/graph/search', named(source, {q}));
}

// "2 new, 1 gone", or of a node "new"; empty where nothing changed.
export function describeChanges(box: Box): string {
  const found = CHANGES.map((what, i): [number, string] => [box.changes?.[i] || 0, what]).filter(([n]) => n);
  return found.map(([n, what]) => box.kind === Kind.Node ? what : `${n} ${what}`).join(', ');
}

export function describeValues(values: Values | null): string {
  if (!values?.outputs) return '';
  return (values.bad ? `${values.bad} NaN or infinite, ` : '') + 'up to ' + formatNumber(values.most);
}

// "scope layer, 12 nodes", "node w, VariableV2": how a box is read out.
export function describeBox(box: Box): string {
  const what = box.kind === Kind.Node ? box.op : countOf(box.nodes, 'node');
  const fused = !box.fused ? '' : box.kind === Kind.Node ? 'fused' : `${box.fused} fused`;
  const more = [fused, describeChanges(box), describeValues(box.values)].filter(text => text);
  return `${KIND_NAMES[box.kind]} ${box.label}, ${what}` + (box.isOpen ? ', open' : '') +
    more.map(text => ', ' + text).join('');
}
