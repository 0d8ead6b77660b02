// Two drawings of how numbers are distributed, step by step: ridges, the histograms one behind the
// other with the newest in front, and bands, in which a given share of the numbers lies.
import {isDark, ticksOf} from './chart';
import {beginDrawing, cssColour} from './dom';
import {formatNumber} from './words';

export type Histogram = [number, number, [number, number, number][]];  // time, step, buckets
export type Quantiles = [number, number, [number, number][]];          // time, step, [1/10000, value]

const MAX_RIDGES = 40;
// A ridge shows as many differences as this from end to end. Buckets are often far narrower where many
// numbers lie, such as near 0, and their density alone would make all others too low to be seen.
const RIDGE_PARTS = 60;
const NEEDLE = 2.5;  // half the least width of what is drawn of a bucket
const FONT = '12px system-ui, sans-serif';

// As many of |items| as there is room for, the first and the last among them.
export function thin<T>(items: T[], most: number): T[] {
  if (items.length <= most) return items;
  return Array.from({length: most}, (_, i) => items[Math.round(i * (items.length - 1) / (most - 1))]);
}

function labelX(context: CanvasRenderingContext2D, low: number, high: number, left: number,
                right: number, y: number): void {
  context.font = FONT;
  context.fillStyle = cssColour('--axis');
  context.textAlign = 'center';
  context.textBaseline = 'top';
  let end = -Infinity;
  for (const tick of ticksOf(low, high, Math.max(2, Math.floor((right - left) / 80)))) {
    const text = formatNumber(tick), size = context.measureText(text).width;
    const x = Math.min(Math.max(left + (tick - low) / (high - low || 1) * (right - left),
                                left + size / 2), right - size / 2);
    if (x - size / 2 < end + 8) continue;
    context.fillText(text, x, y);
    end = x + size / 2;
  }
}

type Bucket = [number, number, number];

// The buckets that something lies in, and those between them; neighbours are one until they are |least| wide.
function mergeBuckets(h: Histogram, least: number): Bucket[] {
  const buckets = h[2].filter(([l, r]) => Number.isFinite(l) && Number.isFinite(r)), merged: Bucket[] = [];
  while (buckets.length && !buckets[0][2]) buckets.shift();
  while (buckets.length && !buckets[buckets.length - 1][2]) buckets.pop();
  for (const [l, r, count] of buckets) {
    const last = merged[merged.length - 1];
    if (last && last[1] - last[0] < least && r - last[0] < 2 * least) [last[1], last[2]] = [r, last[2] + count];
    else merged.push([l, r, count]);
  }
  return merged;
}

const densityOf = ([l, r, count]: Bucket, least: number) => count / Math.max(r - l, least);

// The outline of one histogram: from the left end of its first bucket by the middles of all to the
// right end of the last.
function drawRidge(context: CanvasRenderingContext2D, buckets: Bucket[], least: number, x: (v: number) => number,
                   base: number, scale: number): void {
  context.beginPath();
  if (!buckets.length) return;
  context.moveTo(x(buckets[0][0]), base);
  for (const bucket of buckets) {
    const [l, r] = bucket, top = base - densityOf(bucket, least) * scale, isNarrow = x(r) - x(l) < 2;
    if (isNarrow) context.lineTo(x(l) - NEEDLE, base);
    context.lineTo(x((l + r) / 2), top);
    if (isNarrow) context.lineTo(x(r) + NEEDLE, base);
  }
  context.lineTo(x(buckets[buckets.length - 1][1]), base);
}

// Returns where on the canvas each of the ridges stands, for the pointer.
export function drawRidges(canvas: HTMLCanvasElement, all: Histogram[], cursor: number | null):
    {y: number; index: number}[] {
  const {context, width, height} = beginDrawing(canvas);
  const kept = thin(all.map((h, index) => ({h, index})), MAX_RIDGES);
  let low = Infinity, high = -Infinity, most = 0;
  for (const {h} of kept) {
    for (const [left, right, count] of h[2]) {
      if (!count || !Number.isFinite(left) || !Number.isFinite(right)) continue;
      low = Math.min(low, left);
      high = Math.max(high, right);
    }
  }
  if (!(high >= low)) return [];
  if (low === high) [low, high] = [low - 1, high + 1];
  const least = (high - low) / RIDGE_PARTS, merged = kept.map(({h}) => mergeBuckets(h, least));
  for (const bucket of merged.flat()) most = Math.max(most, densityOf(bucket, least));
  const left = 8, right = width - 48, bottom = height - 24;
  const ridge = Math.min(bottom * 0.4, 90), from = Math.min(bottom, ridge + 8);
  const x = (v: number) => left + (v - low) / (high - low) * (right - left);
  const places: {y: number; index: number}[] = [];
  const [light, dark] = isDark() ? [[58, 92, 128], [120, 190, 255]] : [[190, 214, 238], [0, 84, 148]];
  kept.forEach(({index}, i) => {
    const share = kept.length > 1 ? i / (kept.length - 1) : 1;
    const base = from + (bottom - from) * share;
    const isAt = index === cursor;
    const mixed = light.map((c, k) => Math.round(c + (dark[k] - c) * share));
    drawRidge(context, merged[i], least, x, base, ridge / (most || 1));
    context.globalAlpha = 0.75;
    context.fillStyle = `rgb(${mixed.join(',')})`;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = isAt ? cssColour('--text') : cssColour('--card');
    context.lineWidth = isAt ? 2.5 : 1;
    context.stroke();
    places.push({y: base, index});
  });
  // The newest step is always told; those behind it where there is room.
  let last = Infinity;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  for (const {y, index} of [...places].reverse()) {
    const isAt = index === cursor;
    if (last - y < 15 && !isAt) continue;
    context.font = isAt ? 'bold ' + FONT : FONT;
    context.fillStyle = isAt ? cssColour('--text') : cssColour('--axis');
    context.fillText(String(all[index][1]), right + 6, y - 4);
    last = y;
  }
  labelX(context, low, high, left, right, bottom + 6);
  return places;
}

// Returns how the steps lie on the canvas: left, right, first and last step.
export function drawBands(canvas: HTMLCanvasElement, all: Quantiles[], cursor: number | null):
    {left: number; right: number; first: number; last: number} {
  const {context, width, height} = beginDrawing(canvas);
  const none = {left: 0, right: 1, first: 0, last: 1};
  const values = all.flatMap(q => q[2].map(v => v[1])).filter(Number.isFinite);
  if (!values.length) return none;
  let low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
  if (low === high) [low, high] = [low - 1, high + 1];
  const ticks = ticksOf(low, high, 5);
  context.font = FONT;
  const left = Math.ceil(Math.max(...ticks.map(t => context.measureText(formatNumber(t)).width))) + 10;
  const right = width - 8, top = 8, bottom = height - 24;
  const first = all[0][1], last = all[all.length - 1][1];
  const x = (step: number) => left + (last > first ? (step - first) / (last - first) : 0.5) * (right - left);
  const y = (v: number) => bottom - (v - low) / (high - low) * (bottom - top);
  for (const tick of ticks) {
    context.strokeStyle = cssColour('--grid');
    context.beginPath();
    context.moveTo(left, y(tick));
    context.lineTo(right, y(tick));
    context.stroke();
    context.fillStyle = cssColour('--axis');
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.fillText(formatNumber(tick), left - 6, y(tick));
  }
  const count = all[0][2].length, colour = isDark() ? '#56b4e9' : '#0060a0';
  for (let band = 0; band * 2 < count; ++band) {
    const line = (at: number, back: boolean) => {
      const points = back ? [...all].reverse() : all;
      for (const q of points) if (q[2].length === count) context.lineTo(x(q[1]), y(q[2][at][1]));
    };
    context.beginPath();
    line(band, false);
    if (band * 2 + 1 < count) {
      line(count - 1 - band, true);
      context.globalAlpha = 0.2;
      context.fillStyle = colour;
      context.fill();
    }
    context.globalAlpha = band * 2 + 1 === count ? 1 : 0.5;
    context.lineWidth = band * 2 + 1 === count ? 2.5 : 0.75;
    context.strokeStyle = colour;
    context.stroke();
  }
  context.globalAlpha = 1;
  if (cursor !== null && all[cursor]) {
    context.strokeStyle = cssColour('--text');
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x(all[cursor][1]), top);
    context.lineTo(x(all[cursor][1]), bottom);
    context.stroke();
  }
  labelX(context, first, last, left, right, bottom + 6);
  return {left, right, first, last};
}
