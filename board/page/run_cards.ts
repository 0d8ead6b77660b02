// Pages with a card for each run and tag: histograms, images, audio, texts. They differ in the card
// that is made, and in what stands above.
import {Card, CardList, Item} from './cards';
import {element, getJson} from './dom';
import {indexUpTo} from './chart';
import {Page, noteStep, settings, shownRuns, state} from './state';

export interface RunItem extends Item {
  run: string;
  sample: number;   // of several images or sounds that were written at once
  samples: number;
}

export abstract class RunPage implements Page {
  abstract name: string;
  abstract title: string;
  abstract plugins: string[];
  usesRuns = true;
  usesTags = true;
  readonly root: HTMLElement;
  tools?: HTMLElement;
  private index: Record<string, any> = {};
  private readonly cards: CardList<RunItem>;

  constructor(private readonly plugin: string, nothing: string, make: (item: RunItem) => Card) {
    this.root = element('div');
    this.cards = new CardList<RunItem>(this.root, nothing, make);
  }

  async reload(): Promise<void> {
    this.index = await getJson(`/data/plugin/${this.plugin}/tags`);
    await this.redraw();
  }

  redraw(): Promise<void> {
    const items: RunItem[] = [];
    for (const run of shownRuns()) {
      const tags = this.index[run] || [];
      for (const tag of Array.isArray(tags) ? tags : Object.keys(tags)) {
        const samples = Array.isArray(tags) ? 1 : tags[tag].samples || 1;
        for (let sample = 0; sample < samples; ++sample) {
          items.push({key: `${tag}\n${run}\n${sample}`, tag, run, sample, samples});
        }
      }
    }
    return this.cards.set(items);
  }

  draw(): void {
    this.cards.draw();
  }
}

// Loads once for each version of the data; |take| gets what came.
export class Loader<T> {
  private loaded = '';
  constructor(private readonly ask: () => Promise<T>, private readonly take: (data: T) => void,
              private readonly fail: (text: string) => void) {}

  async load(also = ''): Promise<void> {
    const wanted = state.version + '|' + also;
    if (this.loaded === wanted) return;
    this.loaded = wanted;
    try {
      this.take(await this.ask());
    } catch (error) {
      this.loaded = '';
      this.fail('Loading failed: ' + (error as Error).message);
    }
  }
}

// The slider of a card with a value for each of several steps. It stays at the newest until it is
// moved, or at the step that the page marks.
export class StepSlider {
  readonly root: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly output = element('output');
  private steps: number[] = [];
  private followsNewest = true;

  constructor(label: string, private readonly onChange: (index: number) => void) {
    this.input = element('input', {type: 'range', min: '0', max: '0', step: '1', 'aria-label':
      'Step of ' + label});
    this.input.oninput = () => {
      this.followsNewest = this.index() === this.steps.length - 1;
      this.tell();
      this.onChange(this.index());
    };
    this.root = element('div', {class: 'steps'}, this.output, this.input);
    document.addEventListener('leat-step', () => this.set(this.steps));
  }

  index(): number {
    return Math.min(Number(this.input.value), this.steps.length - 1);
  }

  set(steps: number[]): void {
    this.steps = steps;
    this.input.max = String(Math.max(steps.length - 1, 0));
    if (settings.step >= 0) this.input.value = String(Math.max(indexUpTo(steps, settings.step), 0));
    else if (this.followsNewest) this.input.value = this.input.max;
    steps.forEach(noteStep);
    this.input.hidden = steps.length < 2;
    this.tell();
    if (steps.length) this.onChange(this.index());
  }

  private tell(): void {
    const text = this.steps.length ? 'Step ' + this.steps[this.index()] : '';
    this.output.textContent = text;
    this.input.setAttribute('aria-valuetext', text);
  }
}
