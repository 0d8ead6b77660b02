"""Changed cases of single ops have in Leat the outcome that they have in TensorFlow: the same
status code, or the same types, shapes and values.

The recorded cases (LEAT_DATA_DIR) have sensible inputs for nearly every op; op_sweep_changes.py
gives them other types, attributes, sizes and values, right and wrong ones. Each library runs them
in a process of its own through the same C API. Left out are ops that are stateful, wait for others,
or read files; what Leat answers otherwise on purpose is named in EXCEPTED with the reason. The
changes depend on the op's name and a number alone, so that a difference is found again by --only
and --first.

usage: op_sweep_oracle.py [--each N] [--first NUMBER] [--only REGEX] [--texts]
N is how many graphs are made for each op: 16, or LEAT_SWEEP_GRAPHS from the environment. As many
take about 30 s of one core. With --texts it also prints the errors whose code is right and whose
text is not TensorFlow's, each once, for who wants to change that; they are no failures."""
import argparse
import os
import random
import re
import tarfile

import numpy as np

from library_process import OURS, THEIRS, Library, load
from op_sweep_changes import Seed, changed
from outcome import report
from random_graph import op_defs_of

ARCHIVE = os.path.join('conformance', 'op_cases.tar.xz')
OTHERS = re.compile('Queue|Barrier|Stage|Stack|Dataset|Iterator|Mutex|Reader|Accumulator|'
                    'LookupTable|Enter|NextIteration|Recv|Send|TensorArray|Debug|File|Vocab|'
                    'StatelessIf|Case')
# Digits that rounding may cost, of each type: relative, and relative to the largest result.
TOLERANCE = {'float32': 1e-4, 'float64': 1e-6, 'complex64': 1e-4, 'complex128': 1e-6,
             'float16': 1e-2, 'bfloat16': 5e-2}
EXCEPTED = {
    'contradicting inputs, shapes that do not fit, NCHW (docs/decisions/0006)':
        'Avg.*|.*Max.*Pool.*|.*Lstm.*|.*LSTM.*|Resize.*Grad|Fractional.*|.*CholeskyGrad|'
        'ScaleAndTranslateGrad|.*Bincount|.*Backprop.*|DepthwiseConv.*|StatelessRandom.*V2',
    'results that rounding or memory decides (docs/decisions/0005, 0006)':
        '.*Cholesky|Matrix(Logarithm|SquareRoot|Exponential)|Round|Sign|EuclideanNorm|.*Matrix.*Ls|'
        'RandomGammaGrad|.*Svd|QuantizeV2|LogMatrixDeterminant|Bessel.*|ExtractVolumePatches|Erf|'
        'ArgM(ax|in)|I?RFFT.*|TridiagonalSolve|ExtractGlimpse',
    'the order of equal elements, which TensorFlow does not say':
        'SparseSoftmax|CombinedNonMaxSuppression|CTCBeamSearchDecoder|SparseReduce.*',
    'accidents of one kernel: a check that never passes, reads beyond the input':
        'QuantizeAndDequantizeV4|RaggedTensorToTensor|SparseAdd|StringNGrams|EnsureShape|'
        'TensorSummaryV2|TensorListSplit|QuantizedConv2D',
    'steps that end late, or never, for wrong parameters': 'Stateless(Parameterized|RandomBino).*',
    'int32 in three dimensions and filters without elements, which are not done':
        'Conv|Conv3D|FusedPadConv2D',
}


def seeds_by_op(op_defs, only):
  seeds = {}
  with tarfile.open(os.path.join(os.environ['LEAT_DATA_DIR'], ARCHIVE)) as archive:
    for member in archive:
      op = member.name.split('/')[-2] if member.name.endswith('.pb') else ''
      if op not in op_defs or op_defs[op].is_stateful or OTHERS.search(op):
        continue
      if re.fullmatch(only, op) and not re.fullmatch('|'.join(EXCEPTED.values()), op):
        seed = Seed(archive.extractfile(member).read())
        if seed.is_comparable():
          seeds.setdefault(op, []).append((member.name, seed))
  return {op: [seed for _, seed in sorted(named, key=lambda pair: pair[0])]
          for op, named in seeds.items()}


def difference(got, want, only_shapes):
  if got.dtype != want.dtype or got.shape != want.shape:
    return 'is %s %s, not %s %s' % (got.dtype, got.shape, want.dtype, want.shape)
  if only_shapes or want.size == 0:
    return ''
  relative = TOLERANCE.get(want.dtype.name)
  with np.errstate(all='ignore'):
    if relative is None:
      wrong = got != want
    else:
      wide = np.complex128 if want.dtype.kind == 'c' else np.float64
      got, want = got.astype(wide), want.astype(wide)
      finite = np.abs(want[np.isfinite(want)])
      scale = finite.max() if finite.size else 0
      wrong = ~((np.abs(got - want) <= relative * scale) | (got == want) |
                (np.isnan(got) & np.isnan(want)))
  places = np.argwhere(wrong)
  if len(places) == 0:
    return ''
  place = tuple(places[0])
  return 'has %r, not %r, at %s; %d of %d differ' % (
      got[place], want[place], list(map(int, place)), len(places), got.size)


def words_of(message):
  """The longest part of an error's first line that has no numbers, shapes or names."""
  line = re.sub(r"\{\{[^}]*\}\}|\[\[.*|for '.*", '', message).split('\n')[0]
  return max(re.split(r"\[[^\]]*\]|-?\d[\d.]*|'[^']*'", line), key=len).strip(' ,.:()').lower()


def print_text(op, ours, theirs, printed):
  """Prints both errors where ours lacks the words of TensorFlow's, unless it has printed them."""
  words = words_of(theirs[theirs.find(':') + 1:])
  if words not in ours.lower() and words not in printed:
    printed.add(words)
    print('  text of %s: %s\n    is %s' % (op, theirs.split('\n')[0], ours.split('\n')[0]))


def compare(libraries, op_def, pool, each, first, texts):
  """What differs first among the graphs of an op, or nothing."""
  printed = set()
  only_shapes = any(seed.case['_compare'].s == b'shape' for seed in pool)
  for number in range(first, first + each):
    chance = random.Random('%s %d' % (op_def.name, number))
    seed, words = changed(pool, op_def, chance)
    question = seed.graph_def(), {}, seed.fetches(op_def)
    for library in libraries:
      library.ask(question)
    ours, theirs = [library.answer() for library in libraries]
    where = 'in graph %d (%s)' % (number, words)
    if ours[0] == 'ended':
      return '%s Leat %s' % (where, ours[1])
    if theirs[0] == 'ended' or (theirs[0] and 'No OpKernel' in theirs[1]):
      continue
    if ours[0] != theirs[0]:
      return '%s the code is %s, not %s: %s' % (
          where, ours[0], theirs[0], ' '.join(str((ours if ours[0] else theirs)[1]).split())[:200])
    if texts and ours[0]:
      print_text(op_def.name, ours[1], theirs[1], printed)
    for i, (got, want) in enumerate(zip(*(answer[1] for answer in (ours, theirs)))):
      why = ours[0] == 0 and difference(got, want, only_shapes)
      if why:
        return '%s output %d %s' % (where, i, why)
  return ''


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('--each', type=int, default=int(os.environ.get('LEAT_SWEEP_GRAPHS', 16)))
  parser.add_argument('--first', type=int, default=0)
  parser.add_argument('--only', default='.*')
  parser.add_argument('--texts', action='store_true')
  arguments = parser.parse_args()
  if not os.path.exists(os.path.join(os.environ.get('LEAT_DATA_DIR', ''), ARCHIVE)):
    print('SKIP op_sweep: LEAT_DATA_DIR has no ' + ARCHIVE)
    return
  op_defs = op_defs_of(load(THEIRS).op_list())
  libraries = [Library(OURS), Library(THEIRS)]
  for op, pool in sorted(seeds_by_op(op_defs, arguments.only).items()):
    report('op_sweep %s' % op, compare, libraries, op_defs[op], pool, arguments.each,
           arguments.first, arguments.texts)
  for library in libraries:
    library.close()


if __name__ == '__main__':
  main()
