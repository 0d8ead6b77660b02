// What the projector shows: points that the server has projected, the labels of their rows, and the
// tensor itself, of which neighbours are found.
import {address, getJson} from './dom';

export interface Embedding {
  tensorName: string;
  tensorShape?: number[];
  metadataPath?: string;
  sprite?: {imagePath?: string; singleImageDim?: number[]};
}

export interface Projection {
  all: number;          // rows of the tensor
  rows: number;         // that are shown
  dims: number;
  shares: number[];     // of the variance, for each direction
  points: Float32Array; // row by row
  columns: string[];    // of the labels
  labels: string[][];   // by row of the tensor
}

const TENSOR_LIMIT = 1 << 23;  // numbers that the page fetches to find neighbours

// The row of the tensor that the point |i| is.
export function rowOf(projection: Projection, i: number): number {
  return Math.floor(i * projection.all / projection.rows);
}

async function fetchBytes(path: string, parameters: Record<string, string>): Promise<ArrayBuffer> {
  const answer = await fetch(address(path, parameters));
  if (!answer.ok) throw new Error(await answer.text());
  return answer.arrayBuffer();
}

// The first line names the columns, unless there is only one, which then has no name.
function parseLabels(text: string): {columns: string[]; labels: string[][]} {
  const lines = text.split(/\r?\n/).filter((line, i, all) => line || i + 1 < all.length).map(line => line.split('\t'));
  if (!lines.length || lines[0].length < 2) return {columns: ['Label'], labels: lines};
  return {columns: lines[0], labels: lines.slice(1)};
}

export async function fetchProjection(run: string, embedding: Embedding, method: string, dims: number,
                                      perplexity: number, neighbours: number): Promise<Projection> {
  const which = {run, name: embedding.tensorName};
  const [bytes, text] = await Promise.all([
    fetchBytes('/data/leat/projection', {...which, method, dims: String(dims), perplexity: String(perplexity), neighbours: String(neighbours)}),
    embedding.metadataPath ? fetch(address('/data/plugin/projector/metadata', which)).then(a => a.ok ? a.text() : '') : '']);
  const view = new DataView(bytes);
  if (view.getUint32(0, true) !== 0x3150424c) throw new Error('no projection came');
  const [all, rows, given] = [4, 8, 12].map(at => view.getUint32(at, true));
  const shares = [16, 20, 24].map(at => view.getFloat32(at, true));
  const found = text ? parseLabels(text) : {columns: [], labels: []};
  return {all, rows, dims: given, shares, points: new Float32Array(bytes, 28, rows * given), ...found};
}

// The rows that are nearest to |row|, by the angle between them or by their distance.
export async function findNeighbours(run: string, embedding: Embedding, row: number, count: number,
                                     isAngle: boolean): Promise<{row: number; away: number}[]> {
  const [rows, columns] = embedding.tensorShape || [0, 0];
  if (!(rows * columns > 0) || rows * columns > TENSOR_LIMIT) throw new Error('The tensor is too large to compare rows.');
  const values = await tensorOf(run, embedding.tensorName), found: {row: number; away: number}[] = [];
  const size = (r: number) => {
    let sum = 0;
    for (let c = 0; c < columns; ++c) sum += values[r * columns + c] ** 2;
    return Math.sqrt(sum);
  };
  const own = size(row);
  for (let r = 0; r < Math.min(rows, values.length / columns); ++r) {
    if (r === row) continue;
    let sum = 0;
    for (let c = 0; c < columns; ++c) {
      const [a, b] = [values[row * columns + c], values[r * columns + c]];
      sum += isAngle ? a * b : (a - b) ** 2;
    }
    const away = isAngle ? 1 - sum / (own * size(r) || 1) : Math.sqrt(sum);
    if (Number.isFinite(away)) found.push({row: r, away});
  }
  return found.sort((a, b) => a.away - b.away).slice(0, count);
}

let held: {key: string; values: Promise<Float32Array>} | null = null;  // the tensor that was used last

function tensorOf(run: string, name: string): Promise<Float32Array> {
  const key = run + '\n' + name;
  if (held?.key !== key) {
    const values = fetchBytes('/data/plugin/projector/tensor', {run, name}).then(bytes => new Float32Array(bytes));
    held = {key, values};
  }
  return held.values;
}

export async function fetchEmbeddings(): Promise<[string, Embedding[]][]> {
  const runs: string[] = await getJson('/data/plugin/projector/runs');
  return Promise.all(runs.map(async (run): Promise<[string, Embedding[]]> => {
    const info = await getJson('/data/plugin/projector/info', {run});
    return [run, (info.embeddings || []).filter((e: Embedding) => e.tensorShape?.length === 2)];
  }));
}
