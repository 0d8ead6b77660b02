// Markdown as elements. Every piece of text enters the document as text, and elements are made by
// their names here: whatever a log says, it cannot become markup. Links lead to http and https
// only. What is understood: headings, paragraphs, emphasis, code, fences, lists, quotations,
// tables, rules and links; the rest is shown as it was written.
import {element} from './dom';

// Nested emphasis and quotations end here; deeper marks are text.
const MAX_DEPTH = 8;

const INLINE = new RegExp([
  /(`+)([\s\S]*?[^`])\1(?!`)/,                       // 1, 2: code
  /\*\*(?=\S)([\s\S]*?\S)\*\*/, /__(?=\S)([\s\S]*?\S)__/,  // 3, 4: strong
  /\*(?=\S)([\s\S]*?\S)\*/, /\b_(?=\S)([\s\S]*?\S)_\b/,    // 5, 6: emphasis
  /\[([^\][]*)\]\(([^()\s]+)\)/,                     // 7, 8: a link
  /\\([\\`*_{}[\]()#+\-.!|<>])/,                     // 9: a character as it is
].map(part => part.source).join('|'));

function inline(text: string, depth = 0): (Node | string)[] {
  const out: (Node | string)[] = [];
  while (text) {
    const found = depth < MAX_DEPTH ? INLINE.exec(text) : null;
    if (!found) {
      out.push(text);
      break;
    }
    if (found.index) out.push(text.slice(0, found.index));
    const strong = found[3] ?? found[4], slanted = found[5] ?? found[6];
    if (found[2] !== undefined) {
      out.push(element('code', {}, found[2].trim()));
    } else if (strong !== undefined) {
      out.push(element('strong', {}, ...inline(strong, depth + 1)));
    } else if (slanted !== undefined) {
      out.push(element('em', {}, ...inline(slanted, depth + 1)));
    } else if (found[8] !== undefined) {
      const isSafe = /^https?:\/\//i.test(found[8]);
      out.push(isSafe ? element('a', {href: found[8], rel: 'noopener noreferrer', target: '_blank'},
                                ...inline(found[7], depth + 1)) : found[0]);
    } else {
      out.push(found[9]);
    }
    text = text.slice(found.index + found[0].length);
  }
  return out;
}

const cells = (line: string) =>
  line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map(cell => cell.trim());
const isRule = (line: string) => /^ {0,3}([-*_])( *\1){2,} *$/.test(line);
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const startsBlock = (line: string) =>
  /^ {0,3}(#{1,6}\s|>|```|~~~)/.test(line) || ITEM.test(line) || isRule(line);

// Takes the list at the front of |lines|. A line that is indented deeper than its item begins a
// list in it.
function list(lines: string[]): HTMLElement {
  const open: {indent: number; list: HTMLElement}[] = [];
  let last: HTMLElement | null = null;
  for (;;) {
    const found = lines.length ? ITEM.exec(lines[0]) : null;
    if (!found) {
      // A line that belongs to the item above.
      if (last && lines.length && /^\s+\S/.test(lines[0])) {
        last.append(' ', ...inline(lines.shift()!.trim()));
        continue;
      }
      return open[0].list;
    }
    lines.shift();
    const indent = found[1].length;
    while (open.length > 1 && indent < open[open.length - 1].indent) open.pop();
    if (!open.length || (last && indent > open[open.length - 1].indent + 1)) {
      const made = element(/\d/.test(found[2]) ? 'ol' : 'ul');
      last?.append(made);
      open.push({indent, list: made});
    }
    last = element('li', {}, ...inline(found[3]));
    open[open.length - 1].list.append(last);
  }
}

function tableOf(lines: string[]): HTMLElement {
  const head = cells(lines.shift()!);
  lines.shift();
  const rows: HTMLElement[] = [];
  while (lines.length && lines[0].includes('|') && lines[0].trim()) {
    rows.push(element('tr', {}, ...cells(lines.shift()!).map(cell =>
      element('td', {}, ...inline(cell)))));
  }
  return element('table', {},
    element('thead', {}, element('tr', {}, ...head.map(cell =>
      element('th', {scope: 'col'}, ...inline(cell))))), element('tbody', {}, ...rows));
}

function fence(lines: string[]): HTMLElement {
  const mark = lines.shift()!.trim().slice(0, 3), code: string[] = [];
  while (lines.length && !lines[0].trim().startsWith(mark)) code.push(lines.shift()!);
  lines.shift();
  return element('pre', {tabindex: '0'}, element('code', {}, code.join('\n')));
}

export function markdown(text: string, depth = 0): HTMLElement[] {
  const lines = text.replace(/\r\n?/g, '\n').split('\n'), out: HTMLElement[] = [];
  while (lines.length) {
    const line = lines[0], heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
    if (!line.trim()) {
      lines.shift();
    } else if (/^ {0,3}(```|~~~)/.test(line)) {
      out.push(fence(lines));
    } else if (heading) {
      lines.shift();
      // The card's heading is the third; those of the text come below it.
      const level = Math.min(heading[1].length + 3, 6);
      out.push(element(`h${level}` as 'h4', {}, ...inline(heading[2])));
    } else if (isRule(line)) {
      lines.shift();
      out.push(element('hr'));
    } else if (ITEM.test(line)) {
      out.push(list(lines));
    } else if (/^ {0,3}>/.test(line) && depth < MAX_DEPTH) {
      const inner: string[] = [];
      while (lines.length && /^ {0,3}>/.test(lines[0])) {
        inner.push(lines.shift()!.replace(/^ {0,3}> ?/, ''));
      }
      out.push(element('blockquote', {}, ...markdown(inner.join('\n'), depth + 1)));
    } else if (line.includes('|') && lines.length > 1 && /^[\s|:-]*-[\s|:-]*$/.test(lines[1])) {
      out.push(tableOf(lines));
    } else {
      const words = [lines.shift()!];
      while (lines.length && lines[0].trim() && !startsBlock(lines[0])) words.push(lines.shift()!);
      out.push(element('p', {}, ...inline(words.join('\n'))));
    }
  }
  return out;
}
