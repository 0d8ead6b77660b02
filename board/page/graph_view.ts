// The drawing of a graph on a canvas: what is open, seen through a window that is moved and zoomed.
// Only what lies in the window is drawn, and text only where it is large enough to be read.
import {isDark} from './chart';
import {beginDrawing, cssColour} from './dom';
import {Box, Drawing, Kind, Level, Link, Values} from './graph_data';
import {followPointers, Point} from './pointers';
import {countOf, formatBytes, formatNanoseconds, formatNumber} from './words';

// Pale on a light ground, deep on a dark one, so that the text on them has contrast.
const LIGHT = ['#cfe3f7', '#fbe0c4', '#cdeede', '#f3d3e6', '#f3ecbf', '#d9d6f5', '#ffd5d0', '#d6ead0',
               '#cfeef2', '#ead9c8', '#e4e4e4', '#e3d0f0'];
const DARK = ['#24476b', '#6b4519', '#1d5a45', '#6b3454', '#5c541c', '#453d7c', '#71362f', '#385a2f',
              '#1f565d', '#5b4630', '#4a4d52', '#563a70'];

// What a stage did with nodes, in the order of CHANGES, and what holds several of these: indices of
// the colours, and signs, so that colours are not all that tells them apart.
const CHANGE_COLOURS = [2, 6, 4, 0], MIXED_COLOUR = 11;
const CHANGE_SIGNS = ['★ ', '✕ ', '≈ ', '➜ '];
const GONE = 1, GOOD_COLOUR = 2, BAD_COLOUR = 6, FUSED_COLOUR = 4;
const FUSED_SIGN = '◆ ';

export type ColourBy = 'structure' | 'device' | 'kind' | 'op' | 'fused' | 'time' | 'memory' | 'change' | 'health' |
  'magnitude';

const FONT = '12px system-ui, sans-serif';
const SMALL = '10px system-ui, sans-serif';

export class GraphView {
  private scale = 1;
  private left = 0;  // of the window, in the drawing
  private top = 0;
  private width = 1;
  private height = 1;
  private context!: CanvasRenderingContext2D;
  private waits = false;
  drawing: Drawing | null = null;
  selected = 0;
  colourBy: ColourBy = 'structure';
  // By op, given when it is first drawn, so that no colour changes when a scope opens.
  private readonly opColours = new Map<string, number>();

  constructor(readonly canvas: HTMLCanvasElement, private readonly onSelect: (item: number) => void,
              private readonly onToggle: (item: number) => void) {
    canvas.onwheel = event => {
      event.preventDefault();
      const zoom = Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015));
      this.zoom(zoom, event.offsetX, event.offsetY);
    };
    followPointers(canvas, (last, now, others) => this.onMove(last, now, others),
                   (x, y) => this.onSelect(this.boxAt(x, y)?.item || 0));
    canvas.ondblclick = event => {
      const box = this.boxAt(event.offsetX, event.offsetY);
      if (box && box.kind !== Kind.Node) this.onToggle(box.item);
    };
  }

  // One finger or the mouse moves the window, two fingers zoom.
  private onMove(last: Point, now: Point, others: Point[]): void {
    if (others.length === 1) {
      const before = Math.hypot(last.x - others[0].x, last.y - others[0].y);
      const after = Math.hypot(now.x - others[0].x, now.y - others[0].y);
      this.zoom(after / (before || 1), (now.x + others[0].x) / 2, (now.y + others[0].y) / 2);
    } else {
      this.left -= (now.x - last.x) / this.scale;
      this.top -= (now.y - last.y) / this.scale;
    }
    this.draw();
  }

  zoom(by: number, x = this.width / 2, y = this.height / 2): void {
    const scale = Math.min(Math.max(this.scale * by, 0.02), 4);
    this.left += x / this.scale - x / scale;
    this.top += y / this.scale - y / scale;
    this.scale = scale;
    this.draw();
  }

  // The whole drawing, or one box with what is in it, fills the window.
  fit(box?: Box): void {
    const whole = this.drawing?.levels[0];
    const on = box || (whole && {x: 0, y: 0, width: whole.width, height: whole.height});
    if (!on) return;
    this.measure();
    const most = box ? 1.25 : 1.5;
    this.scale = Math.min((this.width - 48) / on.width, (this.height - 48) / on.height, most);
    this.scale = Math.max(this.scale, 0.02);
    this.left = on.x + on.width / 2 - this.width / 2 / this.scale;
    this.top = on.y + on.height / 2 - this.height / 2 / this.scale;
    this.draw();
  }

  // Moves the window as little as is needed to show |box|.
  reveal(box: Box): void {
    this.measure();
    if (this.scale < 0.5) this.zoom(0.8 / this.scale);
    const margin = 30 / this.scale, width = this.width / this.scale, height = this.height / this.scale;
    const into = (start: number, size: number, from: number, room: number) =>
      size + 2 * margin > room || start - margin < from ? start - margin
        : start + size + margin > from + room ? start + size + margin - room : from;
    this.left = into(box.x, box.width, this.left, width);
    this.top = into(box.y, box.height, this.top, height);
    this.draw();
  }

  // Shows |drawing|; the box |item| stays where it is on the screen.
  set(drawing: Drawing, item: number): void {
    const before = this.drawing?.boxes.get(item), after = drawing.boxes.get(item);
    const isFirst = !this.drawing;
    this.drawing = drawing;
    if (before && after) {
      this.left += after.x + after.width / 2 - before.x - before.width / 2;
      this.top += after.y - before.y;
    }
    if (isFirst) this.fit();
    else this.draw();
  }

  private measure(): void {
    this.width = this.canvas.clientWidth || 1;
    this.height = this.canvas.clientHeight || 1;
  }

  private boxAt(x: number, y: number): Box | null {
    const at = {x: this.left + x / this.scale, y: this.top + y / this.scale};
    // Inner levels come later, and lie above those that hold them.
    for (const level of [...this.drawing?.levels || []].reverse()) {
      for (const box of level.boxes) {
        if (at.x >= box.x && at.x <= box.x + box.width && at.y >= box.y &&
            at.y <= box.y + box.height) return box;
      }
    }
    return null;
  }

  // ---- Drawing ----------------------------------------------------------------------------------
  draw(): void {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.drawNow();
    });
  }

  private isSeen(x: number, y: number, width: number, height: number): boolean {
    return x < this.left + this.width / this.scale && x + width > this.left &&
      y < this.top + this.height / this.scale && y + height > this.top;
  }

  private drawNow(): void {
    if (!this.canvas.clientWidth) return;
    this.measure();
    const {context} = beginDrawing(this.canvas);
    this.context = context;
    context.scale(this.scale, this.scale);
    context.translate(-this.left, -this.top);
    context.lineJoin = 'round';
    for (const level of this.drawing?.levels || []) {
      if (this.isSeen(level.x, level.y - 40, level.width, level.height + 80)) this.drawLevel(level);
    }
    const selected = this.drawing?.boxes.get(this.selected);
    if (selected) this.drawSelection(selected);
  }

  private drawLevel(level: Level): void {
    if (level.parent) this.drawBridges(level, level.parent);
    for (const link of level.links) this.drawLink(link, cssColour('--edge'), 1);
    for (const box of level.boxes) {
      if (this.isSeen(box.x, box.y, box.width, box.height)) this.drawBox(box);
    }
  }

  // Lines from the border of an open box to what it gets from outside, and from what goes there.
  private drawBridges(level: Level, parent: Box): void {
    const context = this.context, middle = parent.x + parent.width / 2;
    context.strokeStyle = cssColour('--edge');
    context.lineWidth = 1;
    context.globalAlpha = 0.35;
    context.setLineDash([1, 3]);
    context.beginPath();
    for (const box of level.boxes) {
      const x = box.x + box.width / 2, far = parent.y + parent.height;
      if (box.entering) {
        context.moveTo(middle, parent.y);
        context.bezierCurveTo(middle, parent.y + 20, x, box.y - 40, x, box.y);
      }
      if (box.leaving) {
        context.moveTo(x, box.y + box.height);
        context.bezierCurveTo(x, box.y + box.height + 40, middle, far - 20, middle, far);
      }
    }
    context.stroke();
    context.globalAlpha = 1;
    context.setLineDash([]);
  }

  private drawLink(link: Link, colour: string, wider: number): void {
    const p = link.points, context = this.context;
    if (p.length < 4) return;
    let [x0, x1] = [p[0], p[0]];
    for (let i = 0; i < p.length; i += 2) {
      x0 = Math.min(x0, p[i]);
      x1 = Math.max(x1, p[i]);
    }
    const [y0, y1] = [Math.min(p[1], p[p.length - 1]), Math.max(p[1], p[p.length - 1])];
    if (!this.isSeen(x0, y0, x1 - x0 + 1, y1 - y0 + 1)) return;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = (0.8 + Math.min(Math.log2(link.count), 8) * 0.45) * wider;
    context.setLineDash(link.controls === link.count ? [4, 3] : []);
    context.beginPath();
    context.moveTo(p[0], p[1]);
    // Between two points the line is upright at both ends.
    for (let i = 2; i < p.length; i += 2) {
      const middle = (p[i - 1] + p[i + 1]) / 2;
      context.bezierCurveTo(p[i - 2], middle, p[i], middle, p[i], p[i + 1]);
    }
    context.stroke();
    context.setLineDash([]);
    const [x, y] = [p[p.length - 2], p[p.length - 1]], up = p[p.length - 3] > y ? -1 : 1;
    context.beginPath();
    context.moveTo(x, y);
    const size = 6 + context.lineWidth;
    context.lineTo(x - size / 2, y - size * up);
    context.lineTo(x + size / 2, y - size * up);
    context.fill();
    const text = link.count > 1 ? `${link.count}` : link.shape;
    if (text && this.scale > 0.7) this.drawLinkText(text, p);
  }

  private drawLinkText(text: string, p: number[]): void {
    const context = this.context, at = Math.max(0, Math.floor(p.length / 4) * 2 - 2);
    const x = (p[at] + p[at + 2]) / 2, y = (p[at + 1] + p[at + 3]) / 2;
    context.font = SMALL;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.lineWidth = 3;
    context.strokeStyle = cssColour('--ground');
    context.strokeText(text, x, y);
    context.fillStyle = cssColour('--soft');
    context.fillText(text, x, y);
  }

  colourOf(box: Box): string {
    const colours = isDark() ? DARK : LIGHT;
    if (this.colourBy === 'device') {
      return box.device < 0 ? cssColour('--card') : colours[box.device % colours.length];
    }
    if (this.colourBy === 'kind') return colours[box.kind];
    if (this.colourBy === 'op') {
      return box.kind === Kind.Node ? colours[this.opColour(box.op) % colours.length] : cssColour('--card');
    }
    if (this.colourBy === 'fused') return box.fused ? colours[FUSED_COLOUR] : cssColour('--card');
    if (this.colourBy === 'time' || this.colourBy === 'memory') return this.heatOf(box);
    if (this.colourBy === 'change') {
      const found = changesOf(box);
      return !found.length ? cssColour('--card') : colours[found.length > 1 ? MIXED_COLOUR : CHANGE_COLOURS[found[0]]];
    }
    if (this.colourBy === 'health') {
      return !box.values?.outputs ? cssColour('--card') : colours[box.values.bad ? BAD_COLOUR : GOOD_COLOUR];
    }
    if (this.colourBy === 'magnitude') return this.magnitudeOf(box);
    if (box.kind === Kind.Node) return cssColour('--card');
    return box.structure ? colours[(box.structure - 1) % colours.length] : cssColour('--neutral');
  }

  private opColour(op: string): number {
    const found = this.opColours.get(op) ?? this.opColours.size;
    this.opColours.set(op, found);
    return found;
  }

  // The share of the whole, as a mixture of the ground with a warm colour; the square root lets small
  // shares be seen.
  private heatOf(box: Box): string {
    const amount = (b: Box) => this.colourBy === 'time' ? b.time : b.bytes;
    const whole = this.drawing!.levels[0].boxes.reduce((sum, b) => sum + amount(b), 0);
    const share = whole ? Math.sqrt(amount(box) / whole) : 0;
    const [cold, warm] = isDark() ? [[31, 34, 38], [150, 66, 20]] : [[255, 255, 255], [255, 170, 100]];
    return `rgb(${cold.map((c, i) => Math.round(c + (warm[i] - c) * share)).join(',')})`;
  }

  // By the power of ten of the greatest magnitude: blue from 10^-6 on, orange up to 10^6.
  private magnitudeOf(box: Box): string {
    if (!box.values?.outputs) return cssColour('--card');
    const power = box.values.most > 0 ? Math.min(Math.max(Math.log10(box.values.most) / 6, -1), 1) : -1;
    const middle = isDark() ? [31, 34, 38] : [255, 255, 255];
    const end = power < 0 ? (isDark() ? [24, 74, 130] : [150, 195, 245]) : (isDark() ? [150, 66, 20] : [255, 170, 100]);
    return `rgb(${middle.map((c, i) => Math.round(c + (end[i] - c) * Math.abs(power))).join(',')})`;
  }

  // The second line of a closed scope.
  private amountOf(box: Box): string {
    if (this.colourBy === 'change') {
      return changesOf(box).map(i => CHANGE_SIGNS[i].trim() + box.changes![i]).join(' ') || 'the same';
    }
    if (this.colourBy === 'health' || this.colourBy === 'magnitude') return valueText(box.values);
    if (this.colourBy === 'fused') return box.fused ? FUSED_SIGN + `${box.fused} of ${box.nodes}` : 'none fused';
    if (this.colourBy === 'time') return box.time ? formatNanoseconds(box.time) : '–';
    if (this.colourBy === 'memory') return box.bytes ? formatBytes(box.bytes) : '–';
    return countOf(box.nodes, 'node');
  }

  private outline(box: Box, grow = 0): void {
    const radius = box.kind === Kind.Node ? Math.min(13, box.height / 2) : 7;
    this.context.beginPath();
    this.context.roundRect(box.x - grow, box.y - grow, box.width + 2 * grow, box.height + 2 * grow,
                           radius + grow);
  }

  private drawBox(box: Box): void {
    const context = this.context;
    context.fillStyle = this.colourOf(box);
    context.strokeStyle = cssColour('--axis');
    context.lineWidth = box.kind === Kind.Function ? 2 : 1;
    if (box.kind === Kind.Series || box.kind === Kind.List) {
      // Two edges behind it say that there are several.
      for (const shift of box.isOpen ? [] : [6, 3]) {
        context.beginPath();
        context.roundRect(box.x + shift, box.y + shift, box.width - 3, box.height - 3, 7);
        context.fill();
        context.stroke();
      }
    }
    const isGone = box.kind === Kind.Node && !!box.changes?.[GONE];
    context.setLineDash(box.isAside ? [5, 3] : isGone ? [3, 3] : box.kind === Kind.List ? [2, 2] : []);
    this.outline(box);
    if (box.isOpen) {
      context.fillStyle = cssColour('--ground');
      context.fill();
      context.save();
      context.clip();
      context.fillStyle = this.colourOf(box);
      context.fillRect(box.x, box.y, box.width, 24);
      context.restore();
      this.outline(box);
    } else {
      context.fill();
    }
    context.stroke();
    context.setLineDash([]);
    if (this.scale * 12 >= 5) this.drawText(box);
  }

  private drawText(box: Box): void {
    const context = this.context, closed = !box.isOpen && box.kind !== Kind.Node;
    const middle = box.x + box.width / 2;
    const y = box.isOpen ? box.y + 12 : box.y + (closed ? 14 : box.height / 2);
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.font = FONT;
    context.fillStyle = cssColour('--text');
    const change = box.kind === Kind.Node ? changesOf(box)[0] : undefined;
    const isBad = box.kind === Kind.Node && !!box.values?.bad;
    const isFused = this.colourBy === 'fused' && box.kind === Kind.Node && !!box.fused;
    const sign = isFused ? FUSED_SIGN : change !== undefined ? CHANGE_SIGNS[change] : isBad ? '⚠ '
      : box.kind === Kind.Node ? '' : box.isOpen ? '− ' : '+ ';
    context.fillText(sign + this.shorten(box.label, box.width - (closed || box.isOpen ? 28 : sign ? 22 : 14)), middle, y);
    const below = this.colourBy === 'op' ? box.op : box.values?.outputs ? valueText(box.values) : '';
    if (!closed && box.kind === Kind.Node && below && this.scale > 0.7) this.drawBelow(box, below);
    if (!closed) return;
    context.font = SMALL;
    context.fillStyle = cssColour('--soft-on-colour');
    context.fillText(this.shorten(this.amountOf(box), box.width - 6), middle, box.y + 28);
  }

  // Below a node, its op, or what its outputs hold.
  private drawBelow(box: Box, text: string): void {
    const context = this.context;
    const x = box.x + box.width / 2, y = box.y + box.height + 7;
    context.font = SMALL;
    context.lineWidth = 3;
    context.strokeStyle = cssColour('--ground');
    context.strokeText(text, x, y);
    context.fillStyle = cssColour('--soft');
    context.fillText(text, x, y);
  }

  // The end of a name says more than its beginning, hence the middle goes.
  private shorten(text: string, room: number): string {
    if (this.context.measureText(text).width <= room) return text;
    let keep = Math.floor(text.length * room / this.context.measureText(text).width) - 1;
    for (; keep > 2; --keep) {
      const half = Math.floor(keep / 2);
      const short = text.slice(0, keep - half) + '…' + text.slice(text.length - half);
      if (this.context.measureText(short).width <= room) return short;
    }
    return text.slice(0, 2) + '…';
  }

  // The selected box's frame, and its links over all others, those that stand aside too.
  private drawSelection(box: Box): void {
    const context = this.context, accent = cssColour('--accent');
    for (const link of box.level.links) {
      if (link.from !== box && link.to !== box) continue;
      if (link.points.length) {
        this.drawLink(link, accent, 1.6);
        continue;
      }
      const from = link.from, to = link.to;
      context.strokeStyle = accent;
      context.lineWidth = 1;
      context.setLineDash([6, 3]);
      context.beginPath();
      context.moveTo(from.x + from.width / 2, from.y + from.height);
      context.lineTo(to.x + to.width / 2, to.y);
      context.stroke();
    }
    context.setLineDash([]);
    context.strokeStyle = accent;
    context.lineWidth = Math.max(2.5, 2.5 / this.scale);
    this.outline(box, 2);
    context.stroke();
  }
}

// The kinds of changes in |box|: indices of CHANGES.
function changesOf(box: Box): number[] {
  return [0, 1, 2, 3].filter(i => box.changes?.[i]);
}

// What the outputs in a box hold, in few letters.
function valueText(values: Values | null): string {
  if (!values?.outputs) return '–';
  return values.bad ? `${values.bad} NaN, ∞` : '≤ ' + formatNumber(values.most);
}
