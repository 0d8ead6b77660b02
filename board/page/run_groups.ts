// How runs are coloured and put together: pairs of a training run and its evaluation, and groups of runs
// of which the mean is shown.
import {PAIRED} from './chart';
import type {Series} from './columns';
import type {Curve} from './line_card';
import {nameOf, settings, state} from './state';
import {countOf} from './words';

const EVALUATIONS = 'eval|evaluation|valid|validation|val|dev|test';
const ROLE = new RegExp(`(^|[/_-])(train|training|${EVALUATIONS})(?=$|[/_-])`, 'i');
const EVALUATION = new RegExp(`^(${EVALUATIONS})$`, 'i');

// The name of a run without the word that tells what it does; "a/train", "a/eval" and "a" are a pair.
export function pairOf(run: string): {base: string; isEvaluation: boolean} {
  const found = ROLE.exec(run);
  if (!found) return {base: run === '.' ? '' : run, isEvaluation: false};
  const before = run.slice(0, found.index), after = run.slice(found.index + found[0].length);
  return {base: before ? before + after : after.slice(1), isEvaluation: EVALUATION.test(found[2])};
}

let pairs = new Map<string, number>(), pairsOf: string[] = [];

// The index of the colour and the dash of a run.
export function styleOf(run: string): number {
  if (!settings.pairs) return state.styles.get(run) || 0;
  if (pairsOf !== state.runs) {
    pairsOf = state.runs;
    pairs = new Map();
    for (const {base} of state.runs.map(pairOf)) if (!pairs.has(base)) pairs.set(base, pairs.size);
  }
  const {base, isEvaluation} = pairOf(run);
  return PAIRED + 2 * (pairs.get(base) || 0) + Number(isEvaluation);
}

// ---- Groups -------------------------------------------------------------------------------------
// The name of a run without what |settings.group| matches, "all" where nothing is left; a pattern that is
// none matches nothing.
function groupOf(run: string): string {
  try {
    return run.replace(new RegExp(settings.group), '') || 'all';
  } catch {
    return run;
  }
}

// The value of |series| at |step|, on the straight line between its neighbours; NaN outside.
function valueAt(series: Series, step: number): number {
  const {steps, values} = series;
  let low = 0, high = steps.length - 1;
  if (high < 0 || step < steps[0] || step > steps[high]) return NaN;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < step) low = middle + 1;
    else high = middle;
  }
  if (steps[low] === step) return values[low];
  const share = (step - steps[low - 1]) / (steps[low] - steps[low - 1]);
  return values[low - 1] + share * (values[low] - values[low - 1]);
}

// The mean of |members| at every step that any of them has, over those that have a finite value there,
// and the band of one standard deviation (of a sample) on each side.
function meanOf(name: string, members: Series[]): Curve {
  const steps = Float64Array.from(new Set(members.flatMap(s => [...s.steps]))).sort();
  const [times, values, low, high] = [0, 1, 2, 3].map(() => new Float64Array(steps.length));
  const longest = members.reduce((a, b) => b.steps.length > a.steps.length ? b : a);
  steps.forEach((step, i) => {
    const there = members.map(s => valueAt(s, step)).filter(Number.isFinite), count = there.length;
    const mean = there.reduce((a, b) => a + b, 0) / count;
    const squares = there.reduce((sum, v) => sum + (v - mean) ** 2, 0);
    const deviation = count > 1 ? Math.sqrt(squares / (count - 1)) : 0;
    times[i] = valueAt({...longest, values: longest.times}, step);
    [values[i], low[i], high[i]] = [mean, mean - deviation, mean + deviation];
  });
  return {run: name, tag: members[0].tag, name: `${name} (mean of ${countOf(members.length, 'run')})`,
          style: styleOf(members[0].run), steps, times, values, low, high};
}

// The lines of one tag: a run each, or the means of groups.
export function curvesOfRuns(series: Series[]): Curve[] {
  if (!settings.means) return series.map(s => ({...s, name: nameOf(s.run), style: styleOf(s.run)}));
  const groups = new Map<string, Series[]>();
  for (const s of series.filter(one => one.steps.length)) {
    const name = groupOf(s.run), members = groups.get(name);
    if (members) members.push(s);
    else groups.set(name, [s]);
  }
  return [...groups].map(([name, members]) => meanOf(name, members));
}
