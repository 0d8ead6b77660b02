// A graph's levels as the server sends them (board/api_graph_levels.c says how), and where each of
// their boxes lies in the whole drawing.
import {getJson} from './dom';
import {countOf} from './words';

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
  level: Level;
}

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
    const level: Level = {item: given.item, x, y, width: given.width, height: given.height,
                          boxes: [], links: [], parent};
    for (const b of given.boxes) {
      const box: Box = {
        item: b[0], kind: b[1], x: x + b[2], y: y + b[3], width: b[4], height: b[5], nodes: b[6],
        structure: b[7], device: b[8], isAside: !!b[9], isOpen: !!b[10], entering: b[11],
        leaving: b[12], label: b[13], op: b[14], time: b[15] || 0, bytes: b[16] || 0, level};
      level.boxes.push(box);
      boxes.set(box.item, box);
    }
    level.links = given.links.map((l: any) => ({
      from: level.boxes[l[0]], to: level.boxes[l[1]], count: l[2], controls: l[3], shape: l[4],
      points: l[5].map((n: number, i: number) => n + (i % 2 ? y : x))}));
    levels.push(level);
  }
  return {nodes: data.nodes, edges: data.edges, missing: data.missing, devices: data.devices,
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
}

export interface Source {
  run: string;
  tag: string;
  placed: boolean;  // what the devices ran in the step |tag|, after the optimizer and placement
}

function named(source: Source, more: Record<string, string>): Record<string, string> {
  return {run: source.run, ...(source.tag ? {tag: source.tag} : {}),
    ...(source.placed ? {placed: '1'} : {}), ...more};
}

// |steps| names what was recorded of a step, or is empty.
export async function fetchDrawing(source: Source, open: number[], steps: string): Promise<Drawing> {
  return parseDrawing(await getJson('/data/leat/graph/levels', named(source, {
    open: open.join(','), ...(steps ? {steps} : {})})));
}

export function fetchItem(source: Source, item: number): Promise<Item> {
  return getJson('/data/leat/graph/item', named(source, {item: String(item)}));
}

export function search(source: Source, q: string):
    Promise<{items: [number, Kind, string, string][]; total: number}> {
  return getJson('/data/leat/graph/search', named(source, {q}));
}

// "scope layer, 12 nodes", "node w, VariableV2": how a box is read out.
export function describeBox(box: Box): string {
  const what = box.kind === Kind.Node ? box.op : countOf(box.nodes, 'node');
  return `${KIND_NAMES[box.kind]} ${box.label}, ${what}` + (box.isOpen ? ', open' : '');
}
