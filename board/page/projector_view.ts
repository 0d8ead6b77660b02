// The points of a projection on a canvas. In three dimensions the mouse turns them, in two it moves
// them; the wheel and the keys plus and minus zoom, and square brackets turn. The arrow keys go
// through the points. What is nearer to the eye is larger and drawn later.
import {keyCursor} from './cards';
import {isDark, setStroke} from './chart';
import {beginDrawing, cssColour, element} from './dom';
import type {Projection} from './projector_data';

export interface Look {
  styles: Uint16Array | null;   // a colour and a shape for each point, or
  shades: Float32Array | null;  // a place between two colours
  marked: Set<number>;          // points that are named, the selected one's neighbours among them
  selected: number;
  name(point: number): string;
  sprite?: {image: HTMLImageElement; width: number; height: number; row(point: number): number} | null;
}

const COLOURS = 8, NAMES = 30;

// The path of a point: a disc, a square or a triangle.
function tracePoint(context: CanvasRenderingContext2D, shape: number, x: number, y: number, size: number): void {
  context.beginPath();
  if (shape === 0) context.arc(x, y, size, 0, 7);
  else if (shape === 1) context.rect(x - size, y - size, 2 * size, 2 * size);
  else {
    context.moveTo(x, y - 1.3 * size);
    context.lineTo(x + 1.3 * size, y + size);
    context.lineTo(x - 1.3 * size, y + size);
  }
}

const shapeOf = (style: number) => Math.floor(style / COLOURS) % 3;

// A point of a style, for a legend.
export function signOf(style: number): HTMLCanvasElement {
  const canvas = element('canvas', {class: 'sign', width: '32', height: '32', 'aria-hidden': 'true'});
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  setStroke(context, style % COLOURS);
  tracePoint(context, shapeOf(style), 16, 16, 10);
  context.fill();
  return canvas;
}

export class ProjectorView {
  readonly canvas = element('canvas', {class: 'projector-canvas', tabindex: '0', role: 'img'});
  private projection: Projection | null = null;
  private look: Look | null = null;
  private turn = [0.6, 0.35];  // about the vertical and the horizontal axis
  private shift = [0, 0];
  private zoom = 1;
  private middle = [0, 0, 0];
  private extent = 1;
  private places = new Float32Array(0);  // x, y and nearness of each point on the canvas
  private dragged: [number, number] | null = null;
  private moved = 0;

  constructor(private readonly onSelect: (point: number) => void, private readonly onHover: (point: number) => void) {
    const canvas = this.canvas;
    keyCursor(canvas, () => this.projection?.rows || 0, at => at !== null && this.onSelect(at));
    canvas.addEventListener('keydown', event => this.onKey(event));
    canvas.onpointerdown = event => {
      canvas.setPointerCapture(event.pointerId);
      [this.dragged, this.moved] = [[event.offsetX, event.offsetY], 0];
    };
    canvas.onpointermove = event => {
      if (!this.dragged) return this.onHover(this.at(event.offsetX, event.offsetY));
      const [dx, dy] = [event.offsetX - this.dragged[0], event.offsetY - this.dragged[1]];
      this.dragged = [event.offsetX, event.offsetY];
      this.moved += Math.abs(dx) + Math.abs(dy);
      if (this.projection?.dims === 3) this.turn = [this.turn[0] + dx / 150, this.turn[1] + dy / 150];
      else this.shift = [this.shift[0] + dx, this.shift[1] + dy];
      this.draw();
    };
    canvas.onpointerup = event => {
      if (this.moved < 4) this.onSelect(this.at(event.offsetX, event.offsetY));
      this.dragged = null;
    };
    canvas.addEventListener('wheel', event => {
      event.preventDefault();
      this.zoomBy(event.deltaY < 0 ? 1.15 : 1 / 1.15);
    }, {passive: false});
  }

  set(projection: Projection): void {
    this.projection = projection;
    [this.shift, this.zoom] = [[0, 0], 1];
    const {points, rows, dims} = projection, low = [0, 0, 0].fill(Infinity), high = [0, 0, 0].fill(-Infinity);
    for (let i = 0; i < rows * dims; ++i) {
      if (!Number.isFinite(points[i])) continue;
      low[i % dims] = Math.min(low[i % dims], points[i]);
      high[i % dims] = Math.max(high[i % dims], points[i]);
    }
    this.middle = low.map((l, d) => Number.isFinite(l) ? (l + high[d]) / 2 : 0);
    this.extent = Math.max(...low.map((l, d) => Number.isFinite(l) ? high[d] - l : 0)) || 1;
    this.places = new Float32Array(rows * 3);
  }

  show(look: Look): void {
    this.look = look;
    this.draw();
  }

  private zoomBy(factor: number): void {
    this.zoom = Math.min(Math.max(this.zoom * factor, 0.2), 50);
    this.draw();
  }

  private onKey(event: KeyboardEvent): void {
    const turns: Record<string, [number, number]> = {'[': [-0.15, 0], ']': [0.15, 0], '{': [0, -0.15], '}': [0, 0.15]};
    if (event.key === '+' || event.key === '=') this.zoomBy(1.25);
    else if (event.key === '-') this.zoomBy(0.8);
    else if (event.key === '0') [this.zoom, this.shift, this.turn] = [1, [0, 0], [0.6, 0.35]];
    else if (event.key in turns) this.turn = this.turn.map((t, i) => t + turns[event.key][i]);
    else return;
    this.draw();
  }

  private at(x: number, y: number): number {
    let best = -1, least = 12;
    for (let i = 0; i * 3 < this.places.length; ++i) {
      const away = Math.hypot(this.places[3 * i] - x, this.places[3 * i + 1] - y);
      if (away < least) [best, least] = [i, away];
    }
    return best;
  }

  // Where the points are on a canvas of this size.
  private place(width: number, height: number): void {
    const {points, rows, dims} = this.projection as Projection;
    const scale = Math.min(width, height) * 0.8 / this.extent * this.zoom;
    const [s0, c0, s1, c1] = [Math.sin(this.turn[0]), Math.cos(this.turn[0]), Math.sin(this.turn[1]), Math.cos(this.turn[1])];
    for (let i = 0; i < rows; ++i) {
      let x = points[i * dims] - this.middle[0], y = points[i * dims + 1] - this.middle[1], z = 0;
      if (dims === 3) {
        z = points[i * dims + 2] - this.middle[2];
        [x, z] = [c0 * x + s0 * z, c0 * z - s0 * x];
        [y, z] = [c1 * y - s1 * z, c1 * z + s1 * y];
      }
      const near = 1 / (1 - z / this.extent / 2.5);
      this.places.set([width / 2 + this.shift[0] + x * scale * near, height / 2 + this.shift[1] - y * scale * near, near], 3 * i);
    }
  }

  private colour(context: CanvasRenderingContext2D, point: number): number {
    const {styles, shades} = this.look as Look;
    setStroke(context, styles ? styles[point] % COLOURS : 0);
    if (shades) {
      const share = shades[point], hue = 250 - 210 * share;
      context.fillStyle = Number.isFinite(share) ? `hsl(${hue} 75% ${isDark() ? 45 + 25 * share : 35 + 10 * share}%)` : cssColour('--soft');
    }
    return styles ? shapeOf(styles[point]) : 0;
  }

  draw(): void {
    if (!this.projection || !this.look || !this.canvas.isConnected) return;
    const {context, width, height} = beginDrawing(this.canvas), {rows, dims} = this.projection, look = this.look;
    this.place(width, height);
    const order = Uint32Array.from({length: rows}, (_, i) => i);
    if (dims === 3) order.sort((a, b) => this.places[3 * a + 2] - this.places[3 * b + 2]);
    const radius = Math.max(2, Math.min(5, 120 / Math.sqrt(rows)));
    const isMarking = look.marked.size > 0;
    for (const i of order) {
      const [x, y, near] = this.places.subarray(3 * i, 3 * i + 3), size = radius * near;
      if (!Number.isFinite(x + y) || x < -20 || y < -20 || x > width + 20 || y > height + 20) continue;
      context.globalAlpha = isMarking && !look.marked.has(i) ? 0.2 : 0.85;
      const shape = this.colour(context, i);
      if (look.sprite) {
        const {image, width: w, height: h, row} = look.sprite, perRow = Math.max(1, Math.floor(image.naturalWidth / w));
        const at = row(i), side = Math.max(14, size * 6);
        context.drawImage(image, at % perRow * w, Math.floor(at / perRow) * h, w, h, x - side / 2, y - side * h / w / 2, side, side * h / w);
        continue;
      }
      tracePoint(context, shape, x, y, size);
      context.fill();
    }
    context.globalAlpha = 1;
    this.drawNames(context, look);
  }

  private drawNames(context: CanvasRenderingContext2D, look: Look): void {
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.setLineDash([]);
    context.lineJoin = 'round';
    for (const i of [...look.marked].slice(0, NAMES)) {
      const [x, y] = this.places.subarray(3 * i, 3 * i + 2), text = look.name(i).slice(0, 40);
      context.strokeStyle = cssColour('--card');
      context.lineWidth = 4;
      context.strokeText(text, x + 8, y);
      context.fillStyle = cssColour('--text');
      context.fillText(text, x + 8, y);
    }
    if (look.selected < 0) return;
    const [x, y] = this.places.subarray(3 * look.selected, 3 * look.selected + 2);
    context.beginPath();
    context.arc(x, y, 9, 0, 7);
    context.strokeStyle = cssColour('--text');
    context.lineWidth = 2;
    context.stroke();
  }
}
