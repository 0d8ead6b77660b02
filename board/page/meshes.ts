// The page of meshes: a card for each run, mesh and sample. Faces are drawn from the farthest to the
// nearest, each in the mean of its corners' colours and lit from the front; without faces the corners
// are points. The mouse or the arrow keys turn a mesh, the wheel, plus and minus zoom.
import {Card, CardFrame, isNear, shortName} from './cards';
import {address, beginDrawing, cssColour, element, getJson, table} from './dom';
import {Loader, RunItem, RunPage, StepSlider} from './run_cards';
import {asCsv, asJson, saveChoice} from './save';
import {countOf, formatNumber} from './words';

const PARTS = ['', 'VERTEX', 'FACE', 'COLOR'], MANY_FACES = 60000, MANY_POINTS = 100000, ROWS = 200;

interface Point {
  step: number;
  content_type: number;
}

interface Mesh {
  vertices: Float32Array;       // three numbers each
  faces: Int32Array;            // three indices each; none: the vertices are points
  colours: Uint8Array;          // three each, or none
}

class MeshCard implements Card {
  readonly root: HTMLElement;
  private readonly canvas = element('canvas', {class: 'mesh', tabindex: '0', role: 'img'});
  private readonly frame: CardFrame;
  private readonly steps: StepSlider;
  private readonly loader: Loader<Point[]>;
  private known: number[] = [];
  private parts = new Map<number, Set<number>>();  // of each step
  private mesh: Mesh | null = null;
  private wanted = '';
  private turn = [0.5, 0.3];
  private zoom = 1;
  private middle = [0, 0, 0];
  private extent = 1;

  constructor(private readonly item: RunItem) {
    this.steps = new StepSlider(item.tag, index => void this.choose(this.known[index]));
    const body = element('div', {}, this.steps.root, this.canvas);
    const label = `${item.tag} of ${item.run}` + (item.samples > 1 ? `, sample ${item.sample + 1}` : '');
    this.frame = new CardFrame(shortName(item.tag) + (item.samples > 1 ? ` (${item.sample + 1} of ${item.samples})` : ''),
      label, body, () => this.makeTable(), () => this.draw(), item.run);
    this.root = this.frame.root;
    this.frame.buttons.prepend(saveChoice(label, {CSV: () => asCsv([['x', 'y', 'z'], ...this.rows()]),
      JSON: () => asJson({vertices: this.rows(), faces: [...this.mesh?.faces || []], colors: [...this.mesh?.colours || []]})}));
    this.loader = new Loader(() => getJson('/data/plugin/mesh/meshes', {run: item.run, tag: item.tag, sample: String(item.sample)}),
      points => this.take(points), text => { this.frame.sentence.textContent = text; });
    this.bind();
  }

  private bind(): void {
    const canvas = this.canvas;
    let last: [number, number] | null = null;
    canvas.onpointerdown = event => {
      canvas.setPointerCapture(event.pointerId);
      last = [event.offsetX, event.offsetY];
    };
    canvas.onpointerup = () => { last = null; };
    canvas.onpointermove = event => {
      if (!last) return;
      this.turnBy((event.offsetX - last[0]) / 120, (event.offsetY - last[1]) / 120);
      last = [event.offsetX, event.offsetY];
    };
    canvas.addEventListener('wheel', event => {
      // A page full of meshes must scroll: only the one in use zooms.
      if (document.activeElement !== canvas) return;
      event.preventDefault();
      this.zoomBy(event.deltaY < 0 ? 1.15 : 1 / 1.15);
    }, {passive: false});
    canvas.onkeydown = event => {
      const turns: Record<string, [number, number]> = {ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.15], ArrowDown: [0, 0.15]};
      if (event.key in turns) this.turnBy(...turns[event.key]);
      else if (event.key === '+' || event.key === '=') this.zoomBy(1.25);
      else if (event.key === '-') this.zoomBy(0.8);
      else return;
      event.preventDefault();
    };
  }

  private turnBy(x: number, y: number): void {
    this.turn = [this.turn[0] + x, this.turn[1] + y];
    this.draw();
  }

  private zoomBy(factor: number): void {
    this.zoom = Math.min(Math.max(this.zoom * factor, 0.2), 20);
    this.draw();
  }

  private take(points: Point[]): void {
    this.parts = new Map();
    for (const point of points) {
      if (!this.parts.has(point.step)) this.parts.set(point.step, new Set());
      this.parts.get(point.step)!.add(point.content_type);
    }
    this.known = [...this.parts.keys()].sort((a, b) => a - b);
    this.steps.set(this.known);
    if (!this.known.length) this.frame.sentence.textContent = 'There is no mesh yet.';
  }

  private async choose(step: number): Promise<void> {
    const wanted = String(step), parts = this.parts.get(step) || new Set();
    this.wanted = wanted;
    const ask = async (part: number) => {
      if (!parts.has(part)) return new ArrayBuffer(0);
      const {run, tag, sample} = this.item;
      const answer = await fetch(address('/data/plugin/mesh/data', {run, tag, sample: String(sample), step: wanted, content_type: PARTS[part]}));
      if (!answer.ok) throw new Error(await answer.text());
      return answer.arrayBuffer();
    };
    try {
      const [vertices, faces, colours] = await Promise.all([1, 2, 3].map(ask));
      if (this.wanted !== wanted) return;
      this.mesh = {vertices: new Float32Array(vertices), faces: new Int32Array(faces), colours: new Uint8Array(colours)};
      this.frameMesh(step);
    } catch (error) {
      this.frame.sentence.textContent = 'Loading failed: ' + (error as Error).message;
    }
  }

  // Finds where the mesh lies, and tells about it.
  private frameMesh(step: number): void {
    const {vertices, faces} = this.mesh as Mesh, low = [0, 0, 0].fill(Infinity), high = [0, 0, 0].fill(-Infinity);
    vertices.forEach((v, i) => {
      if (!Number.isFinite(v)) return;
      low[i % 3] = Math.min(low[i % 3], v);
      high[i % 3] = Math.max(high[i % 3], v);
    });
    this.middle = low.map((l, d) => Number.isFinite(l) ? (l + high[d]) / 2 : 0);
    const sides = low.map((l, d) => Number.isFinite(l) ? high[d] - l : 0);
    this.extent = Math.hypot(...sides) || 1;
    const count = Math.floor(vertices.length / 3), text = `${count} ${count === 1 ? 'vertex' : 'vertices'}` +
      (faces.length ? `, ${countOf(Math.floor(faces.length / 3), 'face')}` : '') +
      `, ${sides.map(formatNumber).join(' × ')} in size, at step ${step}.`;
    this.frame.sentence.textContent = text;
    this.canvas.setAttribute('aria-label', `Mesh ${this.item.tag}: ${text} The arrow keys turn it, plus and minus zoom.`);
    this.frame.refreshTable();
    this.draw();
  }

  async show(): Promise<void> {
    await this.loader.load();
    this.draw();
  }

  draw(): void {
    if (!this.mesh || !isNear(this.root.getBoundingClientRect())) return;
    const {context, width, height} = beginDrawing(this.canvas), {faces} = this.mesh, places = this.place(width, height);
    if (faces.length) this.drawFaces(context, places);
    else this.drawPoints(context, places);
  }

  // x, y and depth of each vertex on a canvas of this size.
  private place(width: number, height: number): Float32Array {
    const {vertices} = this.mesh as Mesh, count = Math.floor(vertices.length / 3), places = new Float32Array(count * 3);
    const [s0, c0, s1, c1] = [Math.sin(this.turn[0]), Math.cos(this.turn[0]), Math.sin(this.turn[1]), Math.cos(this.turn[1])];
    const scale = Math.min(width, height) * 1.2 / this.extent * this.zoom;
    for (let i = 0; i < count; ++i) {
      let [x, y, z] = [0, 1, 2].map(d => vertices[3 * i + d] - this.middle[d]);
      [x, z] = [c0 * x + s0 * z, c0 * z - s0 * x];
      [y, z] = [c1 * y - s1 * z, c1 * z + s1 * y];
      const near = 1 / (1 - z / this.extent / 2.5);
      places.set([width / 2 + x * scale * near, height / 2 - y * scale * near, z / this.extent], 3 * i);
    }
    return places;
  }

  private colour(vertices: number[], light: number): string {
    const {colours} = this.mesh as Mesh;
    const part = (d: number) => vertices.reduce((sum, v) => sum + (colours[3 * v + d] ?? 128), 0) / vertices.length * light;
    return colours.length ? `rgb(${part(0)} ${part(1)} ${part(2)})` : `hsl(210 45% ${30 + 40 * light}%)`;
  }

  private drawFaces(context: CanvasRenderingContext2D, places: Float32Array): void {
    const {faces} = this.mesh as Mesh, count = places.length / 3, shown: [number, number[], number][] = [];
    const every = Math.ceil(faces.length / 3 / MANY_FACES);
    for (let f = 0; f + 2 < faces.length; f += 3 * every) {
      const corners = [faces[f], faces[f + 1], faces[f + 2]];
      if (corners.some(c => c < 0 || c >= count)) continue;  // a face of vertices that are not there
      const [a, b, c] = corners.map(i => places.subarray(3 * i, 3 * i + 3));
      const depth = a[2] + b[2] + c[2];
      if (!Number.isFinite(depth)) continue;
      // How far the face is turned away from the eye: its area as it is seen, by its whole area.
      const flat = Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
      const unit = Math.min(this.canvas.clientWidth, this.canvas.clientHeight) * 1.2 * this.zoom;
      const [u, v] = [[b[0] - a[0], b[1] - a[1], (b[2] - a[2]) * unit], [c[0] - a[0], c[1] - a[1], (c[2] - a[2]) * unit]];
      const whole = Math.hypot(u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]);
      shown.push([depth, corners, whole > 0 ? flat / whole : 1]);
    }
    shown.sort((a, b) => a[0] - b[0]);
    context.lineWidth = 0.75;
    for (const [, corners, facing] of shown) {
      context.fillStyle = context.strokeStyle = this.colour(corners, 0.4 + 0.6 * facing);
      context.beginPath();
      corners.forEach((v, i) => (i ? context.lineTo : context.moveTo).call(context, places[3 * v], places[3 * v + 1]));
      context.closePath();
      context.fill();
      context.stroke();  // which closes the seams between faces
    }
  }

  private drawPoints(context: CanvasRenderingContext2D, places: Float32Array): void {
    const count = places.length / 3, every = Math.ceil(count / MANY_POINTS);
    const order = Array.from({length: Math.ceil(count / every)}, (_, i) => i * every)
      .filter(i => Number.isFinite(places[3 * i] + places[3 * i + 1])).sort((a, b) => places[3 * a + 2] - places[3 * b + 2]);
    const size = Math.max(1, Math.min(3, 100 / Math.sqrt(count)));
    const hasColours = (this.mesh as Mesh).colours.length > 0, plain = cssColour('--accent');
    for (const i of order) {
      context.fillStyle = hasColours ? this.colour([i], 1) : plain;
      context.globalAlpha = Math.min(1, Math.max(0.3, 0.75 + places[3 * i + 2]));
      context.fillRect(places[3 * i] - size, places[3 * i + 1] - size, 2 * size, 2 * size);
    }
  }

  private rows(): number[][] {
    const vertices = this.mesh?.vertices || new Float32Array(0);
    return Array.from({length: Math.floor(vertices.length / 3)}, (_, i) => [...vertices.subarray(3 * i, 3 * i + 3)]);
  }

  private makeTable(): HTMLElement {
    const rows = this.rows(), colours = this.mesh?.colours || [];
    const shown = rows.slice(0, ROWS).map((row, i) => [String(i), ...row.map(formatNumber),
      ...(colours.length ? [[0, 1, 2].map(d => colours[3 * i + d]).join(', ')] : [])]);
    return table(rows.length > ROWS ? `The first ${ROWS} of ${rows.length} vertices` : 'All vertices',
      ['Vertex', 'x', 'y', 'z', ...(colours.length ? ['Colour'] : [])], shown);
  }
}

export class Meshes extends RunPage {
  name = 'mesh';
  title = 'Meshes';
  plugins = ['mesh'];

  constructor() {
    super('mesh', 'There are no meshes yet.', item => new MeshCard(item));
  }
}
