// The page of precision and recall: a card for each tag, a line for each run, at one step of each.
import {Card, CardFrame, CardList, Item, isNear, keyCursor, shortName} from './cards';
import {Line, Look, Scale, drawChart, drawLines} from './chart';
import {element, getJson, table, address} from './dom';
import {Loader, StepSlider} from './run_cards';
import {asCsv, asJson, saveChoice} from './save';
import {styleOf} from './run_groups';
import {Page, nameOf, shownRuns, state} from './state';
import {SvgPen} from './svg_pen';
import {formatNumber} from './words';

const LOOK: Look = {axis: 'step', log: false, clip: false, smoothed: false, cursor: null, isShare: true};

interface Curve {
  step: number;
  precision: number[];
  recall: number[];
  thresholds: number[];
}

// The area below the curve, by trapezes.
function areaOf(curve: Curve): number {
  let area = 0;
  for (let i = 1; i < curve.recall.length; ++i) {
    area += (curve.recall[i - 1] - curve.recall[i]) * (curve.precision[i - 1] + curve.precision[i]) / 2;
  }
  return area;
}

interface CurveItem extends Item {
  runs: string[];
}

class CurveCard implements Card {
  readonly root: HTMLElement;
  private readonly canvas = element('canvas', {class: 'chart', tabindex: '0', role: 'img'});
  private readonly frame: CardFrame;
  private readonly steps: StepSlider;
  private readonly loader: Loader<Record<string, Curve[]>>;
  private all: Record<string, Curve[]> = {};
  private known: number[] = [];
  private shown: {run: string; curve: Curve}[] = [];
  private lines: Line[] = [];
  private scale: Scale = {left: 0, width: 1, x0: 0, x1: 1};
  private cursor: number | null = null;  // an index of thresholds

  constructor(private readonly item: CurveItem) {
    this.steps = new StepSlider(item.tag, index => this.choose(index));
    const body = element('div', {}, this.steps.root, this.canvas);
    this.frame = new CardFrame(shortName(item.tag), item.tag, body, () => this.makeTable(), () => this.draw());
    this.root = this.frame.root;
    this.frame.buttons.prepend(saveChoice(item.tag, {CSV: () => this.asCsv(), JSON: () => asJson(this.all),
      SVG: () => {
        const pen = new SvgPen(this.canvas.clientWidth, this.canvas.clientHeight);
        drawLines(pen, pen.width, pen.height, this.lines, LOOK);
        return pen.finish(item.tag);
      }}));
    this.loader = new Loader(() => this.ask(), all => {
      this.all = all;
      this.known = [...new Set(Object.values(all).flatMap(curves => curves.map(c => c.step)))]
        .sort((a, b) => a - b);
      this.steps.set(this.known);
    }, text => { this.frame.sentence.textContent = text; });
    keyCursor(this.canvas, () => this.shown[0]?.curve.thresholds.length || 0, at => this.setCursor(at));
    this.canvas.onpointermove = event => {
      const recall = this.scale.x0 + (event.offsetX - this.scale.left) / this.scale.width *
        (this.scale.x1 - this.scale.x0);
      const all = this.shown[0]?.curve.recall || [];
      let best = 0;
      all.forEach((r, i) => { if (Math.abs(r - recall) < Math.abs(all[best] - recall)) best = i; });
      this.setCursor(all.length ? best : null);
    };
    this.canvas.onpointerleave = () => {
      if (document.activeElement !== this.canvas) this.setCursor(null);
    };
  }

  private runs(): string[] {
    const shown = shownRuns();
    return this.item.runs.filter(run => shown.includes(run));
  }

  private async ask(): Promise<Record<string, Curve[]>> {
    const query = new URLSearchParams({tag: this.item.tag});
    for (const run of this.runs()) query.append('run', run);
    if (!this.runs().length) return {};
    const answer = await fetch(address('/data/plugin/pr_curves/pr_curves') + '?' + query);
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  }

  // Each run shows the newest curve up to the chosen step.
  private choose(index: number): void {
    const step = this.known[index];
    this.shown = this.runs().flatMap(run => {
      const curve = (this.all[run] || []).filter(c => c.step <= step).pop();
      return curve ? [{run, curve}] : [];
    });
    this.lines = this.shown.map(({run, curve}) => {
      const x = Float64Array.from(curve.recall), y = Float64Array.from(curve.precision);
      return {name: nameOf(run), style: styleOf(run), x, y, raw: y, step: x};
    });
    const told = this.shown.map(({run, curve}) =>
      `${run}: area ${formatNumber(areaOf(curve))} at step ${curve.step}`).join('. ');
    this.frame.sentence.textContent = told ? told + '. Recall to the right, precision upwards.'
                                           : 'No run that is shown has this tag.';
    this.canvas.setAttribute('aria-label', `Precision over recall of ${this.item.tag}. ${told}. ` +
      'The arrow keys read out thresholds.');
    this.frame.refreshTable();
    this.draw();
  }

  private setCursor(at: number | null): void {
    if (at === this.cursor) return;
    this.cursor = at;
    this.frame.reading.textContent = at === null ? '' : this.shown.slice(0, 8).map(({run, curve}) => {
      const i = Math.min(at, curve.recall.length - 1);
      return `${run}: precision ${formatNumber(curve.precision[i])}, recall ` +
        `${formatNumber(curve.recall[i])} at the threshold ${formatNumber(curve.thresholds[i])}`;
    }).join('; ');
    this.draw();
  }

  async show(): Promise<void> {
    await this.loader.load(this.runs().join('\n'));
    if (!this.runs().length) this.choose(0);
    this.draw();
  }

  draw(): void {
    if (!isNear(this.root.getBoundingClientRect())) return;
    const curve = this.shown[0]?.curve;
    const at = this.cursor === null || !curve ? null
      : curve.recall[Math.min(this.cursor, curve.recall.length - 1)];
    this.scale = drawChart(this.canvas, this.lines, {...LOOK, cursor: at});
  }

  // The curves that are shown, point by point.
  private asCsv(): string {
    return asCsv([['run', 'step', 'threshold', 'precision', 'recall'], ...this.shown.flatMap(({run, curve}) =>
      curve.recall.map((recall, i) => [run, curve.step, curve.thresholds[i], curve.precision[i], recall]))]);
  }

  private makeTable(): HTMLElement {
    const longest = Math.max(0, ...this.shown.map(s => s.curve.thresholds.length));
    const rows = Array.from({length: longest}, (_, i) => [
      formatNumber(this.shown.find(s => i < s.curve.thresholds.length)!.curve.thresholds[i]),
      ...this.shown.flatMap(({curve}) => i < curve.recall.length
        ? [formatNumber(curve.precision[i]), formatNumber(curve.recall[i])] : ['', ''])]);
    return table('By threshold', ['Threshold', ...this.shown.flatMap(({run}) =>
      [run + ' precision', run + ' recall'])], rows);
  }
}

export class PrCurves implements Page {
  name = 'pr_curves';
  title = 'PR curves';
  plugins = ['pr_curves'];
  usesRuns = true;
  usesTags = true;
  root = element('div');
  private items: CurveItem[] = [];
  private readonly cards = new CardList<CurveItem>(
    this.root, 'There are no curves of precision and recall yet.', item => new CurveCard(item));

  async reload(): Promise<void> {
    const index = await getJson('/data/plugin/pr_curves/tags'), tags = new Map<string, string[]>();
    for (const [run, of] of Object.entries<any>(index)) {
      for (const tag of Object.keys(of)) tags.set(tag, [...tags.get(tag) || [], run]);
    }
    // A card keeps its item, which learns of runs that came later.
    const known = new Map(this.items.map(item => [item.tag, item]));
    this.items = [...tags].map(([tag, runs]) => Object.assign(known.get(tag) || {key: tag, tag, runs}, {runs}));
    await this.redraw();
  }

  redraw(): Promise<void> {
    return this.cards.set(this.items);
  }

  draw(): void {
    this.cards.draw();
  }
}
