// The open levels of a graph as a tree of text (the pattern "tree" of WAI-ARIA): the same graph for
// those who do not see the drawing or do not use a mouse. The arrow keys walk, open and close; Enter
// selects.
import {element} from './dom';
import {Box, Drawing, KIND_NAMES, Kind, describeChanges} from './graph_data';

export class GraphOutline {
  readonly root = element('ul', {role: 'tree', 'aria-label': 'Outline of the graph', class: 'outline'});
  private rows: {box: Box; row: HTMLElement}[] = [];
  private at = 0;  // the item that the keyboard is at

  constructor(private readonly onSelect: (item: number) => void,
              private readonly onToggle: (item: number) => Promise<void>) {
    this.root.onkeydown = event => this.onKey(event);
    this.root.onclick = event => {
      const row = (event.target as HTMLElement).closest<HTMLElement>('[role=treeitem]');
      if (!row) return;
      const box = this.rows.find(r => r.row === row)!.box;
      this.at = box.item;
      if ((event.target as HTMLElement).classList.contains('sign')) this.onToggle(box.item);
      else this.onSelect(box.item);
    };
  }

  set(drawing: Drawing, selected: number): void {
    const hadFocus = this.root.contains(document.activeElement);
    const levels = new Map(drawing.levels.map(level => [level.item, level]));
    this.rows = [];
    const rows: HTMLElement[] = [];
    // What is yet to be listed, the next at the end.
    const waiting: [Box, number][] = [];
    const push = (item: number, depth: number) => {
      const boxes = levels.get(item)?.boxes || [];
      for (let i = boxes.length - 1; i >= 0; --i) waiting.push([boxes[i], depth]);
    };
    push(0, 1);
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [box, depth] = next;
      rows.push(this.makeRow(box, depth, box.item === selected));
      if (box.isOpen) push(box.item, depth + 1);
    }
    if (!drawing.boxes.has(this.at)) this.at = drawing.boxes.has(selected) ? selected : 0;
    this.root.replaceChildren(...rows);
    this.mark(hadFocus);
  }

  private makeRow(box: Box, depth: number, isSelected: boolean): HTMLElement {
    const hasInside = box.kind !== Kind.Node;
    const row = element('li', {
      role: 'treeitem', 'aria-level': String(depth), 'aria-selected': String(isSelected), tabindex: '-1',
      'data-item': String(box.item)},
      element('span', {class: 'sign', 'aria-hidden': 'true'}, hasInside ? (box.isOpen ? '−' : '+') : ''),
      element('span', {class: 'label'}, box.label || '(no name)'), ' ',
      element('span', {class: 'what'}, hasInside
        ? `${KIND_NAMES[box.kind]}, ${box.nodes}` : box.op,
        ...[describeChanges(box)].filter(text => text).map(text => element('strong', {}, ', ' + text))));
    if (hasInside) row.setAttribute('aria-expanded', String(box.isOpen));
    row.style.setProperty('--depth', String(depth - 1));
    this.rows.push({box, row});
    return row;
  }

  // One row can be reached by Tab: the one that the keyboard is at.
  private mark(focus: boolean): void {
    const found = this.rows.find(r => r.box.item === this.at) || this.rows[0];
    for (const {row} of this.rows) row.tabIndex = -1;
    if (!found) return;
    this.at = found.box.item;
    found.row.tabIndex = 0;
    if (focus) found.row.focus();
  }

  select(item: number): void {
    for (const {box, row} of this.rows) {
      row.setAttribute('aria-selected', String(box.item === item));
      if (box.item !== item) continue;
      this.at = item;
      const rows = this.root.getBoundingClientRect(), own = row.getBoundingClientRect();
      if (own.top < rows.top || own.bottom > rows.bottom) row.scrollIntoView({block: 'nearest'});
    }
    this.mark(false);
  }

  private onKey(event: KeyboardEvent): void {
    const index = this.rows.findIndex(r => r.box.item === this.at);
    if (index < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const {box} = this.rows[index], hasInside = box.kind !== Kind.Node;
    const go = (to: number) => {
      this.at = this.rows[Math.min(Math.max(to, 0), this.rows.length - 1)].box.item;
      this.mark(true);
    };
    switch (event.key) {
      case 'ArrowDown': go(index + 1); break;
      case 'ArrowUp': go(index - 1); break;
      case 'Home': go(0); break;
      case 'End': go(this.rows.length - 1); break;
      case 'ArrowRight':
        if (hasInside && !box.isOpen) this.onToggle(box.item);
        else if (hasInside) go(index + 1);
        break;
      case 'ArrowLeft':
        if (hasInside && box.isOpen) this.onToggle(box.item);
        else if (box.level.parent) go(this.rows.findIndex(r => r.box === box.level.parent));
        break;
      case 'Enter':
      case ' ':
        this.onSelect(box.item);
        break;
      default: return;
    }
    event.preventDefault();
  }
}
