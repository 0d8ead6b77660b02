// The page of scalars: a card with a chart of lines for each tag, and in it a line for each run.
import {CardList, Item, PINNED, shortName} from './cards';
import {fetchColumns} from './columns';
import {button, element} from './dom';
import {LineCard} from './line_card';
import {curvesOfRuns} from './run_groups';
import {Page, settings, shownRuns, state, writeLink} from './state';

interface TagItem extends Item {
  pin: () => void;
}

function cardOf({tag, pin, group}: TagItem): LineCard {
  const isPinned = group === PINNED;
  return new LineCard({heading: isPinned ? tag : shortName(tag), label: isPinned ? tag + ', pinned' : tag,
    nothing: 'No run that is shown has this tag.', arrange: curvesOfRuns,
    buttons: [button(isPinned ? 'Unpin' : 'Pin', pin)],
    ask: () => fetchColumns({tag: [tag], run: shownRuns()})});
}

export class Scalars implements Page {
  name = 'scalars';
  title = 'Scalars';
  plugins = ['scalars'];
  usesRuns = true;
  usesTags = true;
  root = element('div');
  private readonly cards = new CardList<TagItem>(this.root, 'There are no scalars yet.', cardOf);

  async reload(): Promise<void> {
    await this.redraw();
  }

  redraw(): Promise<void> {
    const tags = state.scalarTags, pinned = tags.filter(tag => settings.pinned.includes(tag));
    return this.cards.set([
      ...pinned.map(tag => ({key: 'pinned ' + tag, tag, group: PINNED, pin: () => this.pin(tag)})),
      ...tags.map(tag => ({key: tag, tag, pin: () => this.pin(tag)}))]);
  }

  // Pins a card, or takes the pin off; the focus goes to the button that undoes it.
  private pin(tag: string): void {
    const isPinned = settings.pinned.includes(tag);
    settings.pinned = isPinned ? settings.pinned.filter(t => t !== tag) : [...settings.pinned, tag];
    writeLink();
    this.redraw();
    const key = isPinned ? tag : 'pinned ' + tag;
    this.root.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"] .top button`)?.focus();
  }

  draw(): void {
    this.cards.draw();
  }
}
