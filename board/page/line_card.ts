// A card with a chart of lines. The chart can be read without seeing it: a sentence says what its
// lines do, the arrow keys move a cursor whose values are read out, and a button shows the numbers as
// a table. The numbers and the chart can be saved, and lines can be heard.
import {Card, CardFrame, isNear, keyCursor, swatchOf} from './cards';
import {Line, Look, Scale, drawChart, drawLines, indexUpTo, isDark, shareOfX, xAtShare} from './chart';
import type {Series} from './columns';
import {button, element, table} from './dom';
import {curvesAsCsv, curvesAsJson, saveChoice} from './save';
import {playLines} from './sound';
import {nameOf, noteStep, settings, shownRuns, state} from './state';
import {SvgPen} from './svg_pen';
import {describe, formatDuration, formatNumber, smooth} from './words';

const MANY_LINES = 30;

// One or more series under one heading.
export interface Subject {
  heading: string;
  label: string;               // what the card is about, for people and for names of files
  ask(): Promise<Series[]>;    // of the runs that are shown
  arrange(series: Series[]): Curve[];  // the lines that are made of them
  nothing: string;             // the sentence where there are none
  buttons?: HTMLElement[];     // that the card has beside its own
}

// A series, and how its line looks.
export interface Curve extends Series {
  name: string;
  style: number;
  low?: Float64Array;  // a band around its values
  high?: Float64Array;
}

export class LineCard implements Card {
  readonly root: HTMLElement;
  private readonly canvas = element('canvas', {class: 'chart', tabindex: '0', role: 'img'});
  private readonly legend = element('ul', {class: 'legend'});
  private legendOf: Curve[] | null = null;  // the series and the theme that the legend was made for
  private legendTheme = false;
  private readonly frame: CardFrame;
  private loadedSeries: Series[] = [];
  private series: Curve[] = [];
  private lines: Line[] = [];
  private placesOf: number[] | null = null;  // of the cursor, when it was first used
  private scale: Scale = {left: 0, width: 1, x0: 0, x1: 1};
  private readonly sound = button('Listen', () => this.listen(), {'aria-pressed': 'false'});
  private silence: (() => void) | null = null;  // ends the sound that plays
  private cursor: number | null = null;
  private zoom: [number, number] | null = null;
  private chosen: [number, number] | null = null;  // while the mouse draws a stretch
  private axis = '';
  private loaded = '';  // what was asked for
  private asked = 0;  // how many questions were asked
  private answered = 0;  // the last one whose answer is shown

  constructor(private readonly subject: Subject) {
    this.frame = new CardFrame(subject.heading, subject.label, element('div', {}, this.canvas, this.legend), () => this.makeTable(), () => this.draw());
    this.root = this.frame.root;
    keyCursor(this.canvas, () => this.places.length,
              at => this.setCursor(at === null ? null : this.places[at]));
    this.frame.buttons.prepend(saveChoice(subject.label, {
      CSV: () => curvesAsCsv(this.series), JSON: () => curvesAsJson(this.series), SVG: () => this.asSvg()}));
    this.frame.buttons.prepend(...(subject.buttons || []), this.sound);
    this.canvas.addEventListener('keydown', event => this.onZoomKey(event));
    this.canvas.onpointerdown = event => {
      if (event.button || event.pointerType === 'touch') return;
      this.canvas.setPointerCapture(event.pointerId);
      this.chosen = [this.xAt(event), this.xAt(event)];
    };
    this.canvas.onpointermove = event => {
      if (this.chosen) this.chosen[1] = this.xAt(event);
      this.moveTo(this.xAt(event));
      if (this.chosen) this.draw();
    };
    this.canvas.onpointerup = event => this.endChoice(event);
    this.canvas.ondblclick = () => this.setZoom(null);
    this.canvas.onpointerleave = () => {
      if (document.activeElement !== this.canvas) this.setCursor(null);
    };
  }

  async show(): Promise<void> {
    const wanted = state.version + '|' + shownRuns().join('\n');
    if (this.loaded !== wanted) {
      this.loaded = wanted;
      const question = ++this.asked;
      try {
        const series = shownRuns().length ? await this.subject.ask() : [];
        if (this.answered > question) return;  // the answer to a newer question counts
        this.loadedSeries = series;
        this.answered = question;
      } catch (error) {
        if (this.answered > question) return;
        this.loaded = '';
        this.frame.sentence.textContent = 'Loading failed: ' + (error as Error).message;
        return;
      }
    } else if (this.answered < this.asked && !this.loadedSeries.length) {
      return;  // what was asked for is on its way
    }
    this.prepare();
    this.draw();
  }

  private get places(): number[] {
    return this.placesOf ??= [...new Set(this.lines.flatMap(line => [...line.x]))].sort((a, b) => a - b);
  }

  private prepare(): void {
    const axis = settings.axis + settings.logX;
    if (this.axis !== axis) this.zoom = null;  // it was of other units
    this.axis = axis;
    this.sound.hidden = !settings.sound;
    if (!settings.sound) this.silence?.();
    this.series = this.subject.arrange(this.loadedSeries);
    for (const s of this.series) noteStep(greatest(s.steps));
    const smoothed = (values: Float64Array) => settings.smoothing > 0 ? smooth(values, settings.smoothing) : values;
    this.lines = this.series.filter(s => s.values.length).map(s => {
      const begin = s.times[0];
      return {name: s.name, style: s.style, step: s.steps, raw: s.values, low: s.low && smoothed(s.low), high: s.high && smoothed(s.high),
              x: settings.axis === 'step' ? s.steps
                : settings.axis === 'wall' ? s.times : s.times.map(t => t - begin),
              y: smoothed(s.values)};
    });
    this.placesOf = null;
    const told = this.series.slice(0, 3).map(s => `${s.name} ${describe(s)}`);
    const more = this.series.length - told.length;
    const rest = more > 1 ? `. ${more} more lines.` : more ? '. One more line.' : '.';
    const text = (told.length ? told.join('. ') + rest : this.subject.nothing) + this.atStep();
    this.frame.sentence.textContent = text;
    this.canvas.setAttribute('aria-label', `${this.subject.label}: ${text} The arrow keys read out values, plus and minus zoom.`);
    this.frame.refreshTable();
  }

  // What the lines have at the step that the page marks.
  private atStep(): string {
    const marked = settings.step < 0 ? [] : this.lines.slice(0, 8).flatMap(line => {
      const i = indexUpTo(line.step, settings.step);
      return i < 0 ? [] : [`${line.name} ${formatNumber(line.raw[i])}` + (line.step[i] < settings.step ? ` (of step ${line.step[i]})` : '')];
    });
    return marked.length ? ` At step ${settings.step}: ${marked.join('; ')}.` : '';
  }

  private listen(): void {
    const isPlaying = !!this.silence;
    this.silence?.();
    if (isPlaying || !this.lines.length) return;
    this.silence = playLines(this.lines.slice(0, 8).map(line => line.y), {
      onLine: i => { this.frame.reading.textContent = 'Playing ' + this.lines[i].name; },
      onEnd: () => {
        this.silence = null;
        this.frame.reading.textContent = '';
        this.sound.setAttribute('aria-pressed', 'false');
      }});
    this.sound.setAttribute('aria-pressed', 'true');
  }

  // Runs stand in the list beside the page; other lines are named here, in the colours of the theme.
  private drawLegend(): void {
    const others = this.series.some(s => s.name !== nameOf(s.run)) ? this.series.slice(0, MANY_LINES) : [];
    this.legend.replaceChildren(...others.map(s => element('li', {}, swatchOf(s.style), s.name)));
    this.legend.hidden = !others.length;
  }

  draw(): void {
    if (!isNear(this.root.getBoundingClientRect())) return;
    const theme = isDark();
    if (this.legendOf !== this.series || this.legendTheme !== theme) this.drawLegend();
    [this.legendOf, this.legendTheme] = [this.series, theme];
    this.scale = drawChart(this.canvas, this.lines, this.look());
  }

  private look(): Look {
    return {axis: settings.axis, log: settings.log, logX: settings.logX, clip: settings.clip,
            mark: settings.step < 0 ? undefined : settings.step,
            smoothed: settings.smoothing > 0, cursor: this.cursor, zoom: this.zoom, chosen: this.chosen};
  }

  private asSvg(): string {
    const pen = new SvgPen(this.canvas.clientWidth, this.canvas.clientHeight);
    drawLines(pen, pen.width, pen.height, this.lines, {...this.look(), cursor: null});
    return pen.finish(this.subject.label);
  }

  // ---- Zoom -------------------------------------------------------------------------------------
  private xAt(event: PointerEvent): number {
    const share = (event.offsetX - this.scale.left) / this.scale.width;
    return xAtShare(this.scale, Math.min(Math.max(share, 0), 1));
  }

  private endChoice(event: PointerEvent): void {
    const chosen = this.chosen;
    this.chosen = null;
    if (!chosen) return;
    const [from, to] = [chosen[0], this.xAt(event)].sort((a, b) => a - b);
    // A click is no stretch.
    if (shareOfX(this.scale, to) - shareOfX(this.scale, from) > 0.02) this.setZoom([from, to]);
    else this.draw();
  }

  private setZoom(zoom: [number, number] | null): void {
    this.zoom = zoom;
    this.frame.reading.textContent = zoom
      ? `Zoomed: ${zoom.map(formatNumber).join(' to ')}. 0 or a double click shows all.` : '';
    this.draw();
  }

  // Plus and minus zoom around the cursor, or around the middle.
  private onZoomKey(event: KeyboardEvent): void {
    const by = event.key === '+' || event.key === '=' ? 0.5 : event.key === '-' ? 2 : 0;
    if (event.key === '0') this.setZoom(null);
    if (!by || !this.places.length) return;
    const places = this.scale.log ? this.places.filter(x => x > 0) : this.places;
    const first = places[0], last = places[places.length - 1];
    const at = this.cursor === null ? 0.5 : shareOfX(this.scale, this.cursor);
    const zoom: [number, number] = [Math.max(xAtShare(this.scale, at - at * by), first),
                                    Math.min(xAtShare(this.scale, at + (1 - at) * by), last)];
    this.setZoom(zoom[0] <= first && zoom[1] >= last ? null : zoom);
  }

  // The cursor goes to the point of any line that lies nearest to |x|.
  private moveTo(x: number): void {
    let best: number | null = null;
    for (const line of this.lines) {
      const i = nearest(line.x, x);
      if (best === null || Math.abs(line.x[i] - x) < Math.abs(best - x)) best = line.x[i];
    }
    this.setCursor(best);
  }

  private setCursor(x: number | null): void {
    if (x === this.cursor) return;
    this.cursor = x;
    this.frame.reading.textContent = x === null ? '' : this.lines.slice(0, 8).map(line => {
      const i = nearest(line.x, x);
      const value = formatNumber(line.raw[i]);
      return (this.lines.length > 1 ? line.name + ': ' : '') + value + ' at step ' + line.step[i] +
        (settings.smoothing > 0 ? ` (smoothed ${formatNumber(line.y[i])})` : '') +
        (settings.axis === 'relative' ? ', ' + formatDuration(line.x[i]) : '');
    }).join('; ');
    this.draw();
  }

  // A row for each step of any run, at most 200 of them, the first and the last among them.
  private makeTable(): HTMLElement {
    const steps = [...new Set(this.series.flatMap(s => [...s.steps]))].sort((a, b) => a - b);
    const every = Math.ceil(steps.length / 200);
    const kept = steps.filter((_, i) => i % every === 0 || i === steps.length - 1);
    const columns = this.series.map(s => new Map([...s.steps].map((step, i) => [step, s.values[i]])));
    const rows = kept.map(step => [String(step), ...columns.map(values => {
      const value = values.get(step);
      return value === undefined ? '' : formatNumber(value);
    })]);
    return table(every > 1 ? `Every ${every}th of ${steps.length} steps` : `${steps.length} steps`,
                 ['Step', ...this.series.map(s => s.name)], rows);
  }
}

function greatest(values: Float64Array): number {
  let most = -1;
  for (let i = 0; i < values.length; ++i) if (values[i] > most) most = values[i];
  return most;
}

// The index of the item of |sorted| that is nearest to |x|. Steps may go back after a restart; then
// the answer is only near.
function nearest(sorted: Float64Array, x: number): number {
  let low = 0, high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && Math.abs(sorted[low - 1] - x) <= Math.abs(sorted[low] - x) ? low - 1 : low;
}
