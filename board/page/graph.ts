// The page of graphs: the drawing, an outline of it as text, and all that is known of what is
// selected. The server lays out whatever is open; the page keeps which items those are.
import {button, choice, element, getJson, table} from './dom';
import {Box, Drawing, Item, KIND_NAMES, Kind, Source, describeBox, fetchDrawing, fetchItem, search}
  from './graph_data';
import {GraphOutline} from './graph_outline';
import {ColourBy, GraphView} from './graph_view';
import {Page, settings, state, writeLink} from './state';
import {countOf, formatBytes, formatNanoseconds} from './words';

const HELP = 'Arrow down follows an output, arrow up an input, left and right go to neighbours. ' +
  'Enter opens or closes, Escape goes to the scope around. Plus and minus zoom, 0 shows all.';

export class Graph implements Page {
  name = 'graphs';
  title = 'Graph';
  plugins = ['graphs'];
  usesRuns = false;
  usesTags = false;
  root: HTMLElement;
  private readonly canvas = element('canvas', {tabindex: '0', role: 'application', class: 'graph',
                                               'aria-label': 'Drawing of the graph. ' + HELP});
  private readonly reading = element('p', {class: 'reading', 'aria-live': 'polite'});
  private readonly details = element('section', {class: 'details', 'aria-label': 'What is selected',
                                                 tabindex: '0'});
  private readonly bar = element('div', {class: 'graph-tools', role: 'group',
                                           'aria-label': 'How the graph is drawn'});
  private readonly found = element('ul', {class: 'found', 'aria-label': 'Found'});
  private readonly foundCount = element('p', {role: 'status', class: 'sentence'});
  private readonly query = element('input', {id: 'graph-search', type: 'search', autocomplete: 'off',
                                             spellcheck: 'false'});
  private readonly view: GraphView;
  private readonly outline: GraphOutline;
  private drawing: Drawing | null = null;
  private sources: Source[] = [];
  private steps = new Map<string, string[]>();  // by run: tags of what was recorded of steps
  private loaded = '';
  private asked = 0;  // answers to older questions are dropped

  constructor() {
    this.view = new GraphView(this.canvas, item => this.select(item), item => this.toggle(item));
    this.outline = new GraphOutline(item => this.select(item, true), item => this.toggle(item));
    this.query.oninput = () => this.search();
    this.query.onkeydown = event => {
      if (event.key === 'Enter') this.found.querySelector('button')?.click();
    };
    this.canvas.onkeydown = event => this.onKey(event);
    this.root = element('div', {class: 'graph-page'}, this.bar,
      element('section', {class: 'side', 'aria-label': 'Search and outline'},
        element('label', {for: 'graph-search'}, 'Find a node, scope or op'), this.query,
        this.foundCount, this.found, this.outline.root),
      element('div', {class: 'middle'}, this.canvas, this.reading), this.details);
  }

  private source(): Source {
    const chosen = settings.graph;
    return this.sources.find(s => s.run === chosen.run && s.tag === chosen.tag && s.placed === chosen.placed) || this.sources[0];
  }

  async reload(): Promise<void> {
    const info = await getJson('/data/plugin/graphs/info');
    this.sources = [];
    this.steps.clear();
    for (const run of Object.values<any>(info)) {
      this.steps.set(run.run, Object.values<any>(run.tags).filter(t => t.profile).map(t => t.tag));
      if (run.run_graph) this.sources.push({run: run.run, tag: '', placed: false});
      for (const tag of Object.values<any>(run.tags)) {
        if (tag.op_graph) this.sources.push({run: run.run, tag: tag.tag, placed: false});
        if (tag.profile && run.run_graph) this.sources.push({run: run.run, tag: tag.tag, placed: true});
      }
    }
    this.drawTools();
    if (!this.sources.length) {
      this.reading.textContent = 'There is no graph yet.';
      return;
    }
    const wanted = JSON.stringify(this.source()) + state.version;
    if (wanted === this.loaded) return this.draw();
    this.loaded = wanted;
    await this.load(0);
    if (settings.graph.selected) await this.select(settings.graph.selected, true);
    else this.showWhole();
  }

  private drawTools(): void {
    const names = this.sources.map((s, i) =>
      [String(i), (s.tag ? `${s.run}: ${s.tag}` : s.run) + (s.placed ? ', as the devices ran it' : '')] as [string, string]);
    const at = this.sources.indexOf(this.source());
    const tags = this.steps.get(this.source()?.run) || [];
    if (!tags.includes(settings.graph.steps)) settings.graph.steps = '';
    const colours: [string, string][] = [['structure', 'Same structure'], ['device', 'Device'],
                                         ['kind', 'Kind']];
    if (settings.graph.steps) colours.push(['time', 'Time'], ['memory', 'Memory']);
    if (!colours.some(c => c[0] === settings.graph.colour)) settings.graph.colour = 'structure';
    this.bar.replaceChildren(
      choice('graph-run', 'Graph of', names, String(at), value => {
        Object.assign(settings.graph, this.sources[Number(value)], {open: [], selected: 0, steps: ''});
        this.view.drawing = null;
        writeLink();
        this.reload();
      }),
      ...(tags.length ? [choice('graph-steps', 'Recorded step', [['', 'none'], ...tags.map(tag =>
        [tag, tag] as [string, string])], settings.graph.steps, value => {
          settings.graph.steps = value;
          settings.graph.colour = value ? 'time' : 'structure';
          this.load(0).then(() => {
            this.drawTools();
            document.getElementById('graph-steps')?.focus();
          });
        })] : []),
      choice('graph-colour', 'Colours', colours, settings.graph.colour, value => {
        settings.graph.colour = value;
        writeLink();
        this.draw();
      }),
      button('Show all', () => this.view.fit()),
      button('Close all', () => {
        settings.graph.open = [];
        this.load(0).then(() => this.view.fit());
      }),
      button('+', () => this.view.zoom(1.4), {'aria-label': 'Zoom in'}),
      button('−', () => this.view.zoom(1 / 1.4), {'aria-label': 'Zoom out'}));
  }

  // Asks for what is open. The box |item| stays in its place on the screen.
  private async load(item: number): Promise<void> {
    const question = ++this.asked;
    try {
      const drawing = await fetchDrawing(this.source(), settings.graph.open, settings.graph.steps);
      if (question !== this.asked) return;
      this.drawing = drawing;
      this.view.selected = settings.graph.selected;
      this.view.colourBy = settings.graph.colour as ColourBy;
      this.view.set(drawing, item);
      this.outline.set(drawing, settings.graph.selected);
      writeLink();
    } catch (error) {
      this.loaded = '';
      this.reading.textContent = 'Loading failed: ' + (error as Error).message;
    }
  }

  redraw(): void {
    this.draw();
  }

  draw(): void {
    this.view.colourBy = settings.graph.colour as ColourBy;
    this.view.draw();
  }

  private async toggle(item: number): Promise<void> {
    const box = this.drawing?.boxes.get(item);
    if (!box || box.kind === Kind.Node) return;
    const open = settings.graph.open;
    settings.graph.open = box.isOpen ? open.filter(i => i !== item) : [...open, item];
    await this.load(item);
    const now = this.drawing?.boxes.get(item);
    if (now) {
      this.reading.textContent = describeBox(now);
      if (now.isOpen && settings.graph.selected === item) this.view.reveal(now);
    }
  }

  // ---- What is selected -------------------------------------------------------------------------
  async select(item: number, reveal = false): Promise<void> {
    settings.graph.selected = this.view.selected = item;
    writeLink();
    if (!item) {
      this.outline.select(0);
      this.showWhole();
      this.draw();
      return;
    }
    let known: Item;
    try {
      known = await fetchItem(this.source(), item);
    } catch (error) {
      this.reading.textContent = 'Loading failed: ' + (error as Error).message;
      return;
    }
    if (settings.graph.selected !== item) return;
    if (!this.drawing?.boxes.has(item)) {
      settings.graph.open = [...new Set([...settings.graph.open, ...known.parents.map(p => p[0])])];
      await this.load(0);
    }
    const box = this.drawing?.boxes.get(item);
    this.view.selected = item;
    if (box) this.reading.textContent = describeBox(box);
    if (box && reveal) this.view.reveal(box);
    else this.draw();
    this.outline.select(item);
    this.showItem(known);
  }

  private showWhole(): void {
    const drawing = this.drawing;
    if (!drawing) return;
    const devices = drawing.devices.filter(name => name);
    this.details.replaceChildren(element('h3', {}, 'The graph'),
      element('p', {}, countOf(drawing.nodes, 'node') + ' and ' + countOf(drawing.edges, 'edge') +
        (devices.length ? ' on ' + countOf(devices.length, 'device') : '') + '.' +
        (drawing.missing ? ` ${drawing.missing} inputs name no node.` : '')),
      element('p', {class: 'sentence'}, 'Boxes of one colour have the same structure inside. A dashed ' +
        'frame marks what stands aside because so much is joined to it; its lines show when it is ' +
        'selected. Dashed lines carry no tensor.'),
      element('p', {class: 'sentence'}, 'With the drawing in focus: ' + HELP),
      ...(devices.length ? [element('h4', {}, 'Devices'), this.deviceList(drawing)] : []));
  }

  private deviceList(drawing: Drawing): HTMLElement {
    return element('ul', {}, ...drawing.devices.map(name =>
      element('li', {}, name || '(not placed)')));
  }

  private link(item: number, text: string): HTMLElement {
    return button(text, () => this.select(item, true), {class: 'link'});
  }

  private showItem(item: Item): void {
    const parts: (HTMLElement | string)[] = [element('h3', {}, item.label || '(no name)')];
    if (item.parents.length) {
      parts.push(element('p', {class: 'path'}, ...item.parents.flatMap(([at, label]) =>
        [this.link(at, label || '(no name)'), ' / '])));
    }
    if (item.kind !== Kind.Node) {
      const isOpen = !!this.drawing?.boxes.get(item.item)?.isOpen;
      parts.push(element('p', {class: 'row'}, button(isOpen ? 'Close' : 'Open', async () => {
        await this.toggle(item.item);
        this.showItem(item);
      }), button('Show', () => {
        const box = this.drawing?.boxes.get(item.item);
        if (box) this.view.fit(box);
      })));
    }
    const box = settings.graph.steps ? this.drawing?.boxes.get(item.item) : undefined;
    const rows = [['Time', box?.time ? formatNanoseconds(box.time) : ''],
                  ['Memory', box?.bytes ? formatBytes(box.bytes) : ''], ['Kind', KIND_NAMES[item.kind]], ['Op', item.op], ['Device', item.device],
                  ['Nodes', item.kind === Kind.Node ? '' : String(item.nodes)]];
    parts.push(element('dl', {}, ...rows.filter(([, text]) => text).flatMap(([name, text]) =>
      [element('dt', {}, name), element('dd', {}, text)])));
    if (item.functions?.length) parts.push(...this.references('Calls', item.functions));
    if (item.ops?.length) {
      parts.push(table('Ops', ['Op', 'Nodes'], item.ops.map(([op, n]) => [op, String(n)])));
    }
    if (item.attributes.length) {
      parts.push(table('Attributes', ['Name', 'Value'], item.attributes.map(([key, value]) =>
        [key, value])));
    }
    parts.push(this.ends('Inputs', item.inputs, item.inputs_total),
               this.ends('Outputs', item.outputs, item.outputs_total));
    if (item.twins?.length) parts.push(...this.references('The same structure', item.twins));
    this.details.replaceChildren(...parts);
  }

  private references(title: string, items: [number, string][]): HTMLElement[] {
    return [element('h4', {}, title), element('ul', {}, ...items.map(([at, path]) =>
      element('li', {}, this.link(at, path))))];
  }

  private ends(title: string, ends: Item['inputs'], total: number): HTMLElement {
    if (!total) return element('p', {class: 'sentence'}, `No ${title.toLowerCase()}.`);
    const caption = total > ends.length ? `${title}: the first ${ends.length} of ${total}`
                                        : `${title}: ${total}`;
    return table(caption, ['Node', 'Tensor'], ends.map(([at, path, output, shape, isControl]) => [
      this.link(at, path), isControl ? 'control' : (output >= 0 ? `:${output} ` : '') + shape]));
  }

  // ---- Search and keys --------------------------------------------------------------------------
  private async search(): Promise<void> {
    const text = this.query.value.trim();
    if (!text || !this.sources.length) {
      this.found.replaceChildren();
      this.foundCount.textContent = '';
      return;
    }
    const answer = await search(this.source(), text);
    if (text !== this.query.value.trim()) return;
    this.foundCount.textContent = answer.total > answer.items.length
      ? `The first ${answer.items.length} of ${answer.total}` : `${answer.total} found`;
    this.found.replaceChildren(...answer.items.map(([at, kind, path, op]) => element('li', {},
      this.link(at, path), ' ', element('span', {class: 'what'}, op || KIND_NAMES[kind]))));
  }

  private onKey(event: KeyboardEvent): void {
    if (!this.drawing || event.altKey || event.ctrlKey || event.metaKey) return;
    const box = this.drawing.boxes.get(settings.graph.selected);
    const first = this.drawing.levels[0].boxes[0];
    const go = (to: Box | undefined | null) => { if (to) this.select(to.item, true); };
    switch (event.key) {
      case '+': case '=': this.view.zoom(1.25); break;
      case '-': this.view.zoom(0.8); break;
      case '0': this.view.fit(); break;
      case 'ArrowDown': go(box ? box.level.links.find(l => l.from === box)?.to : first); break;
      case 'ArrowUp': go(box ? box.level.links.find(l => l.to === box)?.from : first); break;
      case 'ArrowRight': go(box ? beside(box, 1) : first); break;
      case 'ArrowLeft': go(box ? beside(box, -1) : first); break;
      case 'Enter': case ' ': if (box) this.toggle(box.item); break;
      case 'Escape': if (box) this.select(box.level.parent?.item || 0, true); break;
      default: return;
    }
    event.preventDefault();
  }
}

// The next box of the same level, line by line.
function beside(box: Box, by: number): Box {
  const all = [...box.level.boxes].sort((a, b) => a.y - b.y || a.x - b.x);
  return all[(all.indexOf(box) + by + all.length) % all.length];
}
