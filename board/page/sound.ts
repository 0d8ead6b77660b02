// Lines as sound: each is played from left to right, higher where its values are greater, one after
// the other. Values that are not finite are silent.
const SECONDS = 2.5, PAUSE = 0.4, PIECES = 100, LOWEST = 220, OCTAVES = 2;

// The frequency of each of PIECES moments of a line, 0 for silence. |low| and |high| are the range of
// all lines.
export function tonesOf(values: Float64Array, low: number, high: number): Float32Array {
  return Float32Array.from({length: PIECES}, (_, i) => {
    const value = values[Math.min(Math.floor(i * values.length / PIECES), values.length - 1)];
    const share = high > low ? (value - low) / (high - low) : 0.5;
    return Number.isFinite(value) ? LOWEST * 2 ** (OCTAVES * share) : 0;
  });
}

// Plays |lines|; |onLine| is told of each as it begins. What is returned ends the sound early.
export function playLines(lines: Float64Array[], told: {onLine: (index: number) => void; onEnd: () => void}):
    () => void {
  let low = Infinity, high = -Infinity;
  for (const values of lines) {
    for (const v of values) {
      if (!Number.isFinite(v)) continue;
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
  }
  const context = new AudioContext(), begin = context.currentTime + 0.05;
  const volume = context.createGain(), tone = context.createOscillator();
  const timers = lines.map((_, i) => window.setTimeout(() => told.onLine(i), i * (SECONDS + PAUSE) * 1000));
  const end = () => {
    timers.forEach(clearTimeout);
    tone.onended = null;
    void context.close();
    told.onEnd();
  };
  volume.gain.value = 0;
  lines.forEach((values, i) => {
    const from = begin + i * (SECONDS + PAUSE);
    tonesOf(values, low, high).forEach((frequency, k) => {
      const at = from + k * SECONDS / PIECES;
      if (frequency) tone.frequency.setValueAtTime(frequency, at);
      volume.gain.setTargetAtTime(frequency ? 0.15 : 0, at, 0.01);
    });
    volume.gain.setTargetAtTime(0, from + SECONDS, 0.01);
  });
  tone.connect(volume).connect(context.destination);
  tone.onended = end;
  tone.start(begin);
  tone.stop(begin + lines.length * (SECONDS + PAUSE));
  return end;
}
