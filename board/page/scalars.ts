// The page of scalars: a card with a chart of lines for each tag, and in it a line for each run.
import {CardList, Item, shortName} from './cards';
import {fetchColumns} from './columns';
import {element, getJson} from './dom';
import {LineCard} from './line_card';
import {Page, shownRuns, state} from './state';

function cardOf(tag: string): LineCard {
  return new LineCard({heading: shortName(tag), label: tag, nothing: 'No run that is shown has this tag.', ask: async () => {
    const series = await fetchColumns({tag: [tag], run: shownRuns()});
    return series.map(s => ({...s, name: s.run, style: state.styles.get(s.run) || 0}));
  }});
}

export class Scalars implements Page {
  name = 'scalars';
  title = 'Scalars';
  plugins = ['scalars'];
  usesRuns = true;
  usesTags = true;
  root = element('div');
  private tags: string[] = [];
  private readonly cards = new CardList<Item>(
    this.root, 'There are no scalars yet.', item => cardOf(item.tag));

  async reload(): Promise<void> {
    const index = await getJson('/data/plugin/scalars/tags');
    this.tags = [...new Set(Object.values(index).flatMap(of => Object.keys(of as object)))];
    this.redraw();
  }

  redraw(): void {
    this.cards.set(this.tags.map(tag => ({key: tag, tag})));
  }

  draw(): void {
    this.cards.draw();
  }
}
