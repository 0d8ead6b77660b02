// The page of hyper-parameters: a table of runs, each with what it was started with and what came
// of it, sorted by any column.
import {element, getJson} from './dom';
import {swatch} from './cards';
import {Page, shownRuns} from './state';
import {formatNumber} from './words';

type Value = number | string | boolean | null;

interface Session {
  run: string;
  group: string;
  status: number;
  hparams: Record<string, Value>;
  metrics: Record<string, Value>;
}

interface Column {
  title: string;
  kind: 'run' | 'status' | 'hparams' | 'metrics';
}

const STATUS = ['', 'success', 'failure', 'running'];

function valueOf(session: Session, column: Column): Value {
  if (column.kind === 'run') return session.run;
  if (column.kind === 'status') return STATUS[session.status] || '';
  return session[column.kind][column.title] ?? null;
}

// Numbers by size, before texts; what is missing comes last.
function compare(a: Value, b: Value): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : typeof b === 'number' ? 1 : 0;
  return String(a).localeCompare(String(b), 'en', {numeric: true});
}

export class Hparams implements Page {
  name = 'hparams';
  title = 'Hyper-parameters';
  plugins = ['hparams'];
  usesRuns = true;
  usesTags = false;
  root = element('div');
  private sessions: Session[] = [];
  private sortedBy = '';
  private falls = false;

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
    const shown = shownRuns(), sessions = this.sessions.filter(s => shown.includes(s.run));
    if (!sessions.length) {
      this.root.replaceChildren(element('p', {}, this.sessions.length
        ? 'No run that is shown has hyper-parameters.' : 'There are no hyper-parameters yet.'));
      return;
    }
    const columns = this.columns(sessions);
    const by = columns.find(column => column.kind + column.title === this.sortedBy);
    if (by) {
      sessions.sort((a, b) => {
        const [x, y] = [valueOf(a, by), valueOf(b, by)];
        return compare(x, y) * (this.falls && x !== null && y !== null ? -1 : 1);
      });
    }
    const hadFocus = (document.activeElement as HTMLElement | null)?.dataset.sort;
    this.root.replaceChildren(element('p', {class: 'sentence'}, this.describe(sessions, columns)),
      element('div', {class: 'scroll tall', tabindex: '0', role: 'region', 'aria-label': 'Table of runs'},
        element('table', {class: 'hparams'},
          element('caption', {}, `${sessions.length} runs: hyper-parameters, then the newest values ` +
            'of scalars. A heading sorts.'),
          element('thead', {}, element('tr', {}, ...columns.map(column => this.heading(column)))),
          element('tbody', {}, ...sessions.map(session => this.row(session, columns))))));
    if (hadFocus) {
      this.root.querySelector<HTMLElement>(`[data-sort="${CSS.escape(hadFocus)}"]`)?.focus();
    }
  }

  private heading(column: Column): HTMLElement {
    const key = column.kind + column.title, isBy = key === this.sortedBy;
    const sort = element('button', {type: 'button', class: 'link', 'data-sort': key},
                         column.title + (isBy ? (this.falls ? ' ▼' : ' ▲') : ''));
    sort.onclick = () => {
      this.falls = isBy && !this.falls;
      this.sortedBy = key;
      this.redraw();
    };
    const attributes: Record<string, string> = {scope: 'col', class: column.kind};
    if (isBy) attributes['aria-sort'] = this.falls ? 'descending' : 'ascending';
    return element('th', attributes, sort);
  }

  private row(session: Session, columns: Column[]): HTMLElement {
    return element('tr', {}, ...columns.map((column, i) => {
      const value = valueOf(session, column);
      const text = typeof value === 'number' ? formatNumber(value) : value === null ? '' : String(value);
      return i ? element('td', {}, text)
               : element('th', {scope: 'row'}, swatch(session.run), ' ', text);
    }));
  }

  // "Of 12 runs rate differs (0.01 to 0.1) ..."
  private describe(sessions: Session[], columns: Column[]): string {
    const differ = columns.filter(c => c.kind === 'hparams' &&
      new Set(sessions.map(s => JSON.stringify(valueOf(s, c)))).size > 1).map(c => c.title);
    const text = `${sessions.length} run${sessions.length > 1 ? 's' : ''}. `;
    return text + (differ.length ? `They differ in ${differ.join(', ')}.`
                                 : 'Their hyper-parameters are the same.');
  }

  draw(): void {}
}
