// The page of graphs: the drawing, an outline of it as text, and all that is known of what is
// selected. The server lays out whatever is open; the page keeps which items those are.
import {button, choice, element, getJson, table} from './dom';
import {Box, CHANGES, Drawing, Item, KIND_NAMES, Kind, Source, Stage, describeBox, fetchChanges, fetchDrawing,
        fetchDump, fetchDumps, fetchItem, fetchStages, search} from './graph_data';
import {changeOf, describeStage, placementOf, shortChanges, valuesOf} from './graph_facts';
import {GraphOutline} from './graph_outline';
import {ColourBy, GraphView} from './graph_view';
import {linkWith, Page, settings, state, writeLink} from './state';
import {fetchFiles, fetchTrace, nameOfNode} from './timeline_data';
import {countOf, formatBytes, formatNanoseconds} from './words';

const HELP = 'Arrow down follows an output, arrow up an input, left and right go to neighbours. ' +
  'Enter opens or closes, Escape goes to the scope around. Plus and minus zoom, 0 shows all. Where stages are ' +
  'shown, the brackets go from one to the next, and N and P to what has changed.';
const MANY_CHANGES = 200;
// What a colour means that no list beside the drawing tells.
const COLOUR_SENTENCES: Record<string, string> = {
  op: 'Nodes of one op, which stands below each, have one colour.',
  fused: 'Nodes that the optimizer fused of several have a colour and the sign ◆; scopes tell how many they hold.',
};

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
  private stages: Stage[] = [];  // of the recorded step |stageTag|
  private stageTag = '';
  private dumps: string[] = [];
  private recordings = 0;
  private changed: [number, string, string, number][] = [];  // by the stage that is shown
  private changedTotal = 0;
  private path = '';  // of what is selected
  private loaded = '';
  private turn: Promise<void> = Promise.resolve();
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
    const found = this.sources.find(s => s.run === chosen.run && s.tag === chosen.tag && s.placed === chosen.placed) ||
      this.sources[0];
    return found && {...found, stage: found.placed && chosen.stage < this.stages.length ? chosen.stage : -1};
  }

  private stage(): Stage | undefined {
    return this.stages[this.source()?.stage];
  }

  // The stages of the step that is shown, else of the run's first one that was recorded with them.
  private async loadStages(): Promise<void> {
    const source = this.source(), tags = this.steps.get(source?.run) || [];
    const tag = source?.placed ? source.tag : settings.graph.steps || tags[0] || '';
    const wanted = source ? source.run + '\n' + tag + state.version : '';
    if (wanted === this.stageTag) return;
    this.stageTag = wanted;
    this.stages = [];
    if (!tag) return;
    try {
      this.stages = (await fetchStages({run: source.run, tag, placed: true, stage: -1})).stages;
    } catch {
      // The step was recorded without.
    }
  }

  // One at a time: news and links may come while an answer is awaited.
  reload(): Promise<void> {
    return this.turn = this.turn.catch(() => {}).then(() => this.reloadNow());
  }

  private async reloadNow(): Promise<void> {
    const info = await getJson('/data/plugin/graphs/info');
    this.sources = [];
    this.steps.clear();
    for (const run of Object.values<any>(info)) {
      this.steps.set(run.run, Object.values<any>(run.tags).filter(t => t.profile).map(t => t.tag));
      if (run.run_graph) this.sources.push({run: run.run, tag: '', placed: false, stage: -1});
      for (const tag of Object.values<any>(run.tags)) {
        if (tag.op_graph) this.sources.push({run: run.run, tag: tag.tag, placed: false, stage: -1});
        if (tag.profile && run.run_graph) this.sources.push({run: run.run, tag: tag.tag, placed: true, stage: -1});
      }
    }
    [this.dumps, this.recordings] = await Promise.all([fetchDumps(), fetchFiles().then(files => files.length), this.loadStages()]);
    this.drawTools();
    for (const part of [this.bar, this.query.parentElement!, this.canvas, this.details]) part.hidden = !this.sources.length;
    if (!this.sources.length) {
      this.reading.textContent = 'There is no graph yet.';
      return;
    }
    const wanted = this.shownNow();
    if (wanted === this.loaded) {
      if (this.view.selected !== settings.graph.selected) await this.select(settings.graph.selected, true);
      return this.draw();
    }
    this.loaded = wanted;
    await this.load(0);
    await this.loadChanges();
    if (settings.graph.selected) await this.select(settings.graph.selected, true);
    else this.showWhole();
  }

  // What must be asked for anew when it is another: links come and go.
  private shownNow(): string {
    return JSON.stringify([this.source(), settings.graph.steps, settings.graph.values, state.version]);
  }

  // ---- Stages -----------------------------------------------------------------------------------
  private async loadChanges(): Promise<void> {
    this.changed = [];
    this.changedTotal = 0;
    if (!this.stage()) return;
    const answer = await fetchChanges(this.source());
    this.changed = answer.items;
    this.changedTotal = answer.total;
  }

  // What the choice of stages shows: the program's graph, each stage, and what the devices ran.
  private stageChoices(): [string, string][] {
    const run = this.source()?.run, isWritten = this.sources.some(s => s.run === run && !s.tag);
    if (!this.stages.length) return [];
    return [...(isWritten ? [['written', 'as written'] as [string, string]] : []),
            ...this.stages.map((s, i): [string, string] => [String(i), `after ${s.name}: ${shortChanges(s)}`]),
            ['ran', 'as the devices ran it']];
  }

  private stageChosen(): string {
    const source = this.source();
    return !source.placed ? 'written' : source.stage < 0 ? 'ran' : String(source.stage);
  }

  // What was open and selected stays so, where it is there too; its numbers are others.
  private async showStage(chosen: string): Promise<void> {
    const graph = settings.graph, paths = this.drawing?.levels.map(level => level.path).filter(path => path) || [];
    const tag = this.source().placed ? this.source().tag : graph.steps || this.steps.get(this.source().run)?.[0] || '';
    const path = graph.selected ? this.path : '';
    Object.assign(graph, {run: this.source().run, tag: chosen === 'written' ? '' : tag, placed: chosen !== 'written',
                          stage: Number(chosen) >= 0 ? Number(chosen) : -1, open: [], selected: 0, steps: graph.steps && tag});
    graph.colour = graph.stage >= 0 ? 'change' : graph.colour === 'change' ? 'structure' : graph.colour;
    this.loaded = this.shownNow();
    await this.load(0, paths, path);
    await this.loadChanges();
    graph.open = this.drawing?.levels.map(level => level.item).filter(item => item) || [];
    const hadFocus = document.activeElement?.id === 'graph-stage';
    this.drawTools();
    if (hadFocus) document.getElementById('graph-stage')?.focus();
    await this.select(this.drawing?.named || 0);
    const stage = this.stage();
    this.reading.textContent = stage ? `After ${stage.name}: ${describeStage(stage)}`
      : 'The graph ' + (graph.placed ? 'as the devices ran it.' : 'as it was written.');
  }

  private stepStage(by: number): void {
    const choices = this.stageChoices(), at = choices.findIndex(([value]) => value === this.stageChosen());
    if (choices[at + by]) this.showStage(choices[at + by][0]);
  }

  // The next node that the stage has changed, in the order of the tree.
  private stepChange(by: number): void {
    const selected = settings.graph.selected, items = this.changed.map(([item]) => item);
    const next = by > 0 ? items.find(item => item > selected) ?? items[0]
      : items.filter(item => item < selected).pop() ?? items[items.length - 1];
    if (next) this.select(next, true);
  }

  private drawTools(): void {
    const names = this.sources.map((s, i) =>
      [String(i), (s.tag ? `${s.run}: ${s.tag}` : s.run) + (s.placed ? ', as the devices ran it' : '')] as [string, string]);
    const at = this.sources.findIndex(s => JSON.stringify(s) === JSON.stringify({...this.source(), stage: -1}));
    const stages = this.stageChoices();
    const tags = this.steps.get(this.source()?.run) || [];
    if (!tags.includes(settings.graph.steps)) settings.graph.steps = '';
    const colours: [string, string][] = [['structure', 'Same structure'], ['device', 'Device'],
                                         ['kind', 'Kind'], ['op', 'Op']];
    if (this.source()?.placed) colours.push(['fused', 'Fused or not']);
    if (settings.graph.steps) colours.push(['time', 'Time'], ['memory', 'Memory']);
    if (this.stage()) colours.push(['change', 'What changed']);
    if (!this.dumps.includes(settings.graph.values)) settings.graph.values = '';
    if (settings.graph.values) colours.push(['health', 'NaN and infinities'], ['magnitude', 'Magnitude']);
    if (!colours.some(c => c[0] === settings.graph.colour)) settings.graph.colour = 'structure';
    this.bar.replaceChildren(
      choice('graph-run', 'Graph of', names, String(at), value => {
        Object.assign(settings.graph, this.sources[Number(value)], {open: [], selected: 0, steps: '', stage: -1});
        this.view.drawing = null;
        writeLink();
        this.reload();
      }),
      ...(stages.length ? [choice('graph-stage', 'Stage', stages, this.stageChosen(), value => this.showStage(value))] : []),
      ...(tags.length ? [choice('graph-steps', 'Recorded step', [['', 'none'], ...tags.map(tag =>
        [tag, tag] as [string, string])], settings.graph.steps, value => {
          settings.graph.steps = value;
          settings.graph.colour = value ? 'time' : 'structure';
          this.load(0).then(() => {
            this.drawTools();
            document.getElementById('graph-steps')?.focus();
          });
        })] : []),
      ...(this.dumps.length ? [choice('graph-values', 'Values of', [['', 'none'], ...this.dumps.map(dump =>
        [dump, dump] as [string, string])], settings.graph.values, value => this.showValues(value))] : []),
      choice('graph-colour', 'Colours', colours, settings.graph.colour, value => {
        settings.graph.colour = value;
        writeLink();
        this.draw();
        this.reading.textContent = COLOUR_SENTENCES[value] || '';
      }),
      element('div', {class: 'buttons'}, button('Show all', () => this.view.fit()),
        button('Close all', () => {
          settings.graph.open = [];
          this.load(0).then(() => this.view.fit());
        }),
        button('+', () => this.view.zoom(1.4), {'aria-label': 'Zoom in'}),
        button('−', () => this.view.zoom(1 / 1.4), {'aria-label': 'Zoom out'})));
  }

  private async showValues(dump: string): Promise<void> {
    settings.graph.values = dump;
    settings.graph.colour = dump ? 'health' : 'structure';
    this.loaded = this.shownNow();
    await this.load(0);
    this.drawTools();
    document.getElementById('graph-values')?.focus();
    await this.select(settings.graph.selected);
  }

  // Asks for what is open, and for the scopes with the |paths|. The box |item| stays in its place on
  // the screen.
  private async load(item: number, paths: string[] = [], path = ''): Promise<void> {
    const question = ++this.asked;
    try {
      const {open, steps, values} = settings.graph;
      const drawing = await fetchDrawing(this.source(), open, steps, values, paths, path);
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
      known = await fetchItem(this.source(), item, settings.graph.values);
    } catch (error) {
      this.reading.textContent = 'Loading failed: ' + (error as Error).message;
      return;
    }
    if (settings.graph.selected !== item) return;
    this.path = known.path;
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
    const stage = this.stage();
    this.details.replaceChildren(element('h3', {}, stage ? 'After ' + stage.name : 'The graph'),
      ...(stage ? this.stageParts(stage) : []),
      element('p', {}, countOf(drawing.nodes, 'node') + ' and ' + countOf(drawing.edges, 'edge') +
        (devices.length ? ' on ' + countOf(devices.length, 'device') : '') + '.' +
        (drawing.missing ? ` ${drawing.missing} inputs name no node.` : '')),
      element('p', {class: 'sentence'}, 'Boxes of one colour have the same structure inside. A dashed ' +
        'frame marks what stands aside because so much is joined to it; its lines show when it is ' +
        'selected. Dashed lines carry no tensor.'),
      element('p', {class: 'sentence'}, 'With the drawing in focus: ' + HELP),
      ...(devices.length ? [element('h4', {}, 'Devices'), this.deviceList(drawing)] : []));
    if (settings.graph.values) this.showDump(settings.graph.values);
  }

  private stageParts(stage: Stage): HTMLElement[] {
    const rows = this.changed.slice(0, MANY_CHANGES).map(([item, path, op, change]) =>
      [this.link(item, path), op, CHANGES[change - 1]]);
    const caption = this.changedTotal > rows.length ? `The first ${rows.length} of ${this.changedTotal} changes`
                                                    : countOf(rows.length, 'change');
    return [element('p', {}, stage.doc.replace(/^./, c => c.toUpperCase()) + '.'),
            element('p', {class: 'stage-counts'}, describeStage(stage)),
            ...(rows.length ? [table(caption, ['Node', 'Op', 'It is'], rows)] : [])];
  }

  // Adds what is not finite in the dump.
  private async showDump(name: string): Promise<void> {
    const dump = await fetchDump(name);
    if (settings.graph.values !== name || settings.graph.selected) return;
    const text = `The dump has ${countOf(dump.values, 'output')}` +
      (dump.bad.length ? `; ${dump.bad.length} have NaN or infinities.` : ', and all their numbers are finite.') +
      (dump.unread ? ` ${countOf(dump.unread, 'file')} could not be read.` : '');
    this.details.append(element('h4', {}, 'Values'), element('p', {class: 'sentence'}, text));
    if (!dump.bad.length) return;
    this.details.append(table('What is not finite', ['Output', 'NaN', 'Infinite'], dump.bad.map(([node, slot, nan, inf]) =>
      [button(`${node}:${slot}`, () => this.selectNamed(node), {class: 'link'}), String(nan), String(inf)])));
  }

  private async selectNamed(name: string): Promise<void> {
    try {
      await this.select((await fetchItem(this.source(), name, '')).item, true);
    } catch {
      this.reading.textContent = `This graph has no node ${name}.`;
    }
  }

  private deviceList(drawing: Drawing): HTMLElement {
    return element('ul', {}, ...drawing.devices.map(name =>
      element('li', {}, name || '(not placed)')));
  }

  private link(item: number, text: string): HTMLElement {
    return button(text, () => this.select(item, true), {class: 'link'});
  }

  private showItem(item: Item): void {
    const parts: (Element | string)[] = [element('h3', {}, item.label || '(no name)')];
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
    parts.push(...changeOf(item, this.stage()), ...placementOf(item), ...valuesOf(item));
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
    if (item.kind === Kind.Node && this.recordings) parts.push(button('Show in the timeline', () => void this.showInTimeline(item.path)));
    if (item.twins?.length) parts.push(...this.references('The same structure', item.twins));
    this.details.replaceChildren(...parts);
  }

  // Goes to the longest slice of the node in the newest recording that has one.
  private async showInTimeline(node: string): Promise<void> {
    this.reading.textContent = `Looking for ${node} in the recordings.`;
    try {
      for (const {name} of (await fetchFiles()).sort((a, b) => b.modified - a.modified)) {
        if (nameOfNode(await fetchTrace(name), node) < 0) continue;
        location.hash = linkWith({page: 'timeline', timeline: {...settings.timeline, file: name, group: -1, step: -1, view: 'drawing', node}});
        return;
      }
      this.reading.textContent = `No recording has a kernel of ${node}.`;
    } catch (error) {
      this.reading.textContent = 'Loading failed: ' + (error as Error).message;
    }
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
      case '[': this.stepStage(-1); break;
      case ']': this.stepStage(1); break;
      case 'n': case 'N': this.stepChange(1); break;
      case 'p': case 'P': this.stepChange(-1); break;
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
