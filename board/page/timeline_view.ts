// The threads of a recording on a canvas: from left to right the time, from top to bottom processes,
// their threads, and the lanes of each thread. The keys W and S zoom, A and D move, the mouse and
// fingers do both; the arrow keys go from slice to slice. What lies in the window is asked of the
// server, a little more than is seen, and drawn as soon as it comes; until then what is there already
// is drawn at its new place.
import {isDark} from './chart';
import {beginDrawing, cssColour, element} from './dom';
import {followPointers, Point} from './pointers';
import {Arrow, fetchArrows, fetchWindow, groupOf, Item, Lane, nameOf, Piece, processName, Trace, threadOf} from './timeline_data';

const PENDING_MS = 500;
const ARROW_WIDTH = 120, MOST_ARROWS = 12, NEAR = 6;  // an arrow for so many pixels; what the mouse is near to
const GUTTER = 150, LANE = 15, RULER = 22, HEADING = 18, GAP = 5, LEAST_NS = 100;
const UNITS: Record<number, string> = {1: 'ns', 1e3: 'µs', 1e6: 'ms', 1e9: 's'};
const FONT = '11px system-ui, sans-serif';
// Pale on a light ground, deep on a dark one, so that the text on them has contrast.
const KERNELS = {light: ['#cfe3f7', '#cdeede', '#f3ecbf', '#d9d6f5', '#d6ead0', '#cfeef2', '#ead9c8', '#e3d0f0'],
                 dark: ['#24476b', '#1d5a45', '#5c541c', '#453d7c', '#385a2f', '#1f565d', '#5b4630', '#563a70']};
const KINDS: Record<string, {light: string; dark: string}> = {
  'step': {light: '#dfe3ea', dark: '#394150'}, 'task': {light: '#ece4f6', dark: '#40354f'},
  'no work to do': {light: '#f0f0ee', dark: '#24272b'}, 'wait': {light: '#fbe0c4', dark: '#6b4519'},
  'lock': {light: '#ffc9c2', dark: '#80332a'}, 'memory': {light: '#f3d3e6', dark: '#6b3454'},
  'off core': {light: '#d2d2d2', dark: '#4a4d52'}, 'stream wait': {light: '#fbe0c4', dark: '#6b4519'},
  'loop': {light: '#dfe3ea', dark: '#394150'}, 'iteration': {light: '#e9ecdf', dark: '#3d4233'},
  'memory held': {light: '#f3d3e6', dark: '#6b3454'},
  'fetch': {light: '#d5e8ea', dark: '#29494c'}, 'encode': {light: '#bfe0d2', dark: '#25574a'},
  'decode': {light: '#bfe0d2', dark: '#25574a'}};

export interface Place { row: number; depth: number; item: Item }

export class TimelineView {
  readonly canvas = element('canvas', {class: 'timeline-canvas', tabindex: '0', role: 'img'});
  private trace: Trace | null = null;
  private tops: number[] = [];  // of rows, without the part that is scrolled away
  private height = 0;           // of all rows
  private begin = 0;
  private end = 1;
  private top = 0;
  private lanes: Lane[] = [];
  private asked = '';
  private whenSeen: (() => void) | null = null;  // what a key asked for before any lane had come
  private timer = 0;
  private waits = false;
  private path: Piece[] = [];
  private arrows: Arrow[] = [];  // of the window, the greatest first
  private arrow: Arrow | null = null;  // that is told
  private groups: string[] = [];  // of rows, where a group begins; else ''
  private selected: {row: number; depth: number; slice: number} | null = null;

  // |onWindow| is told of each window that the user chose, and |onArrows| of the arrows in it, and which of them is told.
  constructor(private readonly onSelect: (place: Place | null) => void, private readonly onStep: (by: number) => void,
              private readonly onFailure: (error: Error) => void, private readonly onWindow: (begin: number, end: number) => void,
              private readonly onArrows: (arrows: Arrow[], told: Arrow | null) => void) {
    const canvas = this.canvas;
    canvas.addEventListener('pointermove', event => {
      canvas.title = event.buttons ? '' : this.arrowAt(event.offsetX, event.offsetY)?.sentence || '';
    });
    canvas.onkeydown = event => this.onKey(event);
    followPointers(canvas, (last, now, [other]) => this.onMove(last, now, other), (x, y) => this.onSelect(this.placeAt(x, y)));
    canvas.ondblclick = event => {
      const place = this.placeAt(event.offsetX, event.offsetY);
      if (place) this.reveal(place.item.begin, place.item.end);
    };
    canvas.addEventListener('wheel', event => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.move((event.deltaX || event.deltaY) * this.nsPerPixel);
      else if (event.altKey || event.offsetX < GUTTER) this.scroll(event.deltaY);
      else this.zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.offsetX);
    }, {passive: false});
  }

  // ---- The window -------------------------------------------------------------------------------
  set(trace: Trace): void {
    this.trace = trace;
    [this.lanes, this.path, this.selected, this.top, this.asked, this.arrows, this.arrow] = [[], [], null, 0, '', [], null];
    [this.tops, this.groups] = [[], []];
    let y = 0;
    trace.rows.forEach((row, i) => {
      const isFirst = !i || row.process !== trace.rows[i - 1].process, group = groupOf(trace, i);
      const isAlone = trace.rows.every((r, k) => r.process !== row.process || groupOf(trace, k) === group);
      this.groups.push(!isAlone && (isFirst || group !== groupOf(trace, i - 1)) ? group : '');
      y += (isFirst ? HEADING : 0) + (this.groups[i] ? HEADING : 0);
      this.tops.push(y);
      y += Math.max(row.lanes, 1) * LANE + GAP;
    });
    this.height = y;
    this.reveal(0, trace.length, 1);
  }

  setPath(path: Piece[]): void {
    this.path = path;
    this.draw();
  }

  select(slice: {row: number; depth: number; slice: number; begin: number; end: number} | null): void {
    this.selected = slice;
    if (slice) {
      this.scrollTo(slice.row, slice.depth);
      if (slice.end < this.begin || slice.begin > this.end) this.move((slice.begin + slice.end - this.begin - this.end) / 2);
    }
    this.draw();
  }

  private scrollTo(row: number, depth: number): void {
    const y = this.tops[row] + depth * LANE, room = this.room();
    if (y < this.top || y + LANE > this.top + room) this.top = Math.max(0, Math.min(y - room / 2, this.height - room));
  }

  // Shows the time from |begin| to |end|, as |share| of the width, and |row|, if one is given.
  reveal(begin: number, end: number, share = 0.7, row = -1): void {
    if (row >= 0 && row < this.tops.length) this.scrollTo(row, 0);
    const length = Math.max((end - begin) / share, LEAST_NS);
    this.begin = (begin + end - length) / 2;
    this.end = this.begin + length;
    this.showsWindow();
  }

  get window(): [begin: number, end: number] { return [this.begin, this.end]; }

  // Shows the time from |begin| to |end| and tells nobody: another view chose it.
  follow(begin: number, end: number): void {
    [this.begin, this.end] = [begin, end];
    this.draw();
  }

  private showsWindow(): void {
    this.draw();
    this.onWindow(this.begin, this.end);
  }

  private get nsPerPixel(): number {
    return (this.end - this.begin) / Math.max(1, this.canvas.clientWidth - GUTTER);
  }

  private room(): number {
    return Math.max(1, this.canvas.clientHeight - RULER);
  }

  private move(ns: number): void {
    const length = this.end - this.begin, most = this.trace?.length || 1;
    this.begin = Math.min(Math.max(this.begin + ns, -length / 2), most - length / 2);
    this.end = this.begin + length;
    this.showsWindow();
  }

  private scroll(pixels: number): void {
    this.top = Math.max(0, Math.min(this.top + pixels, this.height - this.room()));
    this.draw();
  }

  private zoom(by: number, x = GUTTER + (this.canvas.clientWidth - GUTTER) / 2): void {
    const before = this.end - this.begin, most = 2 * (this.trace?.length || 1) + LEAST_NS;
    const length = Math.min(Math.max(before * by, LEAST_NS), most), at = this.timeAt(x);
    this.begin = at - (at - this.begin) * length / before;
    this.end = this.begin + length;
    this.showsWindow();
  }

  private timeAt(x: number): number {
    return this.begin + (x - GUTTER) * this.nsPerPixel;
  }

  private xAt(ns: number): number {
    return GUTTER + (ns - this.begin) / this.nsPerPixel;
  }

  private placeAt(x: number, y: number): Place | null {
    const at = y - RULER + this.top;
    if (x < GUTTER || y < RULER) return null;
    const ns = this.timeAt(x), near = 2 * this.nsPerPixel;
    for (const lane of this.lanes) {
      const top = this.tops[lane.row] + lane.depth * LANE;
      if (at < top || at >= top + LANE) continue;
      const item = lane.items.find(i => ns >= i.begin - near && ns <= i.end + near);
      if (item) return {row: lane.row, depth: lane.depth, item};
    }
    return null;
  }

  // ---- Keys and pointers ------------------------------------------------------------------------
  private onMove(last: Point, now: Point, other?: Point): void {
    if (other) {
      this.zoom((Math.abs(last.x - other.x) + 20) / (Math.abs(now.x - other.x) + 20), (now.x + other.x) / 2);
    } else {
      this.move((last.x - now.x) * this.nsPerPixel);
      this.scroll(last.y - now.y);
    }
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.trace) return;
    const length = this.end - this.begin, page = this.room() * 0.8;
    const keys: Record<string, () => void> = {
      w: () => this.zoom(0.6), s: () => this.zoom(1 / 0.6), a: () => this.move(-length / 5), d: () => this.move(length / 5),
      '+': () => this.zoom(0.6), '-': () => this.zoom(1 / 0.6), '0': () => this.reveal(0, this.trace!.length, 1),
      PageUp: () => this.scroll(-page), PageDown: () => this.scroll(page),
      ArrowLeft: () => this.selected ? this.onStep(-1) : this.selectMiddle(), ArrowRight: () => this.selected ? this.onStep(1) : this.selectMiddle(),
      n: () => this.tellNext(1), p: () => this.tellNext(-1),
      ArrowUp: () => this.selectLane(-1), ArrowDown: () => this.selectLane(1), Escape: () => this.onSelect(null)};
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    act();
    event.preventDefault();
  }

  private selectMiddle(): void {
    const seen = this.lanes.find(lane => lane.items.some(item => item.end > this.begin && item.begin < this.end));
    if (seen) this.selectNear(seen, (this.begin + this.end) / 2);
  }

  private selectNear(lane: Lane, ns: number): void {
    const away = (item: Item) => Math.max(item.begin - ns, ns - item.end, 0);
    const item = lane.items.reduce((best, i) => away(i) < away(best) ? i : best);
    this.onSelect({row: lane.row, depth: lane.depth, item});
  }

  // Selects in the next lane what lies nearest to what is selected.
  private selectLane(by: number): void {
    const now = this.selected;
    if (!this.lanes.length) return void (this.whenSeen = () => this.selectLane(by));
    if (!now) return this.selectMiddle();
    const at = this.lanes.findIndex(l => l.row === now.row && l.depth === now.depth);
    const item = this.lanes[at]?.items.find(i => now.slice >= i.slice && now.slice < i.slice + i.count);
    const next = this.lanes[at + by];
    if (next) this.selectNear(next, item ? (item.begin + item.end) / 2 : (this.begin + this.end) / 2);
  }

  // ---- Drawing ----------------------------------------------------------------------------------
  draw(): void {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.drawNow();
      this.ask();
    });
  }

  // Asks for what is seen and half as much on each side, when the window has rested for a moment.
  private ask(): void {
    const trace = this.trace, width = this.canvas.clientWidth - GUTTER;
    if (!trace || width < 1) return;
    const first = this.tops.findIndex((top, i) => (this.tops[i + 1] ?? this.height) > this.top);
    const rows = this.tops.filter(top => top < this.top + this.room()).length - Math.max(first, 0);
    const length = this.end - this.begin, wanted = [trace.file, this.begin, this.end, width, first, rows].join();
    if (wanted === this.asked) return;
    this.asked = wanted;
    this.canvas.setAttribute('aria-busy', 'true');
    this.canvas.title = '';
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      fetchWindow(trace.file, this.begin - length / 2, this.end + length / 2, Math.min(2 * width, 8000), Math.max(first, 0), rows)
        .then(lanes => {
          if (wanted !== this.asked) return;
          this.lanes = lanes;
          this.canvas.removeAttribute('aria-busy');
          this.draw();
          const act = this.whenSeen;
          this.whenSeen = null;
          if (act && lanes.length) act();
        }).catch(this.onFailure);
      this.askArrows();
    }, 30);
  }

  // Asks for the arrows of the window, again and again until the delays are found.
  private askArrows(): void {
    const trace = this.trace, wanted = this.asked, width = this.canvas.clientWidth - GUTTER;
    if (!trace || width < 1) return;
    fetchArrows(trace.file, this.begin, this.end, Math.max(1, Math.min(Math.floor(width / ARROW_WIDTH), MOST_ARROWS))).then(arrows => {
      if (wanted !== this.asked) return;
      if (!arrows) return void setTimeout(() => wanted === this.asked && this.askArrows(), PENDING_MS);
      const told = this.arrow;
      this.arrows = arrows;
      this.tell(told && arrows.find(a => a.begin === told.begin && a.row === told.row && a.cause === told.cause) || null);
    }).catch(this.onFailure);
  }

  // Draws |arrow| as the one that is told.
  tell(arrow: Arrow | null): void {
    this.arrow = arrow;
    this.onArrows(this.arrows, arrow);
    this.draw();
  }

  // Of the arrows of the window, from left to right.
  private tellNext(by: number): void {
    const order = [...this.arrows].sort((a, b) => a.end - b.end), at = this.arrow ? order.indexOf(this.arrow) : by > 0 ? -1 : 0;
    if (order.length) this.tell(order[(at + by + order.length) % order.length]);
  }

  // Where the middle of a row lies on the canvas.
  private middleOf(row: number): number {
    return RULER - this.top + this.tops[row] + Math.max((this.trace as Trace).rows[row].lanes, 1) * LANE / 2;
  }

  private arrowAt(x: number, y: number): Arrow | undefined {
    if (x < GUTTER || y < RULER) return undefined;
    return this.arrows.find(arrow => {
      const to = this.middleOf(arrow.row), from = arrow.from < 0 ? to : this.middleOf(arrow.from);
      const left = arrow.from < 0 ? this.xAt(arrow.begin) : this.xAt(arrow.end);
      return x >= left - NEAR && x <= this.xAt(arrow.end) + NEAR && y >= Math.min(from, to) - NEAR && y <= Math.max(from, to) + NEAR;
    });
  }

  private colourOf(item: Item): string {
    const trace = this.trace as Trace, {kind} = trace.names[item.name], theme = isDark() ? 'dark' : 'light';
    const colours = KINDS[trace.kinds[kind]];
    return colours ? colours[theme] : KERNELS[theme][item.name % KERNELS[theme].length];
  }

  private drawNow(): void {
    if (!this.canvas.clientWidth || !this.trace) return;
    const {context, width, height} = beginDrawing(this.canvas);
    context.font = FONT;
    context.textBaseline = 'middle';
    this.drawRuler(context, width, height);
    context.save();
    context.beginPath();
    context.rect(0, RULER, width, height - RULER);
    context.clip();
    context.translate(0, RULER - this.top);
    for (const lane of this.lanes) this.drawLane(context, lane, width);
    this.drawPath(context, width);
    context.translate(0, this.top - RULER);
    for (const arrow of this.arrows) this.drawArrow(context, arrow, width);
    context.translate(0, RULER - this.top);
    this.drawNames(context);
    context.restore();
  }

  private drawLane(context: CanvasRenderingContext2D, lane: Lane, width: number): void {
    const y = this.tops[lane.row] + lane.depth * LANE, text = cssColour('--text');
    if (y + LANE < this.top || y > this.top + this.room()) return;
    for (const item of lane.items) {
      const left = Math.max(this.xAt(item.begin), GUTTER), right = Math.min(this.xAt(item.end), width);
      if (right < GUTTER || left > width || right < left) continue;
      context.fillStyle = this.colourOf(item);
      // What covers little of its time is pale.
      context.globalAlpha = item.count === 1 ? 1 : 0.35 + 0.65 * Math.min(1, item.covered / (item.end - item.begin || 1));
      context.fillRect(left, y, Math.max(right - left, 1), LANE - 1);
      context.globalAlpha = 1;
      if (right - left > 24 && item.count === 1) this.drawText(context, nameOf(this.trace as Trace, item.name), left + 3, y + LANE / 2, right - left - 6, text);
      if (this.isSelected(lane, item)) {
        context.strokeStyle = cssColour('--accent');
        context.lineWidth = 2;
        context.strokeRect(left, y, Math.max(right - left, 2), LANE - 1);
      }
    }
  }

  private isSelected(lane: Lane, item: Item): boolean {
    const now = this.selected;
    return !!now && now.row === lane.row && now.depth === lane.depth && now.slice >= item.slice && now.slice < item.slice + item.count;
  }

  private drawText(context: CanvasRenderingContext2D, text: string, x: number, y: number, room: number, colour: string): void {
    const width = context.measureText(text).width;
    const shown = width <= room ? text : text.slice(0, Math.max(0, Math.floor(text.length * room / width) - 2)) + '…';
    if (shown.length < 3) return;
    context.fillStyle = colour;
    context.fillText(shown, x, y);
  }

  // The critical path is a line at the feet of the rows that it runs through.
  private drawPath(context: CanvasRenderingContext2D, width: number): void {
    context.strokeStyle = cssColour('--accent');
    context.lineWidth = 2;
    context.beginPath();
    let last: [number, number] | null = null;
    for (const [begin, end, row] of this.path) {
      const left = Math.max(this.xAt(begin), GUTTER), right = Math.min(this.xAt(end), width);
      if (right < GUTTER || left > width) continue;
      const y = this.tops[row] + Math.max((this.trace as Trace).rows[row].lanes, 1) * LANE + 1;
      if (last && last[1] !== y) context.lineTo(left, y);
      else context.moveTo(left, y);
      context.lineTo(right, y);
      last = [right, y];
    }
    context.stroke();
  }

  // From the row that is to blame to the one that waited, where the delay ends, and a bracket over the delay. What costs more is
  // thicker, and the one that is told has another colour.
  private drawArrow(context: CanvasRenderingContext2D, arrow: Arrow, width: number): void {
    const x = this.xAt(arrow.end), left = Math.max(this.xAt(arrow.begin), GUTTER), to = this.middleOf(arrow.row), isTold = arrow === this.arrow;
    if (x < GUTTER || left > width) return;
    context.strokeStyle = context.fillStyle = cssColour(isTold ? '--accent' : '--text');
    context.lineWidth = 1 + 2 * arrow.ns / (this.arrows[0].ns || 1) + (isTold ? 1 : 0);
    context.beginPath();
    context.moveTo(left, to - 4);
    context.lineTo(left, to);
    context.lineTo(Math.min(x, width), to);
    if (arrow.from >= 0) {
      const from = this.middleOf(arrow.from), back = from < to ? -6 : 6;
      context.moveTo(x, from);
      context.lineTo(x, to);
      context.moveTo(x - 4, to + back);
      context.lineTo(x, to);
      context.lineTo(x + 4, to + back);
    }
    context.stroke();
  }

  private drawNames(context: CanvasRenderingContext2D): void {
    const trace = this.trace as Trace;
    context.fillStyle = cssColour('--card');
    context.fillRect(0, this.top, GUTTER - 4, this.room());
    trace.rows.forEach((row, i) => {
      const y = this.tops[i], isFirst = !i || row.process !== trace.rows[i - 1].process;
      if (this.groups[i]) this.drawText(context, this.groups[i], 7, y - HEADING / 2, GUTTER - 15, cssColour('--soft'));
      if (isFirst) {
        this.drawText(context, processName(trace, row.process), 4, y - HEADING * (this.groups[i] ? 1.5 : 0.5), GUTTER - 12, cssColour('--soft'));
      }
      this.drawText(context, threadOf(trace, i), 10, y + LANE / 2, GUTTER - 18, cssColour('--text'));
    });
  }

  private drawRuler(context: CanvasRenderingContext2D, width: number, height: number): void {
    context.fillStyle = cssColour('--soft');
    context.strokeStyle = cssColour('--grid');
    context.lineWidth = 1;
    const {step, label} = this.ruler(text => context.measureText(text).width);
    for (let n = Math.ceil(this.begin / step); n * step < this.end; ++n) {
      const x = this.xAt(n * step), text = label(n * step);
      context.beginPath();
      context.moveTo(x, RULER - 6);
      context.lineTo(x, height);
      context.stroke();
      if (x + 3 + context.measureText(text).width <= width) context.fillText(text, x + 3, RULER / 2);
    }
  }

  // The time between two marks of the ruler, and what stands at them. All have one unit, and as many digits
  // as tell them apart; a mark has room for its label, however long the recording is.
  private ruler(widthOf: (text: string) => number): {step: number; label: (ns: number) => string} {
    const unit = [1e9, 1e6, 1e3, 1].find(u => this.end - this.begin >= u / 10) || 1;
    for (let power = 10 ** Math.floor(Math.log10(90 * this.nsPerPixel)); ; power *= 10) {
      for (const step of [power, 2 * power, 5 * power]) {
        const digits = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
        const label = (ns: number) => `${(ns / unit).toFixed(digits).replace('-', '−')} ${UNITS[unit]}`;
        const widest = Math.max(widthOf(label(this.begin)), widthOf(label(this.end)));
        if (step >= Math.max(90, widest + 12) * this.nsPerPixel) return {step, label};
      }
    }
  }
}
