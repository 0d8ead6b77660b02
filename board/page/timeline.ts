// The timeline (EEG, section 9.2 of the white paper): what the threads of a recorded program did, and
// why its steps took as long as they did. Beside the drawing are the delays of a step, or of all that
// are alike, in sentences; the same as tables, for those who do not see the drawing.
import {button, choice, element, getJson, table} from './dom';
import {fetchDrawing} from './graph_data';
import {linkWith, Page, settings, writeLink} from './state';
import {Comparison} from './timeline_compare';
import {Arrow, Delay, Delays, describe, describeItem, fetchDelays, fetchFiles, fetchNode, fetchSlice, fetchSteps, fetchTrace, File, groupOf, nameOf,
        nameOfNode, Slice, Step, threadOf, Trace, valueOf, whoOf} from './timeline_data';
import {Place, TimelineView} from './timeline_view';
import {countOf, formatBytes, formatNanoseconds, formatNumber} from './words';

const SEARCHED_RUNS = 8;  // whose graphs are asked for a node
// What a row of a group is, where it is not just a row.
const ROWS_OF: Record<string, string> = {cores: 'Core', threads: 'Thread', streams: 'Stream'};
const FOUND = 100, LISTED = 300, ROWS = 200, SHOWN = 12, FIRST_WAIT_MS = 200, LONGEST_WAIT_MS = 2000;

export class Timeline implements Page {
  name = 'timeline';
  title = 'Timeline';
  plugins = [];
  usesRuns = false;
  usesTags = false;
  readonly root = element('div', {class: 'timeline'});
  private readonly controls = element('div', {class: 'graph-tools'});
  private readonly view = new TimelineView(place => void this.select(place), by => void this.selectNext(by), error => this.fail(error),
    (begin, end) => this.comparison.follow(begin, end), (arrows, told) => this.tellArrows(arrows, told));
  private readonly comparison = new Comparison((begin, end) => this.view.follow(begin, end), error => this.fail(error));
  private readonly reading = element('p', {class: 'reading', 'aria-live': 'polite'});
  private readonly sentence = element('p', {class: 'sentence'});
  private readonly tables = element('div', {class: 'scroll tall', tabindex: '0', role: 'region', 'aria-label': 'The recording as tables'});
  private readonly search = element('input', {id: 'timeline-search', type: 'search', spellcheck: 'false', autocomplete: 'off'});
  private readonly count = element('p', {class: 'what', role: 'status'});
  private readonly found = element('ul', {class: 'found'});
  private readonly selection = element('div');
  private readonly causes = element('div');
  private readonly greatest = element('div');  // delays of the window
  private files: File[] = [];
  private trace: Trace | null = null;
  private modified = 0;  // of the file of |trace|
  private delays: Delays = {path: [], delays: []};
  private group = 0;
  private asked = 0;
  private shown = '';  // what was wanted when it was shown
  private selected: Slice[] = [];  // the slice, and those around it

  constructor() {
    this.search.oninput = () => this.find();
    this.root.append(this.controls, element('div', {class: 'middle'}, this.view.canvas, this.comparison.heading,
        this.comparison.view.canvas, this.tables, this.reading, this.sentence),
      element('div', {class: 'details', role: 'region', tabindex: '0', 'aria-label': 'Delays and slices'},
        element('label', {for: 'timeline-search'}, 'Search ops and nodes'), this.search, this.count, this.found, this.selection,
        this.causes, this.greatest, this.comparison.differences));
    this.view.canvas.setAttribute('aria-label', 'Threads of a recording. W and S zoom, A and D move, 0 shows all; the arrow keys ' +
      'go from slice to slice and from lane to lane, N and P to the next of the greatest delays, which are arrows. The same is in the tables.');
  }

  async reload(): Promise<void> {
    this.files = await fetchFiles();
    await this.show();
  }

  redraw(): void { void this.show(); }

  draw(): void {
    this.view.draw();
    this.comparison.draw();
  }

  private fail(error: Error): void {
    this.sentence.textContent = 'Loading failed: ' + error.message;
  }

  private wanted(): string { return JSON.stringify([this.files, {...settings.timeline, node: ''}]); }

  // Loads the recording that the settings name, or the newest. Where nothing has changed the window
  // stays where it is.
  private async show(): Promise<void> {
    if (this.shown === this.wanted()) return void await this.selectLinked();
    const newest = [...this.files].sort((a, b) => b.modified - a.modified)[0];
    const file = this.files.find(f => f.name === settings.timeline.file) || newest;
    if (!file) {
      this.trace = null;
      this.view.canvas.hidden = this.tables.hidden = this.causes.parentElement!.hidden = true;
      this.controls.replaceChildren();
      this.sentence.textContent = 'There is no recording yet. “leat trace -- PROGRAM” writes one: a file whose name ends in .perfetto-trace.';
      return;
    }
    this.causes.parentElement!.hidden = false;
    this.view.canvas.hidden = settings.timeline.view === 'tables';
    if (this.trace?.file !== file.name || this.modified !== file.modified) {
      const asked = ++this.asked;
      this.sentence.textContent = `Loading ${file.name}.`;
      try {
        const trace = await fetchTrace(file.name);
        if (asked !== this.asked) return;
        [this.trace, this.modified, this.selected] = [trace, file.modified, []];
        this.view.set(trace);
      } catch (error) {
        return this.fail(error as Error);
      }
    }
    const isLinked = await this.selectLinked();
    await this.showStep(!isLinked);
  }

  // Selects the kernel of the node that the link names; false where it names none that is not selected already.
  private async selectLinked(): Promise<boolean> {
    const trace = this.trace, node = settings.timeline.node, now = this.selected[0];
    if (!trace || !node || now && trace.names[now.name].node === node) return false;
    const name = nameOfNode(trace, node);
    if (name >= 0) await this.selectLongest(name);
    return name >= 0;
  }

  // ---- Steps ------------------------------------------------------------------------------------
  // Of the group the steps that are listed: the slowest where there are many.
  private listed(trace: Trace): Step[] {
    const steps = trace.steps.filter(step => step.group === this.group);
    if (steps.length <= LISTED) return steps;
    return steps.sort((a, b) => b.end - b.begin - a.end + a.begin).slice(0, LISTED).sort((a, b) => a.index - b.index);
  }

  // Asks for the steps until the server has found them, and shows the recording without them meanwhile. False where something
  // else is shown by then.
  private async awaitSteps(trace: Trace, asked: number): Promise<boolean> {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      try {
        await fetchSteps(trace);
      } catch (error) {
        this.fail(error as Error);
        return false;
      }
      if (asked !== this.asked || trace.areFound) return asked === this.asked;
      if (wait === FIRST_WAIT_MS) this.fill(trace);
      await new Promise(done => setTimeout(done, wait));
      if (asked !== this.asked) return false;
    }
  }

  private async showStep(reveals = true): Promise<void> {
    const trace = this.trace as Trace, asked = ++this.asked;
    this.delays = {path: [], delays: []};
    if (!trace.areFound && !await this.awaitSteps(trace, asked)) return;
    if (settings.timeline.other && !trace.steps[settings.timeline.step]) {
      settings.timeline.step = (trace.groups[settings.timeline.group] || trace.groups[trace.mainGroup])?.slowest ?? -1;
    }
    const step = trace.steps[settings.timeline.step];
    this.group = step ? step.group : trace.groups[settings.timeline.group] ? settings.timeline.group : trace.mainGroup;
    try {
      if (trace.groups.length) this.delays = await fetchDelays(trace.file, step ? 'step' : 'group', step ? step.index : this.group);
    } catch (error) {
      return this.fail(error as Error);
    }
    if (asked !== this.asked) return;
    this.fill(trace, step);
    if (step && reveals) this.view.reveal(step.begin, step.end, 0.9, step.row);
    await this.comparison.show(step ? {trace, step, delays: this.delays} : null);
    if (asked !== this.asked) return;
    this.comparison.follow(...this.view.window);
    this.fillTools(trace);
    this.shown = this.wanted();
  }

  private fill(trace: Trace, step?: Step): void {
    this.fillTools(trace);
    this.tell(trace, step);
    this.view.setPath(this.delays.path);
    this.fillDelays(trace, step);
    this.fillTables(trace, step);
    this.find();
  }

  private tell(trace: Trace, step?: Step): void {
    const group = trace.groups[this.group];
    this.sentence.textContent = `${countOf(trace.slices, 'slice')} on ${countOf(trace.rows.length, 'row')} in ${formatNanoseconds(trace.length)}` +
      (trace.damaged ? `, ${trace.damaged} of them damaged. ` : '. ') + (!trace.areFound ? 'Its steps and their delays are being found.' : !group ? 'The recording has no step.'
        : step ? `Step ${step.number} took ${formatNanoseconds(step.end - step.begin)}; ` + (group.steps === 1 ? 'no other is like it.'
          : `the median of the ${group.steps} steps that are alike is ${formatNanoseconds(group.median)}.`)
        : group.steps === 1 ? `A step of this kind ran once and took ${formatNanoseconds(group.median)}.`
        : `${group.steps} steps are alike; the median takes ${formatNanoseconds(group.median)}.`);
  }

  private choose(step: number, group: number): void {
    [settings.timeline.step, settings.timeline.group] = [step, group];
    writeLink();
    void this.showStep();
  }

  private fillTools(trace: Trace): void {
    const focus = document.activeElement?.id, isTable = settings.timeline.view === 'tables', group = trace.groups[this.group];
    const parts = [choice('timeline-file', 'Recording', this.files.map(f => [f.name, `${f.name} (${formatBytes(f.bytes)})`]), trace.file, file => {
      Object.assign(settings.timeline, {file, step: -1, group: -1, node: ''});
      writeLink();
      void this.show();
    })];
    if (group) {
      const kinds = trace.groups.map((g, i): [string, string] => [String(i), `${countOf(g.steps, 'step')} of ${formatNanoseconds(g.median)}, ` +
        threadOf(trace, trace.steps[g.slowest]?.row ?? 0)]).sort((a, b) => trace.groups[Number(b[0])].total - trace.groups[Number(a[0])].total);
      parts.push(choice('timeline-group', 'Steps that are alike', kinds.slice(0, LISTED), String(this.group), g => this.choose(-1, Number(g))));
      const steps = this.listed(trace).map((s): [string, string] => [String(s.index), `step ${s.number}: ${formatNanoseconds(s.end - s.begin)}`]);
      parts.push(choice('timeline-step', 'Step', [['-1', 'all, on average'], ...steps], String(settings.timeline.step), s => this.choose(Number(s), this.group)));
      parts.push(button('Slowest', () => this.choose(group.slowest, this.group), {id: 'timeline-slowest'}));
    }
    if (group) parts.push(...this.comparison.tools(trace, this.files, () => void this.showStep()));
    parts.push(choice('timeline-view', 'View', [['drawing', 'drawing'], ['tables', 'tables']], settings.timeline.view, view => {
      settings.timeline.view = view;
      writeLink();
      this.fillTools(trace);
      this.comparison.draw();
      this.shown = this.wanted();
    }));
    this.controls.replaceChildren(...parts);
    this.view.canvas.hidden = isTable;
    this.tables.hidden = !isTable;
    if (focus?.startsWith('timeline-') && focus !== 'timeline-search') document.getElementById(focus)?.focus();
    this.view.draw();
  }

  private fillDelays(trace: Trace, step?: Step): void {
    const item = (delay: Delay) => element('li', {}, element('strong', {}, formatNanoseconds(delay.gain)), ' ', delay.sentence +
      ` (median step: ${formatNanoseconds(delay.median)}). `, button('Show', () => this.view.reveal(delay.begin, delay.end, 0.7, delay.row), {class: 'link', 'aria-label': 'Show: ' + delay.sentence}));
    const what = step ? `What made step ${step.number} longer than the median` : 'What a step would gain, on average, without';
    this.causes.replaceChildren(element('h3', {}, what), this.delays.delays.length
      ? element('ol', {class: 'neighbours'}, ...this.delays.delays.slice(0, SHOWN).map(item))
      : element('p', {class: 'what'}, trace.areFound ? 'Nothing was found.' : 'Delays are being found.'));
  }

  // The arrows in the window as a list, and the one that is told as a sentence below the drawing.
  private tellArrows(arrows: Arrow[], told: Arrow | null): void {
    const focused = this.greatest.contains(document.activeElement) ? document.activeElement!.getAttribute('aria-label') : null;
    if (told) this.reading.textContent = `${formatNanoseconds(told.ns)}: ${told.sentence}.`;
    this.greatest.replaceChildren(...(arrows.length ? [element('h3', {}, 'The greatest delays in the window'),
      element('ol', {class: 'neighbours'}, ...arrows.map(arrow => element('li', arrow === told ? {'aria-current': 'true'} : {},
        element('strong', {}, formatNanoseconds(arrow.ns)), ` ${arrow.sentence}. `,
        button('Show', () => {
          this.view.tell(arrow);
          this.view.reveal(arrow.begin, arrow.end, 0.5, arrow.row);
        }, {class: 'link', 'aria-label': 'Show: ' + arrow.sentence}))))] : []));
    if (!focused) return;
    const again = [...this.greatest.querySelectorAll('button')].find(b => b.getAttribute('aria-label') === focused);
    (again || this.view.canvas).focus();
  }

  // ---- Tables -----------------------------------------------------------------------------------
  private fillTables(trace: Trace, step?: Step): void {
    const first = (all: number) => all > ROWS ? `The first ${ROWS} of ${all}` : 'All';
    const delays = this.delays.delays, path = this.delays.path;
    const names = trace.names.map((_, i) => i).filter(i => trace.kinds[trace.names[i].kind] !== 'memory held').sort((a, b) => trace.names[b].total - trace.names[a].total);
    const parts = [table('Delays, the greatest first', ['Gain', 'Cause', 'What', 'Median step'], delays.slice(0, ROWS).map(d =>
      [formatNanoseconds(d.gain), trace.causes[d.cause], d.sentence, formatNanoseconds(d.median)]))];
    if (step) {
      parts.push(table(`${first(path.length)} pieces of the critical path of step ${step.number}`, ['From the step’s beginning', 'Time', 'Cause', 'Kernel', 'Thread'],
        path.slice(0, ROWS).map(([begin, end, row, cause, name]) => [formatNanoseconds(begin - step.begin), formatNanoseconds(end - begin),
          trace.causes[cause], name < 0 ? '' : nameOf(trace, name), threadOf(trace, row)])));
    }
    parts.push(table(`${first(names.length)} ops, nodes and waits by their time`, ['What', 'Kind', 'Slices', 'In all', 'Longest'], names.slice(0, ROWS).map(i => {
      const name = trace.names[i];
      return [button(nameOf(trace, i), () => void this.selectLongest(i), {class: 'link'}), trace.kinds[name.kind] || 'slice', String(name.count),
              formatNanoseconds(name.total), formatNanoseconds(name.end - name.begin)];
    })));
    this.tables.replaceChildren(...parts);
  }

  // ---- Selection --------------------------------------------------------------------------------
  private async select(place: Place | null): Promise<void> {
    if (!place || !this.trace) return this.clear();
    const isSeveral = place.item.count > 1;
    if (isSeveral) this.reading.textContent = describeItem(this.trace, place.row, place.item);
    await this.selectSlice(place.row, place.depth, place.item.slice, isSeveral);
  }

  private clear(): void {
    this.selected = [];
    settings.timeline.node = '';
    writeLink();
    this.view.select(null);
    this.reading.textContent = '';
    this.selection.replaceChildren();
  }

  // |isFirst|: of several that are drawn as one, which the line below the drawing tells already.
  private async selectSlice(row: number, depth: number, slice: number, isFirst = false): Promise<void> {
    const trace = this.trace as Trace;
    try {
      this.selected = await fetchSlice(trace.file, row, depth, slice);
    } catch {
      return;  // there is no slice before the first and behind the last
    }
    this.view.select(this.selected[0]);
    if (!isFirst) this.reading.textContent = describe(trace, this.selected);
    this.fillSelection(trace);
    void this.addFacts(trace, this.selected[0]);
  }

  // Adds what is known of the node of the slice, and where it stands in a graph.
  private async addFacts(trace: Trace, slice: Slice): Promise<void> {
    const {node, kind} = trace.names[slice.name], isKernel = trace.kinds[kind].endsWith('kernel');
    settings.timeline.node = isKernel ? node : '';
    writeLink();
    if (!node || !isKernel) return;
    const [facts, link] = await Promise.all([fetchNode(trace.file, slice.name), this.graphLink(node)]);
    const list = this.selection.querySelector('dl');
    if (slice !== this.selected[0] || !list) return;
    const rate = facts?.flops ? ` (${(facts.flops / Math.max(slice.end - slice.begin, 1)).toPrecision(3)} GFLOP/s)` : '';
    const pairs = facts ? [['Device', facts.device], ['Outputs', facts.outputs.join(', ')],
                           ['Operations', facts.flops === null ? '' : `${formatNumber(facts.flops)} of floating point${rate}`], ['Source', facts.source]] : [];
    list.append(...pairs.filter(([, text]) => text).flatMap(([term, text]) => [element('dt', {}, term), element('dd', {}, text)]));
    if (link) this.selection.append(' ', element('a', {href: link, class: 'link'}, 'Show in the graph'));
  }

  // A link to |node| in a run's graph, or to the node in whose place the optimizer put it; '' where no graph has it.
  private async graphLink(node: string): Promise<string> {
    const runs = Object.values<any>(await getJson('/data/plugin/graphs/info')).filter(run => run.run_graph).slice(0, SEARCHED_RUNS);
    for (const {run} of runs) {
      const source = {run, tag: '', placed: false, stage: -1};
      for (let name = node; name; name = name.slice(0, Math.max(name.lastIndexOf('/_'), 0))) {
        const {named} = await fetchDrawing(source, [], '', '', [], name);
        if (named) return linkWith({page: 'graphs', graph: {...settings.graph, ...source, open: [], selected: named, steps: '', values: ''}});
      }
    }
    return '';
  }

  private async selectNext(by: number): Promise<void> {
    const now = this.selected[0];
    if (now) await this.selectSlice(now.row, now.depth, now.slice + by);
  }

  private async selectLongest(name: number): Promise<void> {
    const {row, depth, slice, begin, end} = (this.trace as Trace).names[name];
    this.view.reveal(begin, end, 0.2);
    await this.selectSlice(row, depth, slice);
  }

  private fillSelection(trace: Trace): void {
    const [slice, ...around] = this.selected, name = trace.names[slice.name], kind = trace.kinds[name.kind] || 'slice';
    const value = valueOf(kind, slice.value), who = whoOf(trace, slice);
    const pairs: [string, string | Node][] = [['Kind', kind], ['From', formatNanoseconds(slice.begin)], ['Time', formatNanoseconds(slice.end - slice.begin)],
      [ROWS_OF[groupOf(trace, slice.row)] || 'Row', threadOf(trace, slice.row)]];
    if (value) pairs.push(value);
    if (who) pairs.push(who);
    pairs.push(['In all', `${countOf(name.count, 'slice')}, ${formatNanoseconds(name.total)}`]);
    if (around.length) pairs.push(['Within', element('span', {}, ...around.flatMap((a, i) => [i ? ', ' : '',
      button(nameOf(trace, a.name), () => void this.selectSlice(a.row, a.depth, a.slice), {class: 'link'})]))]);
    this.selection.replaceChildren(element('h3', {}, nameOf(trace, slice.name)),
      element('dl', {}, ...pairs.flatMap(([term, text]) => [element('dt', {}, term), element('dd', {}, text)])),
      button('Zoom to it', () => this.view.reveal(slice.begin, slice.end)));
  }

  private find(): void {
    const trace = this.trace, wanted = this.search.value.toLowerCase();
    if (!trace) return;
    const found = wanted ? trace.names.map((_, i) => i).filter(i => nameOf(trace, i).toLowerCase().includes(wanted)) : [];
    this.count.textContent = wanted ? `${found.length} found` : '';
    this.found.replaceChildren(...found.slice(0, FOUND).map(i => element('li', {},
      button(nameOf(trace, i), () => void this.selectLongest(i), {class: 'link'}), ' ',
      element('span', {class: 'what'}, `${trace.kinds[trace.names[i].kind] || 'slice'}, ${formatNanoseconds(trace.names[i].total)}`))));
  }
}
