// The page of hyper-parameters: a table of runs, each with what it was started with and what came
// of it, sorted by any column; and the same as two pictures (hparams_plots.ts).
import {button, choice, element, getJson} from './dom';
import {swatch} from './cards';
import {ParallelCoordinates, Scatter} from './hparams_plots';
import {asCsv, asJson, saveChoice} from './save';
import {Page, settings, shownRuns, writeLink} from './state';
import {countOf, formatNumber} from './words';

const MANY_AXES = 12, PAGE_ROWS = 500, MANY_LINES = 5000;

export type Value = number | string | boolean | null;

export interface Session {
  run: string;
  group: string;
  status: number;
  hparams: Record<string, Value>;
  metrics: Record<string, Value>;
}

export interface Column {
  title: string;
  kind: 'run' | 'status' | 'hparams' | 'metrics';
}

const STATUS = ['', 'success', 'failure', 'running'];

export function valueOf(session: Session, column: Column): Value {
  if (column.kind === 'run') return session.run;
  if (column.kind === 'status') return STATUS[session.status] || '';
  return session[column.kind][column.title] ?? null;
}

// Numbers by size, before texts; what is missing comes last.
export function compare(a: Value, b: Value): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : typeof b === 'number' ? 1 : 0;
  return String(a).localeCompare(String(b), 'en', {numeric: true});
}

export function textOf(value: Value): string {
  return typeof value === 'number' ? formatNumber(value) : value === null ? '' : String(value);
}

const keyOf = (column: Column) => column.kind + '/' + column.title;

export class Hparams implements Page {
  name = 'hparams';
  title = 'Hyper-parameters';
  plugins = ['hparams'];
  usesRuns = true;
  usesTags = false;
  root = element('div');
  tools = element('div', {class: 'tools'});
  private readonly parallel = new ParallelCoordinates();
  private readonly scatter = new Scatter();
  private sessions: Session[] = [];
  private sortedBy = '';
  private falls = false;
  private first = 0;  // row of the page of the table

  async reload(): Promise<void> {
    this.sessions = (await getJson('/data/leat/hparams')).sessions;
    this.redraw();
  }

  private columns(sessions: Session[]): Column[] {
    const names = (kind: 'hparams' | 'metrics') =>
      [...new Set(sessions.flatMap(s => Object.keys(s[kind])))].map(title => ({title, kind}));
    return [{title: 'Run', kind: 'run'}, {title: 'Status', kind: 'status'}, ...names('hparams'),
            ...names('metrics')];
  }

  redraw(): void {
    const shown = new Set(shownRuns()), sessions = this.sessions.filter(s => shown.has(s.run));
    if (!sessions.length) {
      this.tools.replaceChildren();
      this.root.replaceChildren(element('p', {}, this.sessions.length
        ? 'No run that is shown has hyper-parameters.' : 'There are no hyper-parameters yet.'));
      return;
    }
    const columns = this.columns(sessions), {view} = settings.hparams;
    const drawn = view === 'table' ? sessions : sessions.slice(0, MANY_LINES);
    const hidden = this.sessions.length - sessions.length;
    const sentence = element('p', {class: 'sentence'}, this.describe(sessions, columns) +
      (hidden ? ` ${countOf(hidden, 'more run')} with hyper-parameters ${hidden === 1 ? 'is' : 'are'} not shown.` : '') +
      (drawn.length < sessions.length ? ` The first ${drawn.length} are drawn.` : ''));
    this.fillTools(columns, sessions);
    if (view === 'parallel') {
      const axes = columns.filter(c => c.kind === 'hparams' || c.kind === 'metrics').slice(0, MANY_AXES);
      this.root.replaceChildren(sentence, this.parallel.root);
      this.parallel.set(drawn, axes, 'Runs as lines across ' + axes.map(c => c.title).join(', ') + '.');
    } else if (view === 'scatter') {
      const pair = [this.axis('x', columns), this.axis('y', columns)];
      this.root.replaceChildren(sentence, this.scatter.root);
      this.scatter.set(drawn, pair, `Runs as points, ${pair[0].title} to the right, ${pair[1].title} upwards.`);
    } else {
      this.drawTable(sessions, columns, sentence);
    }
  }

  // The column of an axis of the scatter plot: at first the first hyper-parameter and metric.
  private axis(which: 'x' | 'y', columns: Column[]): Column {
    const first = columns.find(c => c.kind === (which === 'x' ? 'hparams' : 'metrics'));
    return columns.find(c => keyOf(c) === settings.hparams[which]) || first || columns[0];
  }

  private fillTools(columns: Column[], sessions: Session[]): void {
    const set = (name: 'view' | 'x' | 'y') => (value: string) => {
      settings.hparams[name] = value;
      writeLink();
      this.redraw();
    };
    const focus = document.activeElement?.id;
    const pairs = columns.filter(c => c.kind !== 'status').map((c): [string, string] => [keyOf(c), c.title]);
    const parts = [choice('hparams-view', 'Shown as', [['table', 'Table'],
      ['parallel', 'Parallel coordinates'], ['scatter', 'Scatter plot']], settings.hparams.view, set('view'))];
    if (settings.hparams.view === 'scatter') {
      for (const [axis, text] of [['x', 'To the right'], ['y', 'Upwards']] as const) {
        parts.push(choice('hparams-' + axis, text, pairs, keyOf(this.axis(axis, columns)), set(axis)));
      }
    }
    const rows = () => [columns.map(c => c.title), ...sessions.map(s => columns.map(c => valueOf(s, c) ?? ''))];
    parts.push(element('div', {class: 'top'}, saveChoice('hyper-parameters', {
      CSV: () => asCsv(rows().map(row => row.map(cell => typeof cell === 'boolean' ? String(cell) : cell))),
      JSON: () => asJson(sessions)})));
    this.tools.replaceChildren(...parts);
    if (focus?.startsWith('hparams-')) document.getElementById(focus)?.focus();
  }

  private drawTable(sessions: Session[], columns: Column[], sentence: HTMLElement): void {
    const by = columns.find(column => column.kind + column.title === this.sortedBy);
    if (by) {
      sessions.sort((a, b) => {
        const [x, y] = [valueOf(a, by), valueOf(b, by)];
        return compare(x, y) * (this.falls && x !== null && y !== null ? -1 : 1);
      });
    }
    const hadFocus = (document.activeElement as HTMLElement | null)?.dataset.sort;
    if (this.first >= sessions.length) this.first = 0;
    const rows = sessions.slice(this.first, this.first + PAGE_ROWS);
    this.root.replaceChildren(sentence, ...this.pager(sessions.length),
      element('div', {class: 'scroll tall', tabindex: '0', role: 'region', 'aria-label': 'Table of runs'},
        element('table', {class: 'hparams'},
          element('caption', {}, `${sessions.length} runs: hyper-parameters, then the newest values ` +
            'of scalars. A heading sorts.'),
          element('thead', {}, element('tr', {}, ...columns.map(column => this.heading(column)))),
          element('tbody', {}, ...rows.map(session => this.row(session, columns))))));
    if (hadFocus) {
      this.root.querySelector<HTMLElement>(`[data-sort="${CSS.escape(hadFocus)}"]`)?.focus();
    }
  }

  // Thousands of rows at once would make the browser slow: pages of them, each of which can be reached.
  private pager(count: number): HTMLElement[] {
    if (count <= PAGE_ROWS) return [];
    const turn = (id: string, text: string, first: number) => {
      const to = button(text, () => {
        this.first = first;
        this.redraw();
        document.getElementById(id)?.focus();
      }, {id});
      if (first < 0 || first >= count) to.setAttribute('aria-disabled', 'true');
      if (to.getAttribute('aria-disabled')) to.onclick = null;
      return to;
    };
    const last = Math.min(this.first + PAGE_ROWS, count);
    return [element('p', {class: 'row'}, turn('hparams-back', 'Previous', this.first - PAGE_ROWS),
                    turn('hparams-next', 'Next', this.first + PAGE_ROWS),
                    element('span', {role: 'status'}, `Rows ${this.first + 1} to ${last} of ${count}`))];
  }

  private heading(column: Column): HTMLElement {
    const key = column.kind + column.title, isBy = key === this.sortedBy;
    const sort = element('button', {type: 'button', class: 'link', 'data-sort': key},
                         column.title + (isBy ? (this.falls ? ' ▼' : ' ▲') : ''));
    sort.onclick = () => {
      this.falls = isBy && !this.falls;
      this.sortedBy = key;
      this.first = 0;
      this.redraw();
    };
    const attributes: Record<string, string> = {scope: 'col', class: column.kind};
    if (isBy) attributes['aria-sort'] = this.falls ? 'descending' : 'ascending';
    return element('th', attributes, sort);
  }

  private row(session: Session, columns: Column[]): HTMLElement {
    return element('tr', {}, ...columns.map((column, i) => {
      const value = valueOf(session, column);
      const text = textOf(value);
      return i ? element('td', {}, text)
               : element('th', {scope: 'row'}, swatch(session.run), ' ', text);
    }));
  }

  // "Of 12 runs rate differs (0.01 to 0.1) ..."
  private describe(sessions: Session[], columns: Column[]): string {
    const differ = columns.filter(c => c.kind === 'hparams' &&
      new Set(sessions.map(s => JSON.stringify(valueOf(s, c)))).size > 1).map(c => c.title);
    const text = countOf(sessions.length, 'run') + '. ';
    return text + (differ.length ? `They differ in ${differ.join(', ')}.`
                                 : 'Their hyper-parameters are the same.');
  }

  draw(): void {
    if (this.parallel.root.isConnected) this.parallel.draw();
    if (this.scatter.root.isConnected) this.scatter.draw();
  }
}
