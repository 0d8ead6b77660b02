// The page of images: a card for each run, tag and sample, with a slider for the step.
import {Card, CardFrame, shortName} from './cards';
import {address, element, getJson, slider} from './dom';
import {Loader, RunItem, RunPage, StepSlider} from './run_cards';
import {settings, writeLink} from './state';

interface Point {
  step: number;
  wall_time: number;
  query: string;
}

class ImageCard implements Card {
  readonly root: HTMLElement;
  private readonly image = element('img', {alt: ''});
  private readonly steps: StepSlider;
  private readonly frame: CardFrame;
  private readonly loader: Loader<Point[]>;
  private points: Point[] = [];

  constructor(private readonly item: RunItem) {
    const label = `${item.tag}, ${item.run}`, more = item.samples > 1
      ? `, sample ${item.sample + 1} of ${item.samples}` : '';
    this.steps = new StepSlider(label + more, index => this.showPoint(index));
    const body = element('div', {class: 'picture'}, this.steps.root, this.image);
    this.frame = new CardFrame(shortName(item.tag) + more, label + more, body, undefined,
                               () => undefined, item.run);
    this.root = this.frame.root;
    this.loader = new Loader<Point[]>(() => getJson('/data/plugin/images/images', {
      run: item.run, tag: item.tag, sample: String(item.sample)}), points => {
        this.points = points;
        this.steps.set(points.map(p => p.step));
      }, text => { this.frame.sentence.textContent = text; });
    this.image.onload = () => this.tell();
    this.image.onerror = () => {
      this.frame.sentence.textContent = 'This image cannot be shown by the browser.';
    };
  }

  private showPoint(index: number): void {
    const url = address('/data/plugin/images/individualImage') + '?' + this.points[index].query;
    if (this.image.getAttribute('src') !== url) this.image.src = url;
  }

  private tell(): void {
    const point = this.points[this.steps.index()];
    if (!point) return;
    const size = `${this.image.naturalWidth} × ${this.image.naturalHeight}`;
    const when = new Date(point.wall_time * 1000).toLocaleString();
    this.image.alt = `${this.item.tag} of ${this.item.run} at step ${point.step}, ${size} pixels`;
    this.frame.sentence.textContent = `${size} pixels, written ${when}.`;
  }

  async show(): Promise<void> {
    await this.loader.load();
  }

  draw(): void {}
}

export class Images extends RunPage {
  name = 'images';
  title = 'Images';
  plugins = ['images'];

  constructor() {
    super('images', 'There are no images yet.', item => new ImageCard(item));
    const share = (value: number) => Math.round(value * 100) + ' %';
    const actual = element('input', {type: 'checkbox', id: 'actual-size'});
    actual.checked = settings.actualSize;
    actual.onchange = () => {
      settings.actualSize = actual.checked;
      this.adjust();
    };
    this.tools = element('div', {class: 'tools'},
      slider('brightness', 'Brightness', [0, 3, 0.05], settings.brightness, value => {
        settings.brightness = value;
        this.adjust();
      }, share),
      slider('contrast', 'Contrast', [0, 5, 0.05], settings.contrast, value => {
        settings.contrast = value;
        this.adjust();
      }, share),
      element('div', {class: 'check'}, actual,
              element('label', {for: 'actual-size'}, 'Actual size')));
    this.adjust(false);
  }

  private adjust(keep = true): void {
    this.root.style.setProperty('--brightness', String(settings.brightness));
    this.root.style.setProperty('--contrast', String(settings.contrast));
    this.root.classList.toggle('actual', settings.actualSize);
    if (keep) writeLink();
  }
}
