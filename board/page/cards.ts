// Cards in groups: of every tag one, or of every run and tag, in the group of what stands before the
// tag's first slash. A card loads when it comes into view. Pages of scalars, images and the like
// differ in their cards alone.
import {breakable, button, byId, element, matcher, nextPaint} from './dom';
import {setStroke} from './chart';
import {styleOf} from './run_groups';
import {nameOf} from './state';

const MANY_CARDS = 60, MANY_GROUPS = 300;
const FIRST_CARDS = 12;  // that are made before any of them loads
const SVG = 'http://www.w3.org/2000/svg';
const COLLATOR = new Intl.Collator('en', {numeric: true});

export interface Card {
  root: HTMLElement;
  show(): Promise<void>;  // loads what is not there yet, and draws
  draw(): void;
}

export interface Item {
  key: string;  // names the card
  tag: string;
  group?: string;  // where it is not what stands before the tag's first slash
}

export const PINNED = '★ Pinned';  // the group that comes first, whatever the filter of tags

export function isNear(box: DOMRect, margin = 400): boolean {
  return box.width > 0 && box.top < innerHeight + margin && box.bottom > -margin;
}

// The short line in a run's colour and dash.
export function swatch(run: string): SVGElement {
  return swatchOf(styleOf(run));
}

// The list of runs has hundreds of them, and a canvas each would take longer than all charts.
export function swatchOf(style: number): SVGElement {
  const svg = document.createElementNS(SVG, 'svg'), line = document.createElementNS(SVG, 'line');
  const pen = {strokeStyle: '', fillStyle: '', setLineDash: (dash: number[]) =>
    line.setAttribute('stroke-dasharray', dash.join(' '))};
  setStroke(pen, style);
  for (const [name, value] of [['x2', '32'], ['y1', '8'], ['y2', '8'], ['stroke-width', '3'],
                               ['stroke', pen.strokeStyle]]) line.setAttribute(name, value);
  svg.setAttribute('class', 'swatch');
  svg.setAttribute('viewBox', '0 0 32 16');
  svg.setAttribute('aria-hidden', 'true');
  svg.append(line);
  return svg;
}

// What a tag is called within its group.
export function shortName(tag: string): string {
  const at = tag.indexOf('/');
  return at < 0 ? tag : tag.slice(at + 1) || tag;
}

export class CardList<T extends Item> {
  private readonly cards = new Map<string, Card>();
  private readonly counts = new Map<string, number>();  // of cards, by group
  private drawn = '';  // what the groups were made for
  private room = Infinity;  // for cards that are made now
  private readonly later = new Map<string, () => void>();  // by group: puts in those that are not
  private readonly watcher = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (entry.isIntersecting) this.cards.get((entry.target as HTMLElement).dataset.key || '')?.show();
    }
  }, {rootMargin: '300px'});

  constructor(readonly root: HTMLElement, private readonly nothing: string,
              private readonly make: (item: T) => Card) {}

  // Shows a card for each of |items|, those that are there already as they are. Cards of groups that
  // are closed are not made, and of a long group the first ones at first: logs have 100,000 tags. Where
  // the items are those of the last time nothing moves, so that what has the focus keeps it. Ends when
  // the cards in view are drawn.
  set(items: T[]): Promise<void> {
    const filter = byId<HTMLInputElement>('tag-filter'), matches = matcher(filter), groups = new Map<string, T[]>();
    const wanted = JSON.stringify([filter.value, ...items.map(item => item.key)]);
    if (wanted === this.drawn) return this.showSeen();
    this.drawn = wanted;
    this.later.clear();
    this.room = this.cards.size ? Infinity : FIRST_CARDS;
    for (const item of items.filter(i => i.group || matches(i.tag))) {
      const group = item.group ? item.group : item.tag.includes('/') ? item.tag.slice(0, item.tag.indexOf('/')) : '';
      const members = groups.get(group);
      if (members) members.push(item);
      else groups.set(group, [item]);
    }
    const open = new Map([...this.root.querySelectorAll('details')].map(d => [d.dataset.group, d.open]));
    let left = 24;  // groups that begin open hold about so many cards
    const shown = [...groups].sort(([a, of], [b]) => of[0].group ? -1 : groups.get(b)![0].group || a >= b ? 1 : -1);
    const made = shown.slice(0, MANY_GROUPS).map(([group, members]) => {
      const details = this.makeGroup(group, members, open.get(group) ?? left > 0);
      left -= members.length;
      return details;
    });
    const more = shown.length - made.length;
    if (more > 0) made.push(element('p', {}, `${more} more groups: filter the tags to see them.`));
    const text = items.length ? 'No tag matches the filter.' : this.nothing;
    this.root.replaceChildren(...(made.length ? made : [element('p', {}, text)]));
    return this.showSeen();
  }

  private makeGroup(group: string, members: T[], isOpen: boolean): HTMLElement {
    const grid = element('div', {class: 'cards'}), rest = element('p');
    const details = element('details', {'data-group': group}, element('summary', {},
      `${group || 'Without a group'} (${members.length})`), grid, rest);
    let isSorted = false;
    const fill = () => {
      if (!isSorted) members.sort((a, b) => COLLATOR.compare(a.key, b.key));
      isSorted = true;
      const count = Math.min(this.counts.get(group) || MANY_CARDS, members.length);
      const first = Math.min(count, this.room), roots = (from: number, to: number) =>
        members.slice(from, to).map(item => this.cardOf(item).root);
      this.room -= first;
      grid.replaceChildren(...roots(0, first));
      this.later.set(group, () => grid.append(...roots(first, count)));
      rest.replaceChildren(...(count < members.length ? [button(
        `Show ${Math.min(MANY_CARDS, members.length - count)} more of ${members.length}`, () => {
          this.counts.set(group, count + MANY_CARDS);
          fill();
          void this.showSeen();
        })] : []));
    };
    details.open = isOpen;
    if (isOpen) fill();
    let wasOpen = isOpen;
    details.ontoggle = () => {
      if (details.open === wasOpen) return;
      wasOpen = details.open;
      if (!isSorted) fill();
      void this.showSeen();
    };
    return details;
  }

  private cardOf(item: T): Card {
    let card = this.cards.get(item.key);
    if (!card) {
      card = this.make(item);
      card.root.dataset.key = item.key;
      this.cards.set(item.key, card);
    }
    return card;
  }

  // Shows the cards that are in view; then makes those that were left, and shows those that are near,
  // or come near later, so that what is seen at first waits for nothing else.
  private async showSeen(): Promise<void> {
    const seen = new Set([...this.cards.values()].filter(card => isNear(card.root.getBoundingClientRect(), 0)));
    await Promise.all([...seen].map(card => card.show()));
    if (this.later.size) await nextPaint();
    this.room = Infinity;
    for (const fill of this.later.values()) fill();
    this.later.clear();
    for (const card of this.cards.values()) {
      if (!seen.has(card) && isNear(card.root.getBoundingClientRect())) void card.show();
      this.watcher.observe(card.root);
    }
  }

  draw(): void {
    for (const card of this.cards.values()) {
      if (isNear(card.root.getBoundingClientRect())) card.draw();
    }
  }
}

// The frame of a card: a heading, buttons, the chart, a line that is read out, a sentence and a table.
export class CardFrame {
  readonly root: HTMLElement;
  readonly buttons = element('div');
  readonly reading = element('p', {class: 'reading', 'aria-live': 'polite'});
  readonly sentence = element('p', {class: 'sentence'});
  private readonly scroll = element('div', {class: 'scroll', tabindex: '0', role: 'region'});

  constructor(heading: string, label: string, body: HTMLElement, private readonly fill?: () => HTMLElement,
              onWide?: () => void, run?: string) {
    this.scroll.hidden = true;
    this.scroll.setAttribute('aria-label', 'Values of ' + label);
    const title = element('div', {}, element('h3', {}, ...breakable(heading)));
    if (run !== undefined) {
      const shown = element('p', {class: 'run'});
      const name = () => shown.replaceChildren(swatch(run), element('span', {}, ...breakable(nameOf(run))));
      name();
      document.addEventListener('leat-runs', name);
      title.append(shown);
    }
    if (fill) {
      const toggle = element('button', {type: 'button', 'aria-expanded': 'false'}, 'Table');
      toggle.onclick = () => {
        this.scroll.hidden = !this.scroll.hidden;
        toggle.setAttribute('aria-expanded', String(!this.scroll.hidden));
        this.refreshTable();
      };
      this.buttons.append(toggle);
    }
    if (onWide) {
      const wide = element('button', {type: 'button', 'aria-pressed': 'false'}, 'Wide');
      wide.onclick = () => {
        wide.setAttribute('aria-pressed', String(this.root.classList.toggle('wide')));
        onWide();
      };
      this.buttons.append(wide);
    }
    this.root = element('article', {class: 'card', 'aria-label': label},
      element('div', {class: 'top'}, title, this.buttons), body,
      ...(fill ? [this.reading] : []), this.sentence, this.scroll);
  }

  refreshTable(): void {
    if (!this.scroll.hidden && this.fill) this.scroll.replaceChildren(this.fill());
  }
}

// A canvas that the keyboard moves a cursor in: |count| tells how many places there are.
export function keyCursor(canvas: HTMLCanvasElement, count: () => number,
                          move: (at: number | null) => void): void {
  let at = -1;
  canvas.onkeydown = event => {
    const all = count(), far = Math.max(1, Math.round(all / 20));
    const moves: Record<string, number> = {
      ArrowRight: at + 1, ArrowLeft: at < 0 ? all - 1 : at - 1, PageDown: at + far, PageUp: at - far,
      Home: 0, End: all - 1};
    if (!all || !(event.key in moves || event.key === 'Escape')) return;
    at = event.key === 'Escape' ? -1 : Math.min(Math.max(moves[event.key], 0), all - 1);
    move(at < 0 ? null : at);
    event.preventDefault();
  };
  canvas.onblur = () => {
    at = -1;
    move(null);
  };
}
