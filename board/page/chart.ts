// A chart of lines on a canvas: axes, a line for each series, a faint one for what was not smoothed,
// and a cursor. It draws what it is given and keeps nothing but the scale of its last drawing.
import {beginDrawing} from './dom';
import {formatDuration, formatNumber} from './words';

export interface Line {
  name: string;
  style: number;  // index of a colour and a dash
  x: Float64Array;
  y: Float64Array;    // smoothed
  raw: Float64Array;  // as written
  step: Float64Array;
  low?: Float64Array;   // a band around the line, from here
  high?: Float64Array;  // to here
}

export interface Look {
  axis: 'step' | 'relative' | 'wall';
  log: boolean;
  logX?: boolean;         // not of the time of day
  clip: boolean;
  smoothed: boolean;
  cursor: number | null;  // an x
  isShare?: boolean;      // both axes go from 0 to 1
  zoom?: [number, number] | null;  // of x; values outside are not drawn
  chosen?: [number, number] | null;  // a stretch of x that is being chosen
  mark?: number;  // a step, to which the lines' points are marked
}

export interface Scale {
  left: number;
  width: number;
  x0: number;
  x1: number;
  log?: boolean;  // of x
}

// The x at |share| of the width of a chart, and the share of its width at which |x| lies.
export function xAtShare(scale: Scale, share: number): number {
  const {x0, x1, log} = scale;
  return log ? x0 * (x1 / x0) ** share : x0 + share * (x1 - x0);
}

export function shareOfX(scale: Scale, x: number): number {
  const {x0, x1, log} = scale;
  return log ? Math.log(x / x0) / Math.log(x1 / x0) : (x - x0) / (x1 - x0);
}

// What a chart is drawn with: the context of a canvas, or what makes an SVG of the same calls.
export type Pen = Pick<CanvasRenderingContext2D,
  'beginPath' | 'moveTo' | 'lineTo' | 'stroke' | 'fill' | 'fillRect' | 'fillText' | 'measureText' |
  'setLineDash' | 'save' | 'restore' | 'rect' | 'clip' | 'lineWidth' | 'strokeStyle' | 'fillStyle' |
  'globalAlpha' | 'font' | 'textAlign' | 'textBaseline'>;

// Colours that people who see few colours tell apart (Okabe and Ito), darker on a light ground; and
// dashes, so that more than eight lines differ, and none by its colour alone.
const LIGHT = ['#0060a0', '#b04a00', '#00704c', '#9a3d74', '#8a6a00', '#2a7fa8', '#333333', '#6a5acd'];
const DARK = ['#56b4e9', '#f0a04b', '#2ecc9a', '#e8a0cc', '#f0e442', '#8fd0ff', '#e8e8e8', '#b8a8ff'];
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [14, 4]];

// Styles of pairs: from PAIRED on twice the index of the pair, and 1 more for the evaluation, which
// is dashed.
export const PAIRED = 1 << 20;
const PAIR_DASHES = [[[], [6, 4]], [[14, 3], [3, 3]], [[9, 3, 2, 3], [2, 5]]];

export function isDark(): boolean {
  return document.documentElement.dataset.theme === 'dark';
}

export function setStroke(context: Pick<Pen, 'strokeStyle' | 'fillStyle' | 'setLineDash'>, style: number): void {
  const colours = isDark() ? DARK : LIGHT, isPaired = style >= PAIRED;
  const index = isPaired ? (style - PAIRED) >> 1 : style;
  context.strokeStyle = context.fillStyle = colours[index % colours.length];
  context.setLineDash(isPaired ? PAIR_DASHES[Math.floor(index / colours.length) % PAIR_DASHES.length][style & 1]
    : DASHES[Math.floor(style / colours.length + style) % DASHES.length]);
}

// Round numbers between |low| and |high|, about |count| of them.
export function ticksOf(low: number, high: number, count: number): number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const rough = span / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(n => n * power).find(s => s >= rough) as number;
  const ticks: number[] = [];
  for (let n = Math.ceil(low / step); n * step <= high + step * 1e-9; ++n) ticks.push(n * step);
  return ticks;
}

// Of a logarithmic axis between 10^|low| and 10^|high|, as exponents: decades, and where there are
// few of them also twos and fives.
function logTicksOf(low: number, high: number): number[] {
  const ticks: number[] = [], every = Math.max(1, Math.ceil((high - low) / 8));
  for (let decade = Math.floor(low); decade <= high; ++decade) {
    if (decade % every) continue;
    for (const n of high - low < 3 ? [1, 2, 5] : [1]) {
      const tick = decade + Math.log10(n);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

// Of seconds: steps that clocks have.
function timeTicksOf(low: number, high: number, count: number): number[] {
  const rough = (high - low) / count;
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400]
    .find(s => s >= rough);
  if (rough < 1 || !step) return ticksOf(low, high, count);
  const ticks: number[] = [];
  for (let n = Math.ceil(low / step); n * step <= high; ++n) ticks.push(n * step);
  return ticks;
}

function range(lines: Line[], pick: (line: Line) => Float64Array[], log: boolean,
               clip: boolean): [number, number] {
  const least = log ? Number.MIN_VALUE : -Number.MAX_VALUE, all: number[] = [];
  let low = Infinity, high = -Infinity;
  for (const line of lines) {
    for (const values of pick(line)) {
      for (let i = 0; i < values.length; ++i) {
        const v = values[i];
        if (!(v >= least && v <= Number.MAX_VALUE)) continue;  // no number, or not on this axis
        if (v < low) low = v;
        if (v > high) high = v;
        if (clip) all.push(v);
      }
    }
  }
  if (low > high) return log ? [1, 10] : [0, 1];
  if (all.length > 20) {
    all.sort((a, b) => a - b);
    low = all[Math.floor(all.length * 0.05)];
    high = all[Math.floor(all.length * 0.95)];
  }
  if (low === high) return log ? [low / 2, low * 2] : [low - (Math.abs(low) / 2 || 1), low + (Math.abs(low) / 2 || 1)];
  return [low, high];
}

function formatX(x: number, axis: Look['axis'], span: number): string {
  if (axis === 'step') {
    return Math.abs(x) >= 1e6 || !Number.isInteger(x) ? formatNumber(x) : String(x);
  }
  if (axis === 'relative') return formatDuration(x);
  const date = new Date(x * 1000);
  return span > 172800 ? date.toLocaleDateString() : date.toLocaleTimeString();
}

// A point that lies within half a pixel of the one that was drawn last is passed over, but for the last.
function drawLine(context: Pen, x: Float64Array, y: Float64Array,
                  px: (v: number) => number, py: (v: number) => number): void {
  let isDown = false, lastX = 0, lastY = 0;
  context.beginPath();
  for (let i = 0; i < x.length; ++i) {
    const across = px(x[i]), at = py(y[i]);
    if (!Number.isFinite(at) || !Number.isFinite(across)) {
      isDown = false;
      continue;
    }
    if (isDown && i + 1 < x.length && Math.abs(across - lastX) + Math.abs(at - lastY) < 0.5) continue;
    if (isDown) context.lineTo(across, at);
    else context.moveTo(across, at);
    [isDown, lastX, lastY] = [true, across, at];
  }
  context.stroke();
  if (x.length === 1) context.fillRect(px(x[0]) - 3, py(y[0]) - 3, 6, 6);
}

// The band of a line, over the stretches where both its edges are numbers.
function drawBand(context: Pen, line: Line, px: (v: number) => number, py: (v: number) => number): void {
  const {x, low, high} = line;
  if (!low || !high) return;
  for (let begin = 0, end = 0; begin < x.length; begin = end + 1) {
    for (end = begin; end < x.length && Number.isFinite(py(low[end]) + py(high[end]) + px(x[end]));) ++end;
    if (end === begin) continue;
    context.beginPath();
    for (let i = begin; i < end; ++i) (i === begin ? context.moveTo : context.lineTo).call(context, px(x[i]), py(high[i]));
    for (let i = end - 1; i >= begin; --i) context.lineTo(px(x[i]), py(low[i]));
    context.fill();
  }
}

// The point of each line at the last step up to |step|.
export function indexUpTo(steps: ArrayLike<number>, step: number): number {
  let found = -1;
  for (let i = 0; i < steps.length; ++i) if (steps[i] <= step && (found < 0 || steps[i] >= steps[found])) found = i;
  return found;
}

function drawMark(context: Pen, lines: Line[], step: number, px: (v: number) => number, py: (v: number) => number,
                  colour: string): void {
  context.fillStyle = colour;
  for (const line of lines) {
    const i = indexUpTo(line.step, step);
    if (i >= 0 && Number.isFinite(py(line.y[i]))) context.fillRect(px(line.x[i]) - 3, py(line.y[i]) - 3, 6, 6);
  }
}

export function drawChart(canvas: HTMLCanvasElement, lines: Line[], look: Look): Scale {
  const {context, width, height} = beginDrawing(canvas);
  return drawLines(context, width, height, lines, look);
}

// Draws a chart of |width| and |height| with |context|.
export function drawLines(context: Pen, width: number, height: number, lines: Line[], look: Look): Scale {
  const css = getComputedStyle(document.documentElement);
  const colour = (name: string) => css.getPropertyValue(name).trim();
  const zoom = look.zoom, logX = !!look.logX && !look.isShare && look.axis !== 'wall';
  const [x0, x1] = look.isShare ? [0, 1] : zoom || range(lines, line => [line.x], logX, false);
  let [y0, y1] = look.isShare ? [0, 1] : range(lines, line => {
    const shown = look.smoothed ? [line.y, line.raw] : [line.y];
    if (line.low && line.high) shown.push(line.low, line.high);
    return zoom ? shown.map(v => v.filter((_, i) => line.x[i] >= x0 && line.x[i] <= x1)) : shown;
  }, look.log, look.clip);
  const toY = (v: number) => look.log ? Math.log10(v) : v;
  const margin = look.log ? 0 : (y1 - y0) * 0.05;
  [y0, y1] = [toY(y0 - margin), toY(y1 + margin)];
  context.font = '12px system-ui, sans-serif';
  const yTicks = look.log ? logTicksOf(y0, y1) : ticksOf(y0, y1, 5);
  const labels = (yTicks.length ? yTicks : [y0, y1]).map(t => [t, formatNumber(look.log ? 10 ** t : t)] as const);
  const left = Math.ceil(Math.max(...labels.map(l => context.measureText(l[1]).width))) + 10;
  const bottom = height - 22, right = width - 8, top = 6;
  const scale = {left, width: right - left, x0, x1, log: logX};
  const perX = scale.width / (x1 - x0), perY = (bottom - top) / (y1 - y0);
  const px = logX ? (x: number) => left + shareOfX(scale, x) * scale.width : (x: number) => left + (x - x0) * perX;
  const py = (v: number) => bottom - (toY(v) - y0) * perY;
  context.lineWidth = 1;
  for (const [tick, label] of labels) {
    const y = bottom - (tick - y0) / (y1 - y0) * (bottom - top);
    context.strokeStyle = colour('--grid');
    context.beginPath();
    context.moveTo(left, y);
    context.lineTo(right, y);
    context.stroke();
    context.fillStyle = colour('--axis');
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.fillText(label, left - 6, y);
  }
  context.textBaseline = 'top';
  let end = -Infinity;
  const xTicks = logX ? logTicksOf(Math.log10(x0), Math.log10(x1)).map(t => Number((10 ** t).toPrecision(12)))
    : (look.axis === 'step' ? ticksOf : timeTicksOf)(x0, x1, Math.max(2, Math.floor((right - left) / 80)));
  for (const tick of xTicks) {
    const text = formatX(tick, look.axis, x1 - x0), size = context.measureText(text).width;
    const x = Math.min(Math.max(px(tick), left + size / 2), right - size / 2);
    if (x - size / 2 < end + 8) continue;
    context.textAlign = 'center';
    context.fillStyle = colour('--axis');
    context.fillText(text, x, bottom + 6);
    end = x + size / 2;
  }
  context.save();
  context.beginPath();
  context.rect(left, top - 4, right - left + 4, bottom - top + 8);
  context.clip();
  for (const line of lines) {
    setStroke(context, line.style);
    context.globalAlpha = 0.2;
    drawBand(context, line, px, py);
    if (look.smoothed) {
      context.globalAlpha = 0.3;
      context.lineWidth = 1;
      drawLine(context, line.x, line.raw, px, py);
    }
    context.globalAlpha = 1;
    context.lineWidth = 2;
    drawLine(context, line.x, line.y, px, py);
  }
  if (look.mark !== undefined) drawMark(context, lines, look.mark, px, py, colour('--text'));
  if (look.chosen) {
    context.globalAlpha = 0.2;
    context.fillStyle = colour('--accent');
    const [from, to] = look.chosen.map(px);
    context.fillRect(Math.min(from, to), top, Math.abs(to - from), bottom - top);
    context.globalAlpha = 1;
  }
  if (look.cursor !== null) {
    context.setLineDash([]);
    context.strokeStyle = colour('--text');
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(px(look.cursor), top);
    context.lineTo(px(look.cursor), bottom);
    context.stroke();
  }
  context.restore();
  return scale;
}
