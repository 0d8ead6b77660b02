// The page of sounds: a card with the browser's own player for each run, tag and sample.
import {Card, CardFrame, shortName} from './cards';
import {address, element, getJson} from './dom';
import {Loader, RunItem, RunPage, StepSlider} from './run_cards';
import {formatDuration} from './words';

interface Point {
  step: number;
  wall_time: number;
  query: string;
  contentType: string;
}

class AudioCard implements Card {
  readonly root: HTMLElement;
  private readonly player = element('audio', {controls: '', preload: 'metadata'});
  private readonly steps: StepSlider;
  private readonly loader: Loader<Point[]>;
  private points: Point[] = [];

  constructor(item: RunItem) {
    const more = item.samples > 1 ? `, sample ${item.sample + 1} of ${item.samples}` : '';
    const label = `${item.tag}, ${item.run}${more}`;
    this.steps = new StepSlider(label, index => this.showPoint(index));
    this.player.setAttribute('aria-label', label);
    const body = element('div', {class: 'picture'}, this.steps.root, this.player);
    const frame = new CardFrame(shortName(item.tag) + more, label, body, undefined, undefined, item.run);
    this.root = frame.root;
    this.loader = new Loader<Point[]>(() => getJson('/data/plugin/audio/audio', {
      run: item.run, tag: item.tag, sample: String(item.sample)}), points => {
        this.points = points;
        this.steps.set(points.map(p => p.step));
      }, text => { frame.sentence.textContent = text; });
    this.player.onloadedmetadata = () => {
      const point = this.points[this.steps.index()];
      if (!point) return;
      frame.sentence.textContent = `${formatDuration(this.player.duration)}, written ` +
        `${new Date(point.wall_time * 1000).toLocaleString()}.`;
    };
    this.player.onerror = () => {
      frame.sentence.textContent = 'This sound cannot be played by the browser.';
    };
  }

  // What plays goes on: another sound is loaded when the slider moves, not when a new one comes.
  private showPoint(index: number): void {
    const url = address('/data/plugin/audio/individualAudio') + '?' + this.points[index].query;
    if (this.player.getAttribute('src') !== url && this.player.paused) this.player.src = url;
  }

  async show(): Promise<void> {
    await this.loader.load();
  }

  draw(): void {}
}

export class Audio extends RunPage {
  name = 'audio';
  title = 'Audio';
  plugins = ['audio'];

  constructor() {
    super('audio', 'There are no sounds yet.', item => new AudioCard(item));
  }
}
