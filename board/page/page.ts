// The page of scalars: a list of runs on the left, a card for each tag, grouped by what stands before
// the first slash. A card loads when it comes into view, and again when the server says that
// something is new. Every chart can be read without seeing it: a sentence says what its lines do, the
// arrow keys move a cursor whose values are read out, and a button shows the numbers as a table.
import {Line, Look, Scale, drawChart, isDark, setStroke} from './chart';
import {Series, fetchColumns} from './columns';
import {describe, formatDuration, formatNumber, smooth} from './words';

const PREFIX = document.documentElement.dataset.prefix || '';
const byId = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

interface Settings {
  runFilter: string;
  tagFilter: string;
  smoothing: number;
  axis: Look['axis'];
  log: boolean;
  clip: boolean;
  hidden: string[];
}

// What a link to this page keeps stands behind its "#".
const settings: Settings = {runFilter: '', tagFilter: '', smoothing: 0.6, axis: 'step', log: false,
                            clip: false, hidden: []};
try {
  Object.assign(settings, JSON.parse(decodeURIComponent(location.hash.slice(1)) || '{}'));
} catch {
  // A link that was cut short shows the page as it is at first.
}

const MANY_RUNS = 40;

let runs: string[] = [];
const styles = new Map<string, number>();
const cards = new Map<string, Card>();
let version = '';

function element<K extends keyof HTMLElementTagNameMap>(
    kind: K, attributes: Record<string, string> = {}, ...children: (Node | string)[]):
    HTMLElementTagNameMap[K] {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// A regular expression that is not one matches everything, and its field says so.
function matcher(input: HTMLInputElement): (text: string) => boolean {
  try {
    const expression = new RegExp(input.value, 'i');
    input.removeAttribute('aria-invalid');
    return text => expression.test(text);
  } catch {
    input.setAttribute('aria-invalid', 'true');
    return () => true;
  }
}

function shownRuns(): string[] {
  const matches = matcher(byId('run-filter'));
  return runs.filter(run => matches(run) && !settings.hidden.includes(run));
}

function isNear(box: DOMRect): boolean {
  return box.width > 0 && box.top < innerHeight + 400 && box.bottom > -400;
}

// ---- Cards --------------------------------------------------------------------------------------
class Card {
  readonly root: HTMLElement;
  private readonly canvas = element('canvas', {class: 'chart', tabindex: '0', role: 'img'});
  private readonly sentence = element('p', {class: 'sentence'});
  private readonly reading = element('p', {class: 'reading', 'aria-live': 'polite'});
  private readonly table = element('div', {class: 'scroll', tabindex: '0', role: 'region'});
  private readonly tableButton = element('button', {type: 'button', 'aria-expanded': 'false'}, 'Table');
  private readonly wideButton = element('button', {type: 'button', 'aria-pressed': 'false'}, 'Wide');
  private series: Series[] = [];
  private lines: Line[] = [];
  private scale: Scale = {left: 0, width: 1, x0: 0, x1: 1};
  private cursor: number | null = null;
  private loaded = '';

  constructor(readonly tag: string, name: string) {
    const heading = element('h3', {}, name);
    this.table.hidden = true;
    this.table.setAttribute('aria-label', 'Values of ' + tag);
    this.root = element('article', {class: 'card', 'aria-label': tag},
      element('div', {class: 'top'}, heading, element('div', {}, this.tableButton, this.wideButton)),
      this.canvas, this.reading, this.sentence, this.table);
    this.tableButton.onclick = () => {
      this.table.hidden = !this.table.hidden;
      this.tableButton.setAttribute('aria-expanded', String(!this.table.hidden));
      this.fillTable();
    };
    this.wideButton.onclick = () => {
      const wide = this.root.classList.toggle('wide');
      this.wideButton.setAttribute('aria-pressed', String(wide));
      this.draw();
    };
    this.canvas.onkeydown = event => this.onKey(event);
    this.canvas.onpointermove = event => {
      const share = (event.offsetX - this.scale.left) / this.scale.width;
      this.moveTo(this.scale.x0 + share * (this.scale.x1 - this.scale.x0));
    };
    this.canvas.onpointerleave = () => {
      if (document.activeElement !== this.canvas) this.setCursor(null);
    };
    this.canvas.onblur = () => this.setCursor(null);
  }

  // Loads what is not there yet and draws. Called when the card comes into view.
  async show(): Promise<void> {
    const wanted = version + '|' + shownRuns().join('\n');
    if (this.loaded !== wanted) {
      this.loaded = wanted;
      try {
        const names = shownRuns();
        this.series = names.length ? await fetchColumns(PREFIX, this.tag, names) : [];
      } catch (error) {
        this.loaded = '';
        this.sentence.textContent = 'Loading failed: ' + (error as Error).message;
        return;
      }
    }
    this.prepare();
    this.draw();
  }

  private prepare(): void {
    this.lines = this.series.filter(s => s.values.length).map(s => {
      const begin = s.times[0];
      return {name: s.run, style: styles.get(s.run) || 0, step: s.steps, raw: s.values,
              x: settings.axis === 'step' ? s.steps
                : settings.axis === 'wall' ? s.times : s.times.map(t => t - begin),
              y: settings.smoothing > 0 ? smooth(s.values, settings.smoothing) : s.values};
    });
    const told = this.series.slice(0, 3).map(s => `${s.run} ${describe(s)}`);
    const more = this.series.length - told.length;
    this.sentence.textContent = told.length
      ? told.join('. ') + (more > 1 ? `. ${more} more runs.` : more ? '. One more run.' : '.') : 'No run that is shown has this tag.';
    this.canvas.setAttribute('aria-label', `${this.tag}: ${this.sentence.textContent} ` +
      'The arrow keys read out values.');
    if (!this.table.hidden) this.fillTable();
  }

  draw(): void {
    if (!isNear(this.root.getBoundingClientRect())) return;
    this.scale = drawChart(this.canvas, this.lines, {
      axis: settings.axis, log: settings.log, clip: settings.clip,
      smoothed: settings.smoothing > 0, cursor: this.cursor});
  }

  // The cursor goes to the point of any line that lies nearest to |x|.
  private moveTo(x: number): void {
    let best: number | null = null;
    for (const line of this.lines) {
      const i = nearest(line.x, x);
      if (best === null || Math.abs(line.x[i] - x) < Math.abs(best - x)) best = line.x[i];
    }
    this.setCursor(best);
  }

  private setCursor(x: number | null): void {
    if (x === this.cursor) return;
    this.cursor = x;
    this.reading.textContent = x === null ? '' : this.lines.slice(0, 8).map(line => {
      const i = nearest(line.x, x);
      const value = formatNumber(line.raw[i]);
      return (this.lines.length > 1 ? line.name + ': ' : '') + value + ' at step ' + line.step[i] +
        (settings.smoothing > 0 ? ` (smoothed ${formatNumber(line.y[i])})` : '') +
        (settings.axis === 'relative' ? ', ' + formatDuration(line.x[i]) : '');
    }).join('; ');
    this.draw();
  }

  private onKey(event: KeyboardEvent): void {
    const all = [...new Set(this.lines.flatMap(line => [...line.x]))].sort((a, b) => a - b);
    if (!all.length) return;
    const at = this.cursor === null ? -1 : all.indexOf(this.cursor);
    const far = Math.max(1, Math.round(all.length / 20));
    const moves: Record<string, number> = {
      ArrowRight: at + 1, ArrowLeft: at < 0 ? all.length - 1 : at - 1, PageDown: at + far,
      PageUp: at - far, Home: 0, End: all.length - 1};
    if (event.key === 'Escape') {
      this.setCursor(null);
    } else if (event.key in moves) {
      this.setCursor(all[Math.min(Math.max(moves[event.key], 0), all.length - 1)]);
    } else {
      return;
    }
    event.preventDefault();
  }

  // A row for each step of any run, at most 200 of them, the first and the last among them.
  private fillTable(): void {
    if (this.table.hidden) return;
    const steps = [...new Set(this.series.flatMap(s => [...s.steps]))].sort((a, b) => a - b);
    const every = Math.ceil(steps.length / 200);
    const kept = steps.filter((_, i) => i % every === 0 || i === steps.length - 1);
    const head = element('tr', {}, element('th', {scope: 'col'}, 'Step'));
    for (const s of this.series) head.append(element('th', {scope: 'col'}, s.run));
    const body = element('tbody');
    const rows = this.series.map(s => new Map([...s.steps].map((step, i) => [step, s.values[i]])));
    for (const step of kept) {
      const row = element('tr', {}, element('th', {scope: 'row'}, String(step)));
      for (const values of rows) {
        const value = values.get(step);
        row.append(element('td', {}, value === undefined ? '' : formatNumber(value)));
      }
      body.append(row);
    }
    const caption = every > 1 ? `Every ${every}th of ${steps.length} steps` : `${steps.length} steps`;
    this.table.replaceChildren(element('table', {}, element('caption', {}, caption),
                                       element('thead', {}, head), body));
  }
}

// The index of the item of |sorted| that is nearest to |x|. Steps may go back after a restart; then
// the answer is only near.
function nearest(sorted: Float64Array, x: number): number {
  let low = 0, high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && Math.abs(sorted[low - 1] - x) <= Math.abs(sorted[low] - x) ? low - 1 : low;
}

// ---- The lists ----------------------------------------------------------------------------------
function drawRuns(): void {
  const matches = matcher(byId('run-filter'));
  const items = runs.filter(matches).slice(0, 500).map(run => {
    const box = element('input', {type: 'checkbox'});
    box.checked = !settings.hidden.includes(run);
    box.onchange = () => {
      settings.hidden = settings.hidden.filter(r => r !== run);
      if (!box.checked) settings.hidden.push(run);
      onSettings();
    };
    const swatch = element('canvas', {width: '64', height: '32', 'aria-hidden': 'true'});
    const context = swatch.getContext('2d') as CanvasRenderingContext2D;
    context.scale(2, 2);
    context.lineWidth = 3;
    setStroke(context, styles.get(run) || 0);
    context.beginPath();
    context.moveTo(0, 8);
    context.lineTo(32, 8);
    context.stroke();
    return element('li', {}, element('label', {}, box, swatch, element('span', {}, run)));
  });
  byId('runs').replaceChildren(...items);
}

const watcher = new IntersectionObserver(entries => {
  for (const entry of entries) {
    if (entry.isIntersecting) cards.get((entry.target as HTMLElement).dataset.tag || '')?.show();
  }
}, {rootMargin: '300px'});

function drawGroups(tags: string[]): void {
  const matches = matcher(byId('tag-filter')), groups = new Map<string, string[]>();
  for (const tag of tags.filter(matches)) {
    const group = tag.includes('/') ? tag.slice(0, tag.indexOf('/')) : '';
    groups.set(group, [...groups.get(group) || [], tag]);
  }
  const open = new Map([...document.querySelectorAll('details')].map(d => [d.dataset.group, d.open]));
  let left = 24;  // groups that begin open hold about so many cards
  const made = [...groups].sort(([a], [b]) => a < b ? -1 : 1).map(([group, members]) => {
    const grid = element('div', {class: 'cards'});
    for (const tag of members.sort((a, b) => a.localeCompare(b, 'en', {numeric: true}))) {
      let card = cards.get(tag);
      if (!card) {
        card = new Card(tag, group ? tag.slice(group.length + 1) || tag : tag);
        card.root.dataset.tag = tag;
        cards.set(tag, card);
        watcher.observe(card.root);
      }
      grid.append(card.root);
    }
    const details = element('details', {'data-group': group}, element('summary', {},
      `${group || 'Without a group'} (${members.length})`), grid);
    details.open = open.get(group) ?? left > 0;
    left -= members.length;
    return details;
  });
  byId('groups').replaceChildren(...(made.length ? made : [element('p', {}, tags.length
    ? 'No tag matches the filter.' : 'There are no scalars yet.')]));
}

let tags: string[] = [];

function showCards(): void {
  for (const card of cards.values()) {
    if (isNear(card.root.getBoundingClientRect())) card.show();
  }
}

function onSettings(): void {
  history.replaceState(null, '', '#' + encodeURIComponent(JSON.stringify(settings)));
  byId('smoothing-value').textContent = String(settings.smoothing);
  drawRuns();
  drawGroups(tags);
  showCards();
}

async function getJson(path: string): Promise<any> {
  const answer = await fetch(PREFIX + path);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

async function reload(): Promise<void> {
  try {
    const [names, index, status, environment] = await Promise.all([
      getJson('/data/runs'), getJson('/data/plugin/scalars/tags'), getJson('/data/leat/status'),
      getJson('/data/environment')]);
    // So many lines in one chart say nothing and take long: of many runs the first are shown.
    if (!runs.length && !location.hash && names.length > MANY_RUNS) {
      settings.hidden = names.slice(MANY_RUNS);
    }
    runs = names;
    runs.forEach(run => styles.has(run) || styles.set(run, styles.size));
    tags = [...new Set(Object.values(index).flatMap(of => Object.keys(of as object)))];
    byId('where').textContent = environment.data_location;
    const wrong = status.damaged_records + status.skipped_values;
    const hidden = runs.filter(run => settings.hidden.includes(run)).length;
    byId('state').textContent = (status.loaded ? '' : 'Loading. ') + (hidden ? `${hidden} of ` : '') +
      `${runs.length} runs${hidden ? ' are hidden' : ''}, ${tags.length} tags` + (wrong ? `, ${wrong} records or values skipped` : '');
    drawRuns();
    drawGroups(tags);
    showCards();
  } catch (error) {
    byId('state').textContent = 'The server does not answer: ' + (error as Error).message;
  }
}

// ---- The beginning ------------------------------------------------------------------------------
function setTheme(dark: boolean): void {
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  byId('theme').textContent = dark ? 'Light' : 'Dark';
  drawRuns();
  for (const card of cards.values()) card.draw();
}

function bind(): void {
  const text = (id: string, name: 'runFilter' | 'tagFilter') => {
    const input = byId<HTMLInputElement>(id);
    input.value = settings[name];
    input.oninput = () => { settings[name] = input.value; onSettings(); };
  };
  const check = (id: 'log' | 'clip') => {
    const input = byId<HTMLInputElement>(id);
    input.checked = settings[id];
    input.onchange = () => { settings[id] = input.checked; onSettings(); };
  };
  text('run-filter', 'runFilter');
  text('tag-filter', 'tagFilter');
  check('log');
  check('clip');
  const smoothing = byId<HTMLInputElement>('smoothing'), axis = byId<HTMLSelectElement>('axis');
  smoothing.value = String(settings.smoothing);
  smoothing.oninput = () => { settings.smoothing = Number(smoothing.value); onSettings(); };
  axis.value = settings.axis;
  axis.onchange = () => { settings.axis = axis.value as Look['axis']; onSettings(); };
  byId('all').onclick = () => { settings.hidden = []; onSettings(); };
  byId('none').onclick = () => { settings.hidden = [...runs]; onSettings(); };
  byId('tools').onsubmit = event => event.preventDefault();
  byId('theme').onclick = () => {
    setTheme(!isDark());
    localStorage.setItem('leat-theme', isDark() ? 'dark' : 'light');
  };
}

bind();
const kept = localStorage.getItem('leat-theme');
setTheme(kept ? kept === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches);
byId('smoothing-value').textContent = String(settings.smoothing);
new ResizeObserver(() => cards.forEach(card => card.draw())).observe(byId('groups'));
addEventListener('scroll', () => cards.forEach(card => card.draw()), {passive: true});
document.addEventListener('toggle', showCards, true);
reload();
const live = new EventSource(PREFIX + '/data/leat/live');
let waiting = 0;
live.addEventListener('version', event => {
  if (event.data === version) return;
  version = event.data;
  // While a program trains, something is new all the time: once in a second is enough.
  waiting ||= window.setTimeout(() => { waiting = 0; reload(); }, 1000);
});
