// The page of texts: a card for each run and tag, with a slider for the step. A text is Markdown;
// several that were written at once are a list, and those of a matrix a table.
import {Card, CardFrame, shortName} from './cards';
import {element, getJson} from './dom';
import {markdown} from './markdown';
import {Loader, RunItem, RunPage, StepSlider} from './run_cards';

interface Point {
  step: number;
  shape: number[];
  texts: string[];
}

class TextCard implements Card {
  readonly root: HTMLElement;
  private readonly text = element('div', {class: 'text', tabindex: '0', role: 'region'});
  private readonly steps: StepSlider;
  private readonly loader: Loader<Point[]>;
  private points: Point[] = [];
  private asSource = false;

  constructor(item: RunItem) {
    const label = `${item.tag}, ${item.run}`;
    this.text.setAttribute('aria-label', 'Text of ' + label);
    this.steps = new StepSlider(label, () => this.fill());
    const body = element('div', {}, this.steps.root, this.text);
    const frame = new CardFrame(shortName(item.tag), label, body, undefined, () => undefined, item.run);
    const source = element('button', {type: 'button', 'aria-pressed': 'false'}, 'Source');
    source.onclick = () => {
      this.asSource = !this.asSource;
      source.setAttribute('aria-pressed', String(this.asSource));
      this.fill();
    };
    frame.buttons.prepend(source);
    this.root = frame.root;
    this.loader = new Loader<Point[]>(() => getJson('/data/leat/text', {run: item.run, tag: item.tag}),
      points => {
        this.points = points;
        this.steps.set(points.map(p => p.step));
      }, text => { frame.sentence.textContent = text; });
  }

  private fill(): void {
    const point = this.points[this.steps.index()];
    if (!point) return;
    const show = (text: string) => this.asSource ? [element('pre', {}, text)] : markdown(text);
    if (!point.shape.length) {
      this.text.replaceChildren(...show(point.texts[0] || ''));
      return;
    }
    // The last dimension is a row; a list has rows of one.
    const width = point.shape.length > 1 ? point.shape[point.shape.length - 1] || 1 : 1;
    const rows: HTMLElement[] = [];
    for (let at = 0; at < point.texts.length; at += width) {
      rows.push(element('tr', {}, ...point.texts.slice(at, at + width).map(text =>
        element('td', {}, ...show(text)))));
    }
    this.text.replaceChildren(element('table', {}, element('tbody', {}, ...rows)));
  }

  async show(): Promise<void> {
    await this.loader.load();
  }

  draw(): void {}
}

export class Texts extends RunPage {
  name = 'text';
  title = 'Text';
  plugins = ['text'];

  constructor() {
    super('text', 'There are no texts yet.', item => new TextCard(item));
  }
}
