// The projector: rows of a matrix as points, near each other where the rows are alike. Beside the
// points are a search and the neighbours of the point that is selected.
import {isDark} from './chart';
import {address, button, choice, element, slider} from './dom';
import {Embedding, Projection, fetchEmbeddings, fetchProjection, findNeighbours, rowOf} from './projector_data';
import {Look, ProjectorView, signOf} from './projector_view';
import {asCsv, asJson, saveChoice} from './save';
import {Page, settings, writeLink} from './state';
import {formatNumber} from './words';

const NEIGHBOURS = 12, FOUND = 200, CLASSES = 24;
// Of the methods that have one: the setting that says how many neighbours count, and its label.
const COUNTS: Record<string, ['perplexity' | 'neighbours', string]> =
  {tsne: ['perplexity', 'Perplexity'], umap: ['neighbours', 'Neighbours']};

export class Projector implements Page {
  name = 'projector';
  title = 'Projector';
  plugins = ['projector'];
  usesRuns = false;
  usesTags = false;
  readonly root = element('div', {class: 'projector'});
  private readonly controls = element('div', {class: 'graph-tools'});
  private readonly view = new ProjectorView(point => this.select(point), point => this.tell(point));
  private readonly reading = element('p', {class: 'reading', 'aria-live': 'polite'});
  private readonly sentence = element('p', {class: 'sentence'});
  private readonly legend = element('ul', {class: 'legend'});
  private readonly search = element('input', {id: 'projector-search', type: 'search', spellcheck: 'false', autocomplete: 'off'});
  private readonly count = element('p', {class: 'what', role: 'status'});
  private readonly found = element('ul', {class: 'found'});
  private readonly details = element('div');
  private all: [string, Embedding[]][] = [];
  private projection: Projection | null = null;
  private asked = '';
  private theme = false;
  private timer = 0;  // until the slider rests
  private selected = -1;
  private marked = new Set<number>();
  private styles: Uint16Array | null = null;
  private shades: Float32Array | null = null;
  private image: HTMLImageElement | null = null;

  constructor() {
    this.search.oninput = () => this.find();
    this.root.append(this.controls, element('div', {class: 'middle'}, this.view.canvas, this.reading, this.legend, this.sentence),
      element('div', {class: 'details', role: 'region', tabindex: '0', 'aria-label': 'Points'},
        element('label', {for: 'projector-search'}, 'Search labels'), this.search, this.count, this.found, this.details));
  }

  async reload(): Promise<void> {
    this.all = (await fetchEmbeddings()).filter(([, embeddings]) => embeddings.length);
    await this.show();
  }

  redraw(): void { void this.show(); }

  // The legend has the colours of the theme.
  draw(): void {
    if (this.theme === isDark()) this.view.draw();
    else this.paint();
  }

  private current(): [string, Embedding] | null {
    const {run, tensor} = settings.projector;
    const [name, embeddings] = this.all.find(([r]) => r === run) || this.all[0] || ['', []];
    const embedding = embeddings.find(e => e.tensorName === tensor) || embeddings[0];
    return embedding ? [name, embedding] : null;
  }

  // Asks for the projection that the settings name, unless it is the one that is shown.
  private async show(): Promise<void> {
    const current = this.current(), {method, dims, perplexity, neighbours} = settings.projector;
    this.view.canvas.hidden = this.search.parentElement!.hidden = !current;
    if (!current) {
      this.controls.replaceChildren();
      this.sentence.textContent = 'No run has a checkpoint with a matrix, or a projector_config.pbtxt.';
      return;
    }
    const [run, embedding] = current, wanted = JSON.stringify([run, embedding, method, dims, perplexity, neighbours]);
    this.fillTools(run, embedding);
    if (wanted === this.asked) return this.paint();
    this.asked = wanted;
    this.sentence.textContent = method !== 'pca' ? 'The points are being arranged.' : 'Loading.';
    try {
      const projection = await fetchProjection(run, embedding, method, dims, perplexity, neighbours);
      if (wanted !== this.asked) return;
      this.take(projection, run, embedding);
    } catch (error) {
      this.asked = '';
      this.sentence.textContent = 'Loading failed: ' + (error as Error).message;
    }
  }

  private take(projection: Projection, run: string, embedding: Embedding): void {
    // Principal directions come by three; two of them are shown flat.
    const flat = projection.dims === 3 && settings.projector.dims === 2;
    this.projection = flat ? {...projection, dims: 2, points: projection.points.filter((_, i) => i % 3 < 2)} : projection;
    [this.selected, this.marked] = [-1, new Set()];
    this.image = null;
    if (embedding.sprite?.imagePath && embedding.sprite.singleImageDim?.length === 2) {
      const image = element('img', {src: address('/data/plugin/projector/sprite_image', {run, name: embedding.tensorName})});
      image.onload = () => { this.image = image; this.fillTools(run, embedding); this.paint(); };
    }
    this.view.set(this.projection);
    this.fillTools(run, embedding);
    const {all, rows, shares} = projection, size = embedding.tensorShape || [];
    this.sentence.textContent = `${embedding.tensorName} has ${all} rows of ${size[1] ?? '?'} numbers` +
      (rows < all ? `, of which ${rows} are shown. ` : '. ') + (settings.projector.method === 'pca'
        ? `The ${flat ? 'two' : 'three'} directions hold ${shares.slice(0, flat ? 2 : 3).map(s => formatNumber(s * 100) + ' %').join(', ')} of the variance.`
        : `Near points are rows that are alike; about ${settings.projector[COUNTS[settings.projector.method][0]]} neighbours count.`);
    this.view.canvas.setAttribute('aria-label', `Points of ${embedding.tensorName}. ${this.sentence.textContent} ` +
      'The arrow keys go through the points, plus and minus zoom, square brackets turn.');
    this.find();
    this.select(-1);
  }

  // ---- Tools ------------------------------------------------------------------------------------
  private fillTools(run: string, embedding: Embedding): void {
    const set = <K extends keyof typeof settings.projector>(name: K, of: (v: string) => (typeof settings.projector)[K]) =>
      (value: string) => {
        settings.projector[name] = of(value);
        writeLink();
        void this.show();
      };
    const focus = document.activeElement?.id, s = settings.projector, text = (v: string) => v;
    const parts = [
      choice('projector-run', 'Run', this.all.map(([name]) => [name, name]), run, set('run', text)),
      choice('projector-tensor', 'Tensor', (this.all.find(([name]) => name === run)?.[1] || []).map(e =>
        [e.tensorName, `${e.tensorName} (${e.tensorShape?.join(' × ')})`]), embedding.tensorName, set('tensor', text)),
      choice('projector-method', 'Projection', [['pca', 'PCA'], ['tsne', 't-SNE'], ['umap', 'UMAP']], s.method, set('method', text)),
      choice('projector-dims', 'Dimensions', [['2', '2'], ['3', '3']], String(s.dims), set('dims', Number))];
    if (s.method in COUNTS) {
      const [name, label] = COUNTS[s.method];
      parts.push(slider('projector-count', label, [5, 50, 5], s[name], value => {
        s[name] = value;
        writeLink();
        clearTimeout(this.timer);
        this.timer = window.setTimeout(() => void this.show(), 400);
      }));
    }
    const columns = this.projection?.columns || [];
    if (columns.length) {
      parts.push(choice('projector-colour', 'Colour', [['', 'one'], ...columns.map((c): [string, string] => [c, c])], s.colour, set('colour', text)));
    }
    if (columns.length > 1) parts.push(choice('projector-label', 'Label', columns.map(c => [c, c]), s.label || columns[0], set('label', text)));
    if (this.image) {
      parts.push(choice('projector-pictures', 'Points are', [['', 'dots'], ['1', 'pictures']], s.pictures, set('pictures', text)));
    }
    parts.push(element('div', {class: 'tools'}, saveChoice('the points', {CSV: () => asCsv([['row', 'label', 'x', 'y', 'z'].slice(0, 2 + (this.projection?.dims || 0)), ...this.rows()]),
      JSON: () => asJson(this.rows().map(([row, label, ...point]) => ({row, label, point})))})));
    if (!focus?.startsWith('projector-count')) {
      this.controls.replaceChildren(...parts);
      if (focus?.startsWith('projector-') && focus !== 'projector-search') document.getElementById(focus)?.focus();
    }
  }

  private rows(): (string | number)[][] {
    const p = this.projection;
    return p ? Array.from({length: p.rows}, (_, i) =>
      [rowOf(p, i), this.label(i), ...p.points.subarray(i * p.dims, (i + 1) * p.dims)]) : [];
  }

  private cell(point: number, column: string): string {
    const p = this.projection as Projection;
    return p.labels[rowOf(p, point)]?.[Math.max(p.columns.indexOf(column), 0)] ?? '';
  }

  private label(point: number): string {
    return this.projection?.columns.length && this.cell(point, settings.projector.label)
      || `row ${this.projection ? rowOf(this.projection, point) : point}`;
  }

  // ---- Colours ----------------------------------------------------------------------------------
  // A few different labels have a colour and a shape each; many numbers lie between two colours.
  private colours(): void {
    const p = this.projection, column = settings.projector.colour;
    this.styles = this.shades = null;
    this.legend.replaceChildren();
    if (!p || !p.columns.includes(column)) return;
    const cells = Array.from({length: p.rows}, (_, i) => this.cell(i, column));
    const known = [...new Set(cells)].sort((a, b) => a.localeCompare(b, 'en', {numeric: true}));
    if (known.length > CLASSES && known.every(c => c !== '' && Number.isFinite(Number(c)))) {
      const [low, high] = [Number(known[0]), Number(known[known.length - 1])].sort((a, b) => a - b);
      this.shades = Float32Array.from(cells, c => (Number(c) - low) / (high - low || 1));
      this.legend.append(element('li', {}, `${column}: from ${formatNumber(low)} (blue) to ${formatNumber(high)} (red)`));
      return;
    }
    const at = new Map(known.map((c, i) => [c, i % CLASSES]));
    this.styles = Uint16Array.from(cells, c => at.get(c) as number);
    this.legend.append(...known.slice(0, CLASSES).map((c, i) =>
      element('li', {}, signOf(i), c)));
  }

  private paint(): void {
    if (!this.projection) return;
    this.theme = isDark();
    this.colours();
    const p = this.projection, [, embedding] = this.current() as [string, Embedding];
    const [width, height] = embedding.sprite?.singleImageDim || [0, 0];
    const look: Look = {styles: this.styles, shades: this.shades, marked: this.marked, selected: this.selected,
      name: point => this.label(point), sprite: this.image && settings.projector.pictures && width > 0 && height > 0
        ? {image: this.image, width, height, row: point => rowOf(p, point)} : null};
    this.view.show(look);
  }

  // ---- Search and neighbours ----------------------------------------------------------------------
  private find(): void {
    const p = this.projection, wanted = this.search.value.toLowerCase();
    if (!p) return;
    const found = wanted ? Array.from({length: p.rows}, (_, i) => i).filter(i => this.label(i).toLowerCase().includes(wanted)) : [];
    this.count.textContent = wanted ? `${found.length} found` : '';
    this.found.replaceChildren(...found.slice(0, FOUND).map(i =>
      element('li', {}, button(this.label(i), () => this.select(i), {class: 'link'}))));
    this.marked = new Set(found);
    this.paint();
  }

  private tell(point: number): void {
    const shown = point < 0 ? this.selected : point, p = this.projection;
    this.reading.textContent = shown < 0 || !p ? '' : `${this.label(shown)}: ` +
      [...p.points.subarray(shown * p.dims, (shown + 1) * p.dims)].map(formatNumber).join(', ');
  }

  private select(point: number): void {
    this.selected = point;
    this.tell(point);
    if (point < 0) {
      this.details.replaceChildren(element('p', {class: 'what'}, 'A point that is selected shows its neighbours here.'));
      this.marked = new Set();
      return this.paint();
    }
    void this.showNeighbours(point);
  }

  private async showNeighbours(point: number): Promise<void> {
    const p = this.projection as Projection, [run, embedding] = this.current() as [string, Embedding];
    const row = rowOf(p, point), labels = p.labels[row] || [];
    const heading = [element('h3', {}, this.label(point)), element('dl', {}, ...p.columns.flatMap((c, i) =>
      [element('dt', {}, c), element('dd', {}, labels[i] ?? '')]))];
    const measure = choice('projector-measure', 'Nearest by', [['angle', 'angle (cosine)'], ['distance', 'distance']],
      settings.projector.measure, value => {
        settings.projector.measure = value;
        writeLink();
        void this.showNeighbours(point).then(() => document.getElementById('projector-measure')?.focus());
      });
    try {
      const found = await findNeighbours(run, embedding, row, NEIGHBOURS, settings.projector.measure === 'angle');
      if (this.selected !== point) return;
      // Of a large tensor not every row is a point.
      const points = new Map(Array.from({length: p.rows}, (_, i) => [rowOf(p, i), i]));
      const name = (r: number) => p.labels[r]?.[Math.max(p.columns.indexOf(settings.projector.label), 0)] || `row ${r}`;
      this.details.replaceChildren(...heading, measure, element('ol', {class: 'neighbours'}, ...found.map(({row: r, away}) => {
        const at = points.get(r);
        return element('li', {}, at === undefined ? name(r) : button(name(r), () => this.select(at), {class: 'link'}), ' ' + formatNumber(away));
      })));
      this.marked = new Set([point, ...found.map(f => points.get(f.row)).filter((i): i is number => i !== undefined)]);
    } catch (error) {
      this.details.replaceChildren(...heading, element('p', {}, (error as Error).message));
      this.marked = new Set([point]);
    }
    this.paint();
  }
}
