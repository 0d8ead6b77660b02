// Two pictures of hyper-parameters. In parallel coordinates every column has an axis and every run is
// a line across them; a stretch that the mouse marks on an axis leaves the runs that pass through it.
// In the scatter plot a run is a point between two columns. The arrow keys go through the runs.
import {keyCursor, swatch} from './cards';
import {Pen, setStroke, ticksOf} from './chart';
import {beginDrawing, cssColour, element} from './dom';
import {Column, Session, Value, compare, textOf, valueOf} from './hparams';
import {styleOf} from './run_groups';
import {nameOf} from './state';
import {countOf, formatNumber} from './words';

// Where values of a column lie, from 0 to 1: numbers by size, others in equal distances.
interface Axis {
  column: Column;
  place(session: Session): number;  // NaN where there is no value
  marks: [number, string][];
}

function axisOf(column: Column, sessions: Session[], count: number): Axis {
  const values = sessions.map(s => valueOf(s, column)).filter((v): v is number | string | boolean => v !== null);
  const numbers = values.filter((v): v is number => typeof v === 'number' && Number.isFinite(v));
  if (numbers.length && values.every(v => typeof v === 'number')) {
    let low = Infinity, high = -Infinity;
    for (const n of numbers) [low, high] = [Math.min(low, n), Math.max(high, n)];
    // Learning rates and their like differ by factors.
    const isLog = low > 0 && high / low >= 100, of = isLog ? Math.log10 : (n: number) => n;
    if (low === high) [low, high] = [low - 1, high + 1];
    const [from, to] = [of(low), of(high)];
    const ticks = ticksOf(from, to, count).filter(t => !isLog || Number.isInteger(t));
    return {column, marks: (ticks.length > 1 ? ticks : [from, to]).map(t =>
              [(t - from) / (to - from), formatNumber(isLog ? 10 ** t : t)]),
            place: session => {
              const v = valueOf(session, column);
              return typeof v === 'number' && Number.isFinite(v) ? (of(v) - from) / (to - from) : NaN;
            }};
  }
  const known = [...new Set(values)].sort(compare), last = Math.max(known.length - 1, 1);
  const at = new Map<Value, number>(known.map((v, i) => [v, known.length > 1 ? i / last : 0.5]));
  const every = Math.ceil(known.length / 12);
  return {column, marks: known.filter((_, i) => i % every === 0).map(v => [at.get(v) as number, textOf(v)]),
          place: session => at.get(valueOf(session, column)) ?? NaN};
}

function shorten(pen: Pen, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let size = text.length;
  while (size > 1 && pen.measureText(text.slice(0, size) + '…').width > width) --size;
  return text.slice(0, size) + '…';
}

// What both pictures share: a canvas with a run under the cursor, and the line that tells about it.
abstract class Plot {
  readonly root: HTMLElement;
  protected readonly canvas = element('canvas', {tabindex: '0', role: 'img'});
  protected readonly reading = element('p', {class: 'reading', 'aria-live': 'polite'});
  protected sessions: Session[] = [];
  protected columns: Column[] = [];
  protected at = -1;

  constructor() {
    this.root = element('div', {}, element('div', {class: 'plot'}, this.canvas), this.reading);
    keyCursor(this.canvas, () => this.sessions.length, at => this.select(at ?? -1));
    this.canvas.addEventListener('pointermove', event => this.select(this.nearest(event.offsetX, event.offsetY)));
    this.canvas.addEventListener('pointerleave', () => {
      if (document.activeElement !== this.canvas) this.select(-1);
    });
  }

  set(sessions: Session[], columns: Column[], label: string): void {
    [this.sessions, this.columns, this.at] = [sessions, columns, -1];
    this.canvas.setAttribute('aria-label', label + ' The arrow keys go through the runs.');
    this.reading.textContent = '';
    this.draw();
  }

  protected select(at: number): void {
    if (at === this.at) return;
    this.at = at;
    const session = this.sessions[at];
    this.reading.replaceChildren(...(session ? [swatch(session.run), ` ${nameOf(session.run)}: ` + this.columns.map(column =>
      `${column.title} ${textOf(valueOf(session, column)) || 'none'}`).join(', ')] : []));
    this.draw();
  }

  protected stroke(pen: Pen, session: Session): void {
    setStroke(pen, styleOf(session.run));
  }

  protected abstract nearest(x: number, y: number): number;
  abstract draw(): void;
}

export class ParallelCoordinates extends Plot {
  private axes: Axis[] = [];
  private readonly ranges = new Map<string, [number, number]>();  // that the mouse has marked, by axis
  private marking: {axis: number; from: number} | null = null;

  constructor() {
    super();
    this.canvas.addEventListener('pointerdown', event => {
      const axis = this.axisAt(event.offsetX);
      if (event.button || axis < 0) return;
      this.canvas.setPointerCapture(event.pointerId);
      this.marking = {axis, from: this.shareAt(event.offsetY)};
    });
    this.canvas.addEventListener('pointermove', event => this.mark(event));
    this.canvas.addEventListener('pointerup', event => {
      this.mark(event);
      this.marking = null;
    });
    this.canvas.addEventListener('dblclick', () => {
      this.ranges.clear();
      this.tell();
      this.draw();
    });
  }

  private x(axis: number): number {
    const width = this.canvas.clientWidth, margin = Math.min(60, width / 8);
    return this.axes.length < 2 ? width / 2 : margin + axis * (width - 2 * margin) / (this.axes.length - 1);
  }

  private y(share: number): number {
    return this.canvas.clientHeight - 16 - share * (this.canvas.clientHeight - 60);
  }

  private shareAt(y: number): number {
    return (this.canvas.clientHeight - 16 - y) / (this.canvas.clientHeight - 60);
  }

  private axisAt(x: number): number {
    return this.axes.findIndex((_, i) => Math.abs(this.x(i) - x) < 14);
  }

  private mark(event: PointerEvent): void {
    if (!this.marking) return;
    const to = this.shareAt(event.offsetY), {axis, from} = this.marking;
    const title = this.axes[axis].column.kind + this.axes[axis].column.title;
    if (Math.abs(to - from) > 0.02) this.ranges.set(title, [Math.min(from, to), Math.max(from, to)]);
    else this.ranges.delete(title);
    this.tell();
    this.draw();
  }

  private passes(session: Session): boolean {
    return this.axes.every(axis => {
      const range = this.ranges.get(axis.column.kind + axis.column.title), at = axis.place(session);
      return !range || (at >= range[0] && at <= range[1]);
    });
  }

  private tell(): void {
    const count = this.sessions.filter(s => this.passes(s)).length;
    this.reading.textContent = this.ranges.size ? `${count} of ${countOf(this.sessions.length, 'run')} pass. ` +
      'A double click lets all pass.' : '';
  }

  protected nearest(x: number, y: number): number {
    let best = -1, least = 12;
    const span = this.axes.findIndex((_, i) => i + 1 < this.axes.length && x >= this.x(i) && x <= this.x(i + 1));
    if (span < 0 || this.marking) return this.at;
    const share = (x - this.x(span)) / (this.x(span + 1) - this.x(span));
    this.sessions.forEach((session, i) => {
      const [a, b] = [this.axes[span].place(session), this.axes[span + 1].place(session)];
      const away = Math.abs(this.y(a + (b - a) * share) - y);
      if (away < least && this.passes(session)) [best, least] = [i, away];
    });
    return best;
  }

  draw(): void {
    this.axes = this.columns.map(column => axisOf(column, this.sessions, 6));
    const {context, height} = beginDrawing(this.canvas);
    context.font = '12px system-ui, sans-serif';
    const order = this.sessions.map((_, i) => i).sort((a, b) => Number(a === this.at) - Number(b === this.at));
    for (const i of order) {
      const session = this.sessions[i];
      this.stroke(context, session);
      context.globalAlpha = !this.passes(session) ? 0.08 : this.at < 0 || this.at === i ? 1 : 0.25;
      context.lineWidth = this.at === i ? 3.5 : 1.75;
      context.beginPath();
      let isDown = false;
      this.axes.forEach((axis, k) => {
        const at = axis.place(session);
        if (Number.isFinite(at)) context[isDown ? 'lineTo' : 'moveTo'](this.x(k), this.y(at));
        isDown = Number.isFinite(at);
      });
      context.stroke();
    }
    context.globalAlpha = 1;
    context.setLineDash([]);
    context.textAlign = 'center';
    const room = this.axes.length > 1 ? this.x(1) - this.x(0) - 8 : 200;
    this.axes.forEach((axis, k) => {
      const x = this.x(k), range = this.ranges.get(axis.column.kind + axis.column.title);
      context.strokeStyle = cssColour('--axis');
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x, this.y(0));
      context.lineTo(x, this.y(1));
      context.stroke();
      if (range) {
        context.fillStyle = cssColour('--accent');
        context.globalAlpha = 0.3;
        context.fillRect(x - 7, this.y(range[1]), 14, this.y(range[0]) - this.y(range[1]));
        context.globalAlpha = 1;
      }
      context.fillStyle = cssColour('--text');
      context.textBaseline = 'top';
      // Neighbours' names stand on two heights, so that each has twice the room.
      context.fillText(shorten(context, axis.column.title, Math.min(2 * room, k && k + 1 < this.axes.length ? 2 * room : 110)), x, k % 2 ? 16 : 0);
      context.textBaseline = 'middle';
      for (const [share, text] of axis.marks) {
        const label = shorten(context, text, Math.max(room / 2, 30)), width = context.measureText(label).width;
        context.fillStyle = cssColour('--card');
        context.globalAlpha = 0.8;
        context.fillRect(x + 3, this.y(share) - 7, width + 4, 14);
        context.globalAlpha = 1;
        context.fillStyle = cssColour('--axis');
        context.textAlign = 'left';
        context.fillText(label, x + 5, Math.min(this.y(share), height - 8));
        context.textAlign = 'center';
      }
    });
  }
}

export class Scatter extends Plot {
  private axes: Axis[] = [];
  private left = 60;

  private x(share: number): number {
    return this.left + 12 + share * (this.canvas.clientWidth - this.left - 32);
  }

  private y(share: number): number {
    return this.canvas.clientHeight - 44 - share * (this.canvas.clientHeight - 72);
  }

  protected nearest(x: number, y: number): number {
    let best = -1, least = 20;
    this.sessions.forEach((session, i) => {
      const away = Math.hypot(this.x(this.axes[0].place(session)) - x, this.y(this.axes[1].place(session)) - y);
      if (away < least) [best, least] = [i, away];
    });
    return best;
  }

  draw(): void {
    if (this.columns.length < 2) return;
    this.axes = this.columns.map(column => axisOf(column, this.sessions, 6));
    const {context, width, height} = beginDrawing(this.canvas), [ax, ay] = this.axes;
    context.font = '12px system-ui, sans-serif';
    this.left = Math.min(Math.max(30, ...ay.marks.map(m => context.measureText(m[1]).width)), width / 3) + 10;
    context.strokeStyle = cssColour('--grid');
    context.fillStyle = cssColour('--axis');
    const line = (x0: number, y0: number, x1: number, y1: number) => {
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
    };
    for (const [share, text] of ay.marks) {
      line(this.left, this.y(share), width - 8, this.y(share));
      context.textAlign = 'right';
      context.textBaseline = 'middle';
      context.fillText(shorten(context, text, this.left - 10), this.left - 6, this.y(share));
    }
    for (const [share, text] of ax.marks) {
      line(this.x(share), this.y(0) + 12, this.x(share), this.y(1) - 12);
      context.textAlign = 'center';
      context.textBaseline = 'top';
      context.fillText(shorten(context, text, 80), this.x(share), height - 30);
    }
    context.fillStyle = cssColour('--text');
    context.textAlign = 'left';
    context.fillText(shorten(context, `↑ ${ay.column.title}`, width - 16), 8, 0);
    context.textAlign = 'right';
    context.fillText(shorten(context, `${ax.column.title} →`, width - 16), width - 8, height - 14);
    this.sessions.forEach((session, i) => {
      const x = this.x(ax.place(session)), y = this.y(ay.place(session));
      if (!Number.isFinite(x + y)) return;
      this.stroke(context, session);
      context.setLineDash([]);
      context.beginPath();
      context.arc(x, y, i === this.at ? 9 : 6, 0, 7);
      context.fill();
      context.strokeStyle = cssColour(i === this.at ? '--text' : '--card');
      context.lineWidth = i === this.at ? 3 : 1;
      context.stroke();
    });
  }
}
