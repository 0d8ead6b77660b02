// The columns of scalars as the server sends them (board/api_leat.c says how), without a copy: each
// series is three views of the answer.

import {PREFIX} from './dom';

export interface Series {
  run: string;
  tag: string;
  steps: Float64Array;
  times: Float64Array;
  values: Float64Array;
}

export function parseColumns(data: ArrayBuffer): Series[] {
  const view = new DataView(data), decoder = new TextDecoder();
  if (decoder.decode(new Uint8Array(data, 0, 4)) !== 'LBC1') throw new Error('not columns');
  const [runs, tags, count] = [4, 8, 12].map(at => view.getUint32(at, true));
  let at = 24;
  const texts: string[] = [];
  for (let i = 0; i < runs + tags; ++i) {
    const size = view.getUint32(at, true);
    texts.push(decoder.decode(new Uint8Array(data, at + 4, size)));
    at += 4 + Math.ceil(size / 4) * 4;
  }
  at = Math.ceil(at / 8) * 8;
  const series: Series[] = [];
  for (let i = 0; i < count; ++i) {
    const [run, tag, points] = [0, 4, 8].map(offset => view.getUint32(at + offset, true));
    const column = (n: number) => new Float64Array(data, at + 16 + n * points * 8, points);
    series.push({run: texts[run], tag: texts[runs + tag], steps: column(0), times: column(1),
                 values: column(2)});
    at += 16 + points * 24;
  }
  return series;
}

// Asks for the series of runs, tags and patterns of tags. A POST, because the names of a thousand
// runs do not fit into an address.
export async function fetchColumns(wanted: {run: string[]; tag?: string[]; pattern?: string[]}): Promise<Series[]> {
  const body = new URLSearchParams();
  for (const [name, values] of Object.entries(wanted)) for (const value of values) body.append(name, value);
  const answer = await fetch(PREFIX + '/data/leat/columns', {method: 'POST', body});
  if (!answer.ok) throw new Error(await answer.text());
  return parseColumns(await answer.arrayBuffer());
}
