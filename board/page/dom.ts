// Elements of the document and answers of the server: the few lines that every page needs.

export const PREFIX = document.documentElement.dataset.prefix || '';
export const byId = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

type Attributes = Record<string, string>;

export function element<K extends keyof HTMLElementTagNameMap>(
    kind: K, attributes: Attributes = {}, ...children: (Node | string)[]):
    HTMLElementTagNameMap[K] {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// A name that may go on in the next line behind a slash or an underscore, not only where it must.
export function breakable(name: string): (Node | string)[] {
  return name.split(/(?<=[/_])/).flatMap((part, i) => i ? [document.createElement('wbr'), part] : [part]);
}

export function button(text: string, onClick: () => void, attributes: Attributes = {}):
    HTMLButtonElement {
  const made = element('button', {type: 'button', ...attributes}, text);
  made.onclick = onClick;
  return made;
}

// A labelled choice among |options|, pairs of value and text.
export function choice(id: string, label: string, options: [string, string][], value: string,
                       onChange: (value: string) => void): HTMLElement {
  const select = element('select', {id}, ...options.map(([v, text]) =>
    element('option', {value: v}, text)));
  select.value = value;
  select.onchange = () => onChange(select.value);
  return element('div', {}, element('label', {for: id}, label), select);
}

// A labelled slider, whose value stands in its label as |format| says.
export function slider(id: string, label: string, range: [number, number, number], value: number,
                       onInput: (value: number) => void,
                       format: (value: number) => string = String): HTMLElement {
  const [min, max, step] = range.map(String);
  const input = element('input', {id, type: 'range', min, max, step, value: String(value)});
  const output = element('output', {for: id}, format(value));
  input.setAttribute('aria-valuetext', format(value));
  input.oninput = () => {
    output.textContent = format(Number(input.value));
    input.setAttribute('aria-valuetext', output.textContent);
    onInput(Number(input.value));
  };
  return element('div', {}, element('label', {for: id}, label + ' ', output), input);
}

// A table with a caption; the first cell of each row is its heading.
export function table(caption: string, head: string[], rows: (string | Node)[][]): HTMLElement {
  const body = rows.map(row => element('tr', {}, ...row.map((cell, i) =>
    element(i ? 'td' : 'th', i ? {} : {scope: 'row'}, cell))));
  return element('table', {}, element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...head.map(text => element('th', {scope: 'col'}, text)))),
    element('tbody', {}, ...body));
}

export function address(path: string, parameters: Record<string, string> = {}): string {
  const query = new URLSearchParams(parameters).toString();
  return PREFIX + path + (query ? '?' + query : '');
}

export async function getJson(path: string, parameters: Record<string, string> = {}): Promise<any> {
  const answer = await fetch(address(path, parameters));
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

// Asks the server to change something. The header is what it answers only pages of its own.
export async function post(path: string, fields: Record<string, string>): Promise<void> {
  const answer = await fetch(address(path),
    {method: 'POST', headers: {'X-Leat-Board': '1'}, body: new URLSearchParams(fields)});
  if (!answer.ok) throw new Error(await answer.text());
}

// A regular expression that is not one matches everything, and its field says so.
export function matcher(input: HTMLInputElement): (text: string) => boolean {
  try {
    const expression = new RegExp(input.value, 'i');
    input.removeAttribute('aria-invalid');
    return text => expression.test(text);
  } catch {
    input.setAttribute('aria-invalid', 'true');
    return () => true;
  }
}

// The context of |canvas|, cleared and scaled to the screen, with its size in CSS pixels.
export function beginDrawing(canvas: HTMLCanvasElement):
    {context: CanvasRenderingContext2D; width: number; height: number} {
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.scale(ratio, ratio);
  return {context, width, height};
}

// Ends when the browser has painted what the document is now.
export function nextPaint(): Promise<void> {
  return new Promise(done => requestAnimationFrame(() => setTimeout(done)));
}

const colours = new Map<string, string>();

// The value of a custom property, which is the same for each theme; asking the browser takes long
// enough to be seen in a drawing of a thousand boxes.
export function cssColour(name: string): string {
  const root = document.documentElement, key = root.dataset.theme + name;
  let colour = colours.get(key);
  if (colour === undefined) {
    colour = getComputedStyle(root).getPropertyValue(name).trim();
    if (colour) colours.set(key, colour);
  }
  return colour;
}
