// The page of histograms: how the values under a tag are distributed, step by step.
import {Card, CardFrame, isNear, keyCursor, shortName} from './cards';
import {indexUpTo} from './chart';
import {choice, element, getJson, table} from './dom';
import {Histogram, Quantiles, drawBands, drawRidges, thin} from './histogram_chart';
import {Loader, RunItem, RunPage} from './run_cards';
import {asCsv, asJson, saveChoice} from './save';
import {noteStep, settings, writeLink} from './state';
import {formatNumber} from './words';

// The value below which |share| of 10,000 lies.
function quantile(q: Quantiles, share: number): number {
  return q[2].find(([at]) => at === share)?.[1] ?? NaN;
}

function describeStep(q: Quantiles): string {
  const [low, middle, high] = [0, 5000, 10000].map(at => formatNumber(quantile(q, at)));
  const [from, to] = [1587, 8413].map(at => formatNumber(quantile(q, at)));
  return `step ${q[1]}: median ${middle}, two thirds between ${from} and ${to}, all between ${low} and ${high}`;
}

// "The median fell from 1.0 to 0.02 and the spread grew from 0.6 to 1.2 between the steps 0 and 54."
function describeCourse(all: Quantiles[]): string {
  if (!all.length) return 'There are no histograms.';
  const [first, last] = [all[0], all[all.length - 1]];
  if (all.length === 1) return `At ${describeStep(first)}.`;
  const spread = (q: Quantiles) => quantile(q, 8413) - quantile(q, 1587);
  const verb = (a: number, b: number, more: string, less: string) => {
    const near = Math.abs(b - a) <= Math.max(Math.abs(a), spread(first), spread(last)) / 50;
    return near ? `stayed near ${formatNumber(b)}`
                : `${b > a ? more : less} from ${formatNumber(a)} to ${formatNumber(b)}`;
  };
  return `The median ${verb(quantile(first, 5000), quantile(last, 5000), 'rose', 'fell')} and the ` +
    `spread of the middle two thirds ${verb(spread(first), spread(last), 'grew', 'shrank')} ` +
    `between the steps ${first[1]} and ${last[1]}.`;
}

class HistogramCard implements Card {
  readonly root: HTMLElement;
  private readonly canvas = element('canvas', {class: 'chart', tabindex: '0', role: 'img'});
  private readonly frame: CardFrame;
  private readonly loader: Loader<[Histogram[], Quantiles[]]>;
  private histograms: Histogram[] = [];
  private quantiles: Quantiles[] = [];
  private cursor: number | null = null;
  private ridges: {y: number; index: number}[] = [];
  private scale = {left: 0, right: 1, first: 0, last: 1};

  constructor(private readonly item: RunItem) {
    const label = `${item.tag}, ${item.run}`;
    this.frame = new CardFrame(shortName(item.tag), label, this.canvas, () => this.makeTable(),
                               () => this.draw(), item.run);
    this.root = this.frame.root;
    this.frame.buttons.prepend(saveChoice(label, {JSON: () => asJson(this.histograms),
      CSV: () => asCsv([['step', 'wall_time', 'left', 'right', 'count'], ...this.histograms.flatMap(
        ([time, step, buckets]) => buckets.map(bucket => [step, time, ...bucket]))])}));
    const names = {run: item.run, tag: item.tag};
    this.loader = new Loader(() => Promise.all([
      getJson('/data/plugin/histograms/histograms', names),
      getJson('/data/plugin/distributions/distributions', names)]), ([histograms, quantiles]) => {
        this.histograms = histograms;
        this.quantiles = quantiles;
        quantiles.forEach((q: Quantiles) => noteStep(q[1]));
        this.frame.sentence.textContent = describeCourse(quantiles);
        this.canvas.setAttribute('aria-label',
          `${label}: ${describeCourse(quantiles)} The arrow keys read out steps.`);
        this.frame.refreshTable();
      }, text => { this.frame.sentence.textContent = text; });
    keyCursor(this.canvas, () => this.quantiles.length, at => this.setCursor(at));
    this.canvas.onpointermove = event => this.setCursor(this.indexAt(event.offsetX, event.offsetY));
    this.canvas.onpointerleave = () => {
      if (document.activeElement !== this.canvas) this.setCursor(null);
    };
  }

  async show(): Promise<void> {
    await this.loader.load();
    this.draw();
  }

  draw(): void {
    if (!isNear(this.root.getBoundingClientRect())) return;
    const marked = settings.step < 0 ? -1 : indexUpTo(this.quantiles.map((q: Quantiles) => q[1]), settings.step);
    const at = this.cursor ?? (marked < 0 ? null : marked);
    if (settings.bands) this.scale = drawBands(this.canvas, this.quantiles, at);
    else this.ridges = drawRidges(this.canvas, this.histograms, at);
  }

  private indexAt(x: number, y: number): number | null {
    if (!this.quantiles.length) return null;
    if (!settings.bands) {
      return this.ridges.find(place => place.y >= y - 2)?.index ?? this.quantiles.length - 1;
    }
    const {left, right, first, last} = this.scale;
    const step = first + (x - left) / (right - left) * (last - first);
    let best = 0;
    this.quantiles.forEach((q, i) => {
      if (Math.abs(q[1] - step) < Math.abs(this.quantiles[best][1] - step)) best = i;
    });
    return best;
  }

  private setCursor(at: number | null): void {
    if (at === this.cursor) return;
    this.cursor = at;
    const q = at === null ? null : this.quantiles[at];
    this.frame.reading.textContent = q ? describeStep(q) : '';
    this.draw();
  }

  private makeTable(): HTMLElement {
    const kept = thin(this.quantiles, 200);
    return table(`${this.quantiles.length} steps`, ['Step', 'Lowest', '7 %', '16 %', '31 %', 'Median',
                                                    '69 %', '84 %', '93 %', 'Highest'],
                 kept.map(q => [String(q[1]), ...q[2].map(v => formatNumber(v[1]))]));
  }
}

export class Histograms extends RunPage {
  name = 'histograms';
  title = 'Histograms';
  plugins = ['histograms'];

  constructor() {
    super('histograms', 'There are no histograms yet.', item => new HistogramCard(item));
    this.tools = choice('histogram-form', 'Drawn as', [['ridges', 'Ridges, one a step'],
      ['bands', 'Bands (distributions)']], settings.bands ? 'bands' : 'ridges', value => {
        settings.bands = value === 'bands';
        writeLink();
        this.draw();
      });
  }
}
