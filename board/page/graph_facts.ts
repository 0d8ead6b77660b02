// What is known of a node besides the graph, as words: what a stage of compiling did with it, why it
// is on its device, and what a dump holds of its values.
import {element, table} from './dom';
import {CHANGES, Item, OutputValues, Placement, Stage} from './graph_data';
import {countOf, formatNumber} from './words';

const shortName = (device: string) => device.replace(/^.*device:/, '') || 'its device';
const micros = (us: number) => formatNumber(us) + ' µs';

// "24 nodes are gone, 6 are new": of 67 that are left.
export function describeStage(stage: Stage): string {
  const parts = ([[stage.gone, 'gone'], [stage.came, 'new'], [stage.other, 'changed'],
                  [stage.moved, 'on another device']] as [number, string][]).filter(([n]) => n);
  const text = parts.map(([n, what], i) => (i ? String(n) : countOf(n, 'node')) +
                                           (n === 1 ? ' is ' : ' are ') + what).join(', ');
  return (text || 'Nothing changed') + `; ${countOf(stage.nodes, 'node')} in all.`;
}

// "-24 +6 ~9", for the list of stages.
export function shortChanges(stage: Stage): string {
  const parts = ([[stage.gone, '−'], [stage.came, '+'], [stage.other, '≈'], [stage.moved, '→']] as [number, string][])
    .filter(([n]) => n).map(([n, sign]) => sign + n);
  return parts.join(' ') || 'nothing changed';
}

// The sentence that says why a node is on its device.
function explain(placement: Placement, device: string): string {
  const here = shortName(device), beside = placement.beside || 'another node';
  switch (placement.reason) {
    case 'only device': return `${here} is the only device.`;
    case 'asked for': return `The program asks for ${here}, for this node or for one that must be beside it.`;
    case 'only kernel': return `Only ${here} has a kernel for it and for what must be beside it.`;
    case 'with its group': return `It must be where ${beside} is.`;
    case 'with its input': return `It is beside its input ${beside}, which spares a copy.`;
    case 'with its reader': return `It is beside its reader ${beside}, which spares a copy.`;
    case 'preferred': return `Of the devices that can run it, ${here} comes first: accelerators before CPUs, ` +
      'lower numbers first.';
    case 'as before': return 'Its state, or that of what must be beside it, is there since an earlier step.';
    case 'earliest end': return weigh(placement, here);
    default: return `The placer says: ${placement.reason}.`;
  }
}

// What the greedy placer estimates.
function weigh(placement: Placement, here: string): string {
  const times = placement.micros.map(([name, us]): [string, number] => [shortName(name), us]);
  const own = times.find(([name]) => name === here), others = times.filter(([name, us]) => name !== here && us >= 0);
  const where = others.map(([name, us]) => `${micros(us)} on ${name}`).join(', ');
  return 'In the step that the greedy placer simulated, all nodes end earliest with it here: it takes an estimated ' +
    `${micros(own?.[1] ?? 0)} on ${here}` + (where ? `, and would take ${where}` : '') +
    `. It ends ${micros(placement.end)} after the step begins.`;
}

export function placementOf(item: Item): HTMLElement[] {
  if (!item.placement && !item.since) return [];
  const text = item.placement ? explain(item.placement, item.device)
    : item.since === 'partition' ? 'It carries a value from one device to another, or begins the part of its device.'
    : `The pass ${item.since} made it, where the nodes are that it stands for.`;
  return [element('h4', {}, 'Why it is on its device'), element('p', {class: 'placement'}, text)];
}

export function changeOf(item: Item, stage: Stage | undefined): HTMLElement[] {
  if (!item.change || !stage) return [];
  const what = CHANGES[item.change - 1];
  const parts: HTMLElement[] = [element('h4', {}, 'After ' + stage.name),
                                element('p', {class: 'change'}, `It is ${what}.`)];
  if (item.differences?.length) {
    parts.push(table('What is different', ['What', 'Before', 'Now'], item.differences.map(row => [...row])));
  }
  return parts;
}

// ---- Values -------------------------------------------------------------------------------------
function describeOutput(v: OutputValues): string {
  if (!v.counted) return `${countOf(v.count, 'element')}, which are not numbers.`;
  const infinite = v.low + v.high, finite = v.count - v.nan - infinite;
  const bad = [v.nan ? `${v.nan} NaN` : '', v.high ? `${v.high} +∞` : '', v.low ? `${v.low} −∞` : ''].filter(t => t);
  return `${countOf(v.count, 'element')}: ${bad.length ? bad.join(', ') + '; ' : 'all finite, '}` +
    (finite > 0 ? `${formatNumber(v.least)} to ${formatNumber(v.most)}, mean ${formatNumber(v.mean)}, ` +
                  `deviation ${formatNumber(v.deviation)}.` : 'none is finite.');
}

// A small picture of the buckets; the sentence above it says what it shows.
function histogram(v: OutputValues): SVGElement {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg'), most = Math.max(...v.buckets, 1);
  svg.setAttribute('viewBox', '0 0 240 48');
  svg.setAttribute('class', 'buckets');
  svg.setAttribute('role', 'img');
  const peak = v.buckets.indexOf(most), width = (v.most - v.least) / v.buckets.length;
  svg.setAttribute('aria-label', `Histogram of output ${v.slot}: most elements, ${most}, are between ` +
    `${formatNumber(v.least + peak * width)} and ${formatNumber(v.least + (peak + 1) * width)}`);
  v.buckets.forEach((n, i) => {
    const bar = document.createElementNS('http://www.w3.org/2000/svg', 'rect'), height = 46 * n / most;
    for (const [name, value] of Object.entries({x: i * 10 + 1, y: 47 - height, width: 8, height})) {
      bar.setAttribute(name, String(value));
    }
    svg.append(bar);
  });
  return svg;
}

export function valuesOf(item: Item): (HTMLElement | SVGElement)[] {
  if (!item.values) return [];
  const parts: (HTMLElement | SVGElement)[] = [element('h4', {}, 'Values')];
  if (!item.values.length) parts.push(element('p', {class: 'sentence'}, 'The dump has none of its outputs.'));
  for (const v of item.values) {
    const times = v.times > 1 ? `, ${v.times} times` : '';
    parts.push(element('p', {class: 'values'}, element('strong', {}, `:${v.slot} `),
                       `${v.dtype} [${v.shape.join(',')}]${times}. ${describeOutput(v)}`));
    if (v.buckets.length) parts.push(histogram(v));
  }
  return parts;
}
