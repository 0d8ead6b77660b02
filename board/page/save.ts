// Files that the user saves: numbers as CSV or JSON, and charts as SVG.
import {button, element} from './dom';
import type {Curve} from './line_card';

const TYPES: Record<string, string> = {CSV: 'text/csv', JSON: 'application/json', SVG: 'image/svg+xml'};

function save(name: string, kind: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], {type: TYPES[kind]}));
  element('a', {href: url, download: `${name.replace(/[^\w.-]+/g, '_')}.${kind.toLowerCase()}`}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// A button that opens buttons, one for each kind of file.
export function saveChoice(label: string, kinds: Record<string, () => string>): HTMLElement {
  const summary = element('summary', {'aria-label': 'Save ' + label}, 'Save');
  const details = element('details', {class: 'save'}, summary, element('div', {},
    ...Object.entries(kinds).map(([kind, make]) => button(kind, () => {
      save(label, kind, make());
      details.open = false;
      summary.focus();
    }))));
  details.onkeydown = event => {
    if (event.key !== 'Escape') return;
    details.open = false;
    summary.focus();
  };
  return details;
}

const quote = (text: string) => /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;

// Rows of cells, as RFC 4180 has them.
export function asCsv(rows: (string | number)[][]): string {
  return rows.map(row => row.map(cell => quote(String(cell))).join(',') + '\r\n').join('');
}

export function curvesAsCsv(curves: Curve[]): string {
  return asCsv([['run', 'tag', 'step', 'wall_time', 'value'], ...curves.flatMap(curve =>
    [...curve.steps].map((step, i) => [curve.run, curve.tag, step, curve.times[i], curve.values[i]]))]);
}

// What JSON has no word for is a text, as in the answers of the server.
export function asJson(data: unknown): string {
  return JSON.stringify(data, (_, x) => typeof x !== 'number' || Number.isFinite(x) ? x
    : Number.isNaN(x) ? 'NaN' : x > 0 ? 'Infinity' : '-Infinity', 1) + '\n';
}

export function curvesAsJson(curves: Curve[]): string {
  return asJson(curves.map(curve => ({run: curve.run, tag: curve.tag, points: [...curve.steps].map((step, i) =>
    ({step, wall_time: curve.times[i], value: curve.values[i],
      ...(curve.low && curve.high ? {low: curve.low[i], high: curve.high[i]} : {})}))})));
}
