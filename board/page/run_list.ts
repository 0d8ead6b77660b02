// The list of runs beside the pages: a box for each that shows it, a button that gives it another
// name, and, where the server allows it, one that deletes it.
import {swatch} from './cards';
import {isDark} from './chart';
import {breakable, button, byId, element, matcher, post} from './dom';
import {nameOf, rename, settings, state} from './state';

const MANY_ITEMS = 500, FIRST_ITEMS = 50;
let drawn = '';  // what the list was drawn for

// The label of |run| becomes a field for its name: Enter and leaving it take the name, Escape does not.
function editName(item: HTMLElement, run: string, onChange: () => void): void {
  const input = element('input', {type: 'search', 'aria-label': 'Name of ' + run, spellcheck: 'false'});
  const finish = (takes: boolean) => {
    input.onblur = input.onkeydown = null;
    const hadFocus = document.activeElement === input;
    if (takes) rename(run, input.value.trim());
    input.remove();
    drawn = '';
    onChange();
    if (hadFocus) find(run, '[data-act=rename]')?.focus();
  };
  input.value = nameOf(run);
  input.onblur = () => finish(true);
  input.onkeydown = event => {
    if (event.key === 'Enter' || event.key === 'Escape') {
      event.preventDefault();
      finish(event.key === 'Enter');
    }
  };
  item.replaceChildren(input);
  input.select();
}

// Asks once more in the place of the label, and then deletes the run's event files. What the server
// says against it stays there until it is read.
function askToDelete(item: HTMLElement, run: string, onChange: () => void): void {
  const name = nameOf(run);
  const keep = () => {
    item.remove();
    drawn = '';
    onChange();
    find(run, '[data-act=delete]')?.focus();
  };
  const deletes = button('Delete', async () => {
    deletes.disabled = true;
    item.dataset.asks = 'server';
    try {
      await post('/data/leat/delete_run', {run});
      settings.hidden = settings.hidden.filter(r => r !== run);
      rename(run, '');
      state.runs = state.runs.filter(r => r !== run);
      item.remove();
      onChange();
      byId('run-filter').focus();
    } catch (error) {
      item.dataset.asks = '';
      question.textContent = (error as Error).message;
      deletes.remove();
      keeps.focus();
    }
  });
  const keeps = button('Keep', keep);
  const question = element('span', {role: 'alert'}, `Delete the event files of ${name} from the disk?`);
  item.dataset.asks = '';
  item.onkeydown = event => {
    if (event.key === 'Escape') keep();
  };
  item.replaceChildren(question, ' ', keeps, ' ', deletes);
  keeps.focus();
}

function find(run: string, selector: string): HTMLElement | null {
  return byId('runs').querySelector(`li[data-run="${CSS.escape(run)}"] ${selector}`);
}

// Draws the list anew where anything in it is another; |onChange| is told of what the user has set.
// What has the focus keeps it, and a name that is being edited, or a question that is open, is left
// alone. |isFirst|: the charts wait, and only what fits into a window is drawn, until the next call.
export function drawRuns(onChange: () => void, isFirst = false): void {
  const focused = byId('runs').contains(document.activeElement) ? document.activeElement as HTMLElement : null;
  if (focused instanceof HTMLInputElement && focused.type === 'search') return;
  if (focused?.closest('[data-asks]') || byId('runs').querySelector('[data-asks=server]')) return;
  const focus = focused && [focused.closest('li')?.dataset.run || '', focused.dataset.act ? `[data-act=${focused.dataset.act}]` : focused.localName];
  const filter = byId<HTMLInputElement>('run-filter'), most = isFirst ? FIRST_ITEMS : MANY_ITEMS;
  const wanted = JSON.stringify([most, filter.value, state.runs, state.deletesRuns, settings.hidden, settings.names,
                                 settings.pairs, isDark()]);
  if (wanted === drawn) return;
  drawn = wanted;
  const matches = matcher(filter);
  const hidden = new Set(settings.hidden);
  const all = state.runs.filter(run => matches(run) || matches(nameOf(run)));
  const items = all.slice(0, most).map(run => {
    const box = element('input', {type: 'checkbox'}), name = nameOf(run);
    box.checked = !hidden.has(run);
    box.onchange = () => {
      settings.hidden = settings.hidden.filter(r => r !== run);
      if (!box.checked) settings.hidden.push(run);
      onChange();
    };
    const item = element('li', {'data-run': run}, element('label', name === run ? {} : {title: run}, box, swatch(run),
      element('span', {}, ...breakable(name))), button('✎', () => editName(item, run, onChange), {class: 'link', 'data-act': 'rename', 'aria-label': 'Rename ' + name}));
    if (state.deletesRuns) {
      item.append(button('✕', () => askToDelete(item, run, onChange), {class: 'link', 'data-act': 'delete', 'aria-label': 'Delete ' + name}));
    }
    return item;
  });
  if (!isFirst && all.length > items.length) items.push(element('li', {}, `${all.length - items.length} more: filter them.`));
  byId('runs').replaceChildren(...items);
  if (focus) find(focus[0], focus[1])?.focus();
}
