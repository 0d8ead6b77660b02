// Two steps side by side: below the drawing of a recording a second one of another step, of the same
// recording or of another, both from their step's beginning on and at one scale, and a table of what
// the critical paths of the two spent their time on.
import {choice, element, table} from './dom';
import {settings, writeLink} from './state';
import {Delays, fetchDelays, fetchSteps, fetchTrace, File, nameOf, Piece, Step, Trace} from './timeline_data';
import {TimelineView} from './timeline_view';
import {formatNanoseconds} from './words';

const LISTED = 300, ROWS = 100, FIRST_WAIT_MS = 200, LONGEST_WAIT_MS = 2000;

// A step with its recording and its critical path.
interface Side { trace: Trace; step: Step; delays: Delays }

const signed = (ns: number) => (ns > 0 ? '+' : ns < 0 ? '−' : '') + formatNanoseconds(Math.abs(ns));

// The time of a path by cause and kernel: names have other numbers in another recording.
function sumsOf({trace, delays}: Side): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [begin, end, , cause, name] of delays.path as Piece[]) {
    const key = JSON.stringify([trace.causes[cause], name < 0 ? '' : nameOf(trace, name)]);
    sums.set(key, (sums.get(key) || 0) + end - begin);
  }
  return sums;
}

// What the second path spent more and less than the first, the greatest difference first.
function differences(a: Side, b: Side): [cause: string, kernel: string, first: number, second: number][] {
  const first = sumsOf(a), second = sumsOf(b);
  return [...new Set([...first.keys(), ...second.keys()])]
    .map((key): [string, string, number, number] => [...JSON.parse(key) as [string, string], first.get(key) || 0, second.get(key) || 0])
    .sort((x, y) => Math.abs(y[3] - y[2]) - Math.abs(x[3] - x[2]));
}

export class Comparison {
  readonly view: TimelineView;
  readonly heading = element('p', {class: 'what'});
  readonly differences = element('div');
  private other: Trace | null = null;
  private side: Side | null = null;
  private asked = 0;
  private first: Side | null = null;

  // |onWindow| is told how far the user moved the second drawing, as a window of the first one.
  constructor(private readonly onWindow: (begin: number, end: number) => void, private readonly onFailure: (error: Error) => void) {
    this.view = new TimelineView(() => {}, () => {}, onFailure, (begin, end) => {
      if (this.side && this.first) this.onWindow(begin + this.shift, end + this.shift);
    }, () => {});
    this.view.canvas.setAttribute('aria-label', 'The step that is compared. W and S zoom, A and D move both drawings; what differs is in a table.');
    this.hide();
  }

  // From the second recording's times to the first one's.
  private get shift(): number { return this.first!.step.begin - this.side!.step.begin; }

  private hide(): void {
    this.first = this.side = null;
    this.view.canvas.hidden = this.heading.hidden = true;
    this.differences.replaceChildren();
  }

  // The choices of what is compared. |onChoice| is called when they are others.
  tools(trace: Trace, files: File[], onChoice: () => void): HTMLElement[] {
    const {other} = settings.timeline, others = files.map((f): [string, string] => [f.name, f.name === trace.file ? 'a step of this recording' : f.name]);
    const parts = [choice('timeline-other', 'Compare with', [['', 'nothing'], ...others], other, file => {
      [settings.timeline.other, settings.timeline.otherStep] = [file, -1];
      writeLink();
      onChoice();
    })];
    if (!other || !this.side) return parts;
    const steps = this.listed(this.side.trace, this.side.step.group).map((s): [string, string] =>
      [String(s.index), `step ${s.number}: ${formatNanoseconds(s.end - s.begin)}`]);
    parts.push(choice('timeline-other-step', 'Its step', steps, String(this.side.step.index), step => {
      settings.timeline.otherStep = Number(step);
      writeLink();
      onChoice();
    }));
    return parts;
  }

  private listed(trace: Trace, group: number): Step[] {
    return trace.steps.filter(step => step.group === group).slice(0, LISTED);
  }

  // The step of |trace| that is compared: the one that was chosen, or the slowest of its main group that is not |first|'s.
  private choose(trace: Trace, first: Side): Step | undefined {
    const chosen = trace.steps[settings.timeline.otherStep];
    if (chosen) return chosen;
    const group = trace.file === first.trace.file ? first.step.group : trace.mainGroup;
    const alike = trace.steps.filter(s => s.group === group && (trace.file !== first.trace.file || s.index !== first.step.index));
    return alike.sort((a, b) => b.end - b.begin - (a.end - a.begin))[0];
  }

  private async load(trace: Trace, asked: number): Promise<Trace | null> {
    const file = settings.timeline.other;
    if (file === trace.file) return trace;
    if (this.other?.file !== file) this.other = await fetchTrace(file);
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      if (!this.other.areFound) await fetchSteps(this.other);
      if (this.other.areFound || asked !== this.asked) return this.other;
      await new Promise(done => setTimeout(done, wait));
    }
  }

  // Shows what the settings name beside |first|; nothing where they name none, or |first| is null.
  async show(first: Side | null): Promise<void> {
    const asked = ++this.asked;
    if (!first || !settings.timeline.other) return this.hide();
    try {
      const trace = await this.load(first.trace, asked);
      const step = trace && asked === this.asked ? this.choose(trace, first) : undefined;
      if (asked !== this.asked) return;
      if (!trace || !step) {
        this.hide();
        this.heading.hidden = false;
        this.heading.textContent = 'There is no other step to compare with.';
        return;
      }
      const side = {trace, step, delays: await fetchDelays(trace.file, 'step', step.index)};
      if (asked !== this.asked) return;
      [this.first, this.side] = [first, side];
      this.fill(first, side);
    } catch (error) {
      if (asked === this.asked) this.onFailure(error as Error);
    }
  }

  private fill(first: Side, side: Side): void {
    const times = [first, side].map(({step}) => step.end - step.begin);
    this.heading.hidden = false;
    this.draw();
    this.heading.textContent = `Below: step ${side.step.number} of ${side.trace.file}, ${formatNanoseconds(times[1])}, which is ` +
      (times[0] === times[1] ? 'as long.' : `${formatNanoseconds(Math.abs(times[1] - times[0]))} ${times[1] > times[0] ? 'longer' : 'shorter'}.`);
    const rows = differences(first, side).filter(([, , a, b]) => a !== b);
    this.differences.replaceChildren(table('What differs on the critical paths', ['Cause', 'Kernel', `Step ${first.step.number}`, `Step ${side.step.number}`, 'Difference'],
      rows.slice(0, ROWS).map(([cause, kernel, a, b]) => [cause, kernel, formatNanoseconds(a), formatNanoseconds(b), signed(b - a)])));
    this.side = null;  // the window that a new recording begins with is nobody's choice
    this.view.set(side.trace);
    this.side = side;
    this.view.setPath(side.delays.path);
  }

  draw(): void {
    this.view.canvas.hidden = !this.side || settings.timeline.view === 'tables';
    this.view.draw();
  }

  // The first drawing shows another window.
  follow(begin: number, end: number): void {
    if (this.side && this.first) this.view.follow(begin - this.shift, end - this.shift);
  }
}
