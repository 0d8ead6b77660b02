// What the user has set, and the runs. All pages share it; what a link keeps stands behind its "#".
import type {Look} from './chart';
import {byId, matcher} from './dom';

export interface Settings {
  page: string;
  runFilter: string;
  tagFilter: string;
  smoothing: number;
  axis: Look['axis'];
  log: boolean;
  clip: boolean;
  logX: boolean;
  hidden: string[];
  names: string[][];  // pairs: a run, and what the user calls it
  pairs: boolean;     // a run and its evaluation have one colour
  means: boolean;     // lines are means of groups of runs
  group: string;      // what matches this does not count in the name of a group
  step: number;       // that all cards show; -1: the newest
  pinned: string[];   // tags
  sound: boolean;     // curves can be heard
  graph: {run: string; tag: string; placed: boolean; stage: number; open: number[]; selected: number; colour: string;
          steps: string; values: string};  // the stage of compiling, or -1; a dump of a debugger
  hparams: {view: string; x: string; y: string};
  projector: {run: string; tensor: string; method: string; dims: number; perplexity: number; neighbours: number;
              colour: string; label: string; pictures: string; measure: string};
  timeline: {file: string; group: number; step: number; view: string;  // indices, or -1
             node: string; other: string; otherStep: number};  // what is selected; what is compared, '' nothing
  bands: boolean;
  brightness: number;
  contrast: number;
  actualSize: boolean;
}

export const settings: Settings = {
  page: 'scalars', runFilter: '', tagFilter: '', smoothing: 0.6, axis: 'step', log: false,
  clip: false, logX: false, hidden: [], names: [], pairs: false, means: false, group: '[_/-]?(seed|run|trial)?[_-]?\\d+$',
  step: -1, pinned: [], sound: false, graph: {run: '', tag: '', placed: false, stage: -1, open: [], selected: 0,
  colour: 'structure', steps: '', values: ''},
  hparams: {view: 'table', x: '', y: ''}, projector: {run: '', tensor: '', method: 'pca', dims: 3,
  perplexity: 30, neighbours: 15, colour: '', label: '', pictures: '', measure: 'angle'},
  timeline: {file: '', group: -1, step: -1, view: 'drawing', node: '', other: '', otherStep: -1}, bands: false, brightness: 1, contrast: 1, actualSize: false};
const atFirst = JSON.stringify(settings);

// |base| with what |given| sets of it: links come from anywhere, and from other versions of the page.
function withGiven<T>(base: T, given: any): T {
  if (typeof base !== typeof given || Array.isArray(base) !== Array.isArray(given) || given === null) return base;
  if (Array.isArray(base)) return given.filter((x: any) => typeof x !== 'object' || Array.isArray(x));
  if (typeof base !== 'object') return given;
  return Object.fromEntries(Object.entries(base as object).map(([name, value]) =>
    [name, withGiven(value, given[name])])) as T;
}

// A link that was cut short shows the page as it is at first.
export function readLink(): void {
  const first = JSON.parse(atFirst);
  try {
    const given = JSON.parse(decodeURIComponent(location.hash.slice(1)) || '{}');
    Object.assign(settings, withGiven(first, given));
  } catch {
    Object.assign(settings, first);
  }
}

// The link to this page with |changes|. Only what differs from the beginning stands in it.
export function linkWith(changes: Partial<Settings>): string {
  const first = JSON.parse(atFirst);
  const changed = Object.entries({...settings, ...changes}).filter(([name, value]) =>
    JSON.stringify(value) !== JSON.stringify(first[name]));
  return '#' + encodeURIComponent(JSON.stringify(Object.fromEntries(changed)));
}

// |isStep| lets the browser go back.
export function writeLink(isStep = false): void {
  const hash = linkWith({});
  if (isStep) history.pushState(null, '', hash);
  else history.replaceState(null, '', hash);
}

// What the browser keeps for the next visit; '' takes it away. In the frame of another page a browser
// may refuse to keep anything.
export function keep(name: string, value: string): void {
  try {
    if (value) localStorage.setItem(name, value);
    else localStorage.removeItem(name);
  } catch {
    // It is forgotten.
  }
}

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export const state = {
  runs: [] as string[],
  scalarTags: [] as string[],
  deletesRuns: false,
  styles: new Map<string, number>(),  // of runs: indices of colours and dashes
  version: '',  // of what the server has loaded
  lastStep: 0,  // the greatest that a card has loaded
};

// Says that a card has loaded values up to |step|.
export function noteStep(step: number): void {
  if (!(step > state.lastStep) || !Number.isFinite(step)) return;
  state.lastStep = step;
  document.dispatchEvent(new Event('leat-last-step'));
}

// What the user calls |run|.
export function nameOf(run: string): string {
  const given = settings.names.find(pair => pair[0] === run);
  return given && given[1] ? String(given[1]) : run;
}

export function rename(run: string, name: string): void {
  settings.names = settings.names.filter(pair => pair[0] !== run);
  if (name && name !== run) settings.names.push([run, name]);
}

export function shownRuns(): string[] {
  const matches = matcher(byId('run-filter')), hidden = new Set(settings.hidden);
  return state.runs.filter(run => !hidden.has(run) && (matches(run) || matches(nameOf(run))));
}

// A part of the document that one name in the navigation shows.
export interface Page {
  name: string;
  title: string;
  plugins: string[];  // of which the server must have something; none: any server has it
  usesRuns: boolean;  // the list of runs stands beside it
  usesTags: boolean;  // the filter of tags stands above it
  root: HTMLElement;
  tools?: HTMLElement;
  reload(): Promise<void>;  // something is new, or the page comes into view; ends when what is seen is drawn
  redraw(): void;           // other settings
  draw(): void;             // the same in another size, place or theme
}
