// Numbers as text, the smoothed course of a series, and what a series does, in a sentence.
import type {Series} from './columns';

export function formatNumber(x: number): string {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? 'NaN' : x > 0 ? '∞' : '−∞';
  const size = Math.abs(x);
  const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? x.toExponential(2)
                                                          : String(Number(x.toPrecision(4)));
  return text.replace('-', '−').replace('e-', 'e−');
}

// "50 s", "1:20" minutes, "2:00:00" hours, "3 d 4 h"
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds) || Math.abs(seconds) < 60) return formatNumber(seconds) + ' s';
  const whole = Math.round(Math.abs(seconds)), sign = seconds < 0 ? '−' : '';
  const two = (n: number) => String(n).padStart(2, '0');
  const [s, m, h] = [whole % 60, Math.floor(whole / 60) % 60, Math.floor(whole / 3600)];
  if (h >= 24) return `${sign}${Math.floor(h / 24)} d ${h % 24} h`;
  return h ? `${sign}${h}:${two(m)}:${two(s)}` : `${sign}${m}:${two(s)}`;
}

// "1 node", "2 nodes"
export function countOf(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

export function formatNanoseconds(ns: number): string {
  if (ns < 1e3) return `${ns} ns`;
  return ns < 1e6 ? formatNumber(ns / 1e3) + ' µs' : ns < 1e9 ? formatNumber(ns / 1e6) + ' ms'
    : formatNumber(ns / 1e9) + ' s';
}

export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), 4);
  return `${formatNumber(bytes / 2 ** (10 * power))} ${units[power]}`;
}

// The exponential mean of what came so far, without the bias towards the zero that it begins with.
// What is not finite is passed over and stays as it is.
export function smooth(values: Float64Array, weight: number): Float64Array {
  const out = new Float64Array(values.length);
  let mean = 0, bias = 1;
  for (let i = 0; i < values.length; ++i) {
    if (Number.isFinite(values[i])) {
      mean = mean * weight + (1 - weight) * values[i];
      bias *= weight;
      out[i] = mean / (1 - bias);
    } else {
      out[i] = values[i];
    }
  }
  return out;
}

// The point that stands out most from its neighbours: by ten times what points usually do, and by an
// eighth of the whole |range|.
function findSpike(values: Float64Array, range: number): number {
  if (values.length < 10) return -1;
  const away: number[] = [];
  for (let i = 1; i + 1 < values.length; ++i) {
    away.push(Math.abs(values[i] - (values[i - 1] + values[i + 1]) / 2));
  }
  const usual = away.filter(Number.isFinite).sort((a, b) => a - b)[away.length >> 1] || 0;
  let most = -1;
  away.forEach((d, i) => {
    if (d > Math.max(10 * usual, range / 8) && d > (most < 0 ? 0 : away[most - 1])) most = i + 1;
  });
  return usual > 0 ? most : -1;
}

// "fell from 2.1 to 0.4 between the steps 0 and 1000, with a spike to 7 at step 812"
export function describe(series: Series): string {
  const finite: number[] = [];
  for (let i = 0; i < series.values.length; ++i) {
    if (Number.isFinite(series.values[i])) finite.push(i);
  }
  const missing = series.values.length - finite.length;
  if (!finite.length) return series.values.length ? 'has no finite value' : 'has no points';
  const [first, last] = [finite[0], finite[finite.length - 1]];
  const [from, to] = [series.values[first], series.values[last]];
  if (first === last) return `is ${formatNumber(to)} at step ${series.steps[last]}`;
  let low = first, high = first;
  for (const i of finite) {
    if (series.values[i] < series.values[low]) low = i;
    if (series.values[i] > series.values[high]) high = i;
  }
  const range = series.values[high] - series.values[low];
  const verb = Math.abs(to - from) < range / 50 || range === 0 ? 'stayed near' : to < from ? 'fell' : 'rose';
  const course = verb === 'stayed near' ? `${verb} ${formatNumber(to)}`
                                        : `${verb} from ${formatNumber(from)} to ${formatNumber(to)}`;
  let text = `${course} between the steps ${series.steps[first]} and ${series.steps[last]}`;
  const spike = findSpike(series.values, range);
  if (spike >= 0) {
    text += `, with a spike to ${formatNumber(series.values[spike])} at step ${series.steps[spike]}`;
  } else if (low !== first && low !== last && to - series.values[low] > range / 20) {
    text += `; lowest ${formatNumber(series.values[low])} at step ${series.steps[low]}`;
  }
  return text + (missing ? `; ${missing} values are not finite` : '');
}
