"""The ops of examples/plugins/text in Leat, and in TensorFlow itself, answer what TensorFlow Text
answers: normal forms, tokenizers, SentencePiece, sentences, ROUGE-L, sequences and trees, on texts
of many scripts, random ones, and wrong inputs.

Each of the three runs in a process of its own. The characters are those that TensorFlow knows: the
plug-in has the ICU of the distribution, TensorFlow an older and TensorFlow Text a newer one, which
differ in characters that came since. SKIP where TensorFlow Text or the plug-in is absent."""
import glob
import importlib.util
import os
import random
import sys

os.environ.update(CUDA_VISIBLE_DEVICES='', TF_ENABLE_ONEDNN_OPTS='0', TF_CPP_MIN_LOG_LEVEL='3')
PLUGIN = os.path.join(os.path.dirname(os.environ['LEAT_LIBRARY']), 'text_plugin.so')
for _absent in [n for n, there in (('TensorFlow Text', importlib.util.find_spec('tensorflow_text')),
                                   ('text_plugin.so', os.path.exists(PLUGIN))) if not there]:
  print('SKIP text plug-in: %s is absent' % _absent)
  sys.exit(0)

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tensorflow_text  # noqa: E402, F401
from tensorflow.python.framework import op_def_registry  # noqa: E402
from tensorflow.python.framework.op_def_library import apply_op  # noqa: E402

from library_process import OURS, THEIRS, Library  # noqa: E402
from outcome import report  # noqa: E402
from sentencepiece_model import model_of  # noqa: E402
from text_models import compare_models  # noqa: E402

WORDS = ('The quick brown fox jumps over the lazy dog', 'Ångström ﬁnd ﬂag ½ ² ① Ⅷ ℡', '',
         'straße STRASSE Straße', 'Ελληνικά ΣΊΣΥΦΟΣ', 'Привет, мир! 3.14', '你好，世界。 ascii',
         'こんにちは カタカナ ｶﾀｶﾅ 漢字', '한국어 조선말 각', 'नमस्ते दुनिया', 'שלום עולם', 'مرحبا بالعالم',
         'e\u0301\u0327 e\u0327\u0301 q\u0307\u0323', '\u1e9b\u0323 \u2126 \u212b \u00c5',
         'a\u00a0b\u2003c\u3000d\u0085e\u1680f\u2028g\u200bh', ' \t lead and trail \r\n ',
         'don\'t stop',
         'I\u0307 İ ı ſ ǅ ŉ ẞ', '🙂🙃 👨‍👩‍👧 🇩🇪', 'zero\u0000byte', 'soft\u00adhyphen\ufeffmark',
         '1 + 2 = 3; x_y-z', 'ＦＵＬＬ ｗｉｄｔｈ', '\u0f73\u0f75\u0f81', 'ﷺ ﷲ', 'Çà et là', 'a' * 300)
BAD_BYTES = (b'\xff', b'a\xc3', b'\xe4\xbd', b'ok \xf0\x9f\x98 ok', b'\xc0\x80', b'\xed\xa0\x80x',
             b'\x80\x80 A\xccB', b'\xf4\x90\x80\x80')


# ---- Texts ---------------------------------------------------------------------------------------
def known_characters():
  """The characters that are assigned in the Unicode that TensorFlow knows; no surrogates."""
  scripts = tf.raw_ops.UnicodeScript(input=np.arange(0x110000, dtype=np.int32)).numpy()
  return [c for c in np.flatnonzero(scripts != 103) if not 0xd800 <= c < 0xe000]


def random_texts(seed, count, characters):
  """Texts of letters, spaces and rare characters."""
  chance = random.Random(seed)
  plain = [ord(c) for c in ' .,-abcdeABC123\u0301\u0308\u00e9\u4e2d\u3042']
  return [''.join(chr(chance.choice(plain if chance.random() < .7 else characters))
                  for _ in range(chance.randrange(40))).encode() for _ in range(count)]


def strings(values):
  return np.array([v.encode() if isinstance(v, str) else v for v in values], object)


def decoded(texts, splits=np.int64):
  ragged = tf.strings.unicode_decode(tf.constant(texts), 'UTF-8')
  return ragged.values.numpy(), ragged.row_splits.numpy().astype(splits)


# ---- Runs ----------------------------------------------------------------------------------------
def call(op, name, **arguments):
  """A node, with the defaults of what is not given."""
  for attr in op_def_registry.get(op).attr:
    kind = attr.default_value.WhichOneof('value')
    inferred = any(a.type_attr == attr.name for a in op_def_registry.get(op).input_arg)
    if kind and attr.name not in arguments and not inferred:
      arguments[attr.name] = getattr(attr.default_value, kind)
  return apply_op(op, name=name, **arguments)


def graph_of(op, build):
  """A graph with the op, and its outputs' names. |build| gives the op's inputs and attributes, and
  operations that must run before it."""
  graph = tf.Graph()
  with graph.as_default():
    arguments, before = build()
    with tf.control_dependencies(before):
      made = call(op, 'op', **arguments)
  outputs = made if isinstance(made, (list, tuple)) else [made]
  return graph, [t.name for t in outputs]


def in_this_process(graph, names):
  with tf.compat.v1.Session(graph=graph) as session:
    try:
      return 0, session.run(names)
    except tf.errors.OpError as error:
      return error.error_code, error.message


def difference(got, want, tolerance):
  if got[0] or want[0]:
    return '' if got[0] == want[0] else 'answered %s, must answer %s' % (got, want)
  for number, (ours, theirs) in enumerate(zip(got[1], want[1])):
    theirs = np.asarray(theirs, object if isinstance(theirs, bytes) else None)
    same = ours.dtype == theirs.dtype and ours.shape == theirs.shape and (
        np.allclose(ours, theirs, rtol=tolerance, atol=tolerance) if tolerance
        else np.array_equal(ours, theirs))
    if not same:
      return 'output %d is %s, must be %s' % (number, ours.tolist(), theirs.tolist())
  return ''


class Judge:
  """TensorFlow with TensorFlow Text, and both libraries with the plug-in."""

  # RE2 and protobuf, which SentencePiece uses, are other versions within TensorFlow, whose
  # functions win where the plug-in is linked with shared libraries.
  ONLY_OURS = ('RegexSplit', 'Sentencepiece')

  def __init__(self):
    folder = os.path.dirname(tensorflow_text.__file__)
    theirs = sorted(glob.glob(os.path.join(folder, '**', '*.so'), recursive=True))
    self.text = Library(THEIRS, [path for path in theirs if 'pywrap' not in path])
    self.libraries = [Library(OURS, [PLUGIN]), Library(THEIRS, [PLUGIN])]

  def compare(self, op, build, want=None, tolerance=0, only=(OURS, THEIRS)):
    """What differs. TensorFlow Text is asked for |want| unless it is given: a status code, or 0 and
    values."""
    graph, names = graph_of(op, build)
    question = graph.as_graph_def().SerializeToString(), {}, names
    if want is None and op == 'ConstrainedSequence':  # it has no shapes, which only Python allows
      want = in_this_process(graph, names)
    elif want is None:
      self.text.ask(question)
      want = self.text.answer()
    for library in self.libraries:
      if library.which in only and (library.which == OURS or not op.startswith(self.ONLY_OURS)):
        library.ask(question)
        why = difference(library.answer(), want if isinstance(want, tuple) else (want, ''),
                         tolerance)
        if why:
          return '%s: %s' % (library.which, why)
    return ''

  def report(self, name, op, build, **options):
    report(name, lambda: self.compare(op, build, **options))


def given(**arguments):
  """Builds constants."""
  return lambda: ({k: tf.constant(v) if isinstance(v, np.ndarray) else v
                   for k, v in arguments.items()}, [])


# ---- Groups of ops -------------------------------------------------------------------------------
def check_normalize(judge, texts):
  for name, values in [('texts', texts), ('bytes that are no UTF-8', strings(BAD_BYTES))]:
    judge.report('CaseFoldUTF8 of ' + name, 'CaseFoldUTF8', given(input=values))
    for form in ('NFC', 'nfd', 'NFKC', 'NFKD'):
      judge.report('NormalizeUTF8 %s of %s' % (form, name), 'NormalizeUTF8',
                   given(input=values, normalization_form=form))
  judge.report('NormalizeUTF8 of a matrix', 'NormalizeUTF8',
               given(input=texts[:24].reshape(4, 6), normalization_form='NFC'))
  judge.report('NormalizeUTF8 to no form', 'NormalizeUTF8',
               given(input=texts, normalization_form='NFX'))


def check_characters(judge, texts):
  for op, variants in [('WhitespaceTokenizeWithOffsets', [{}]),
                       ('UnicodeScriptTokenizeWithOffsets',
                        [{'keep_whitespace': False}, {'keep_whitespace': True}])]:
    for attributes in variants:
      for dtype in (np.int32, np.int64):
        values, splits = decoded(texts, dtype)
        name = ' '.join([op, dtype.__name__] + ['%s=%s' % item for item in attributes.items()])
        judge.report(name, op, given(input_values=values, input_splits=splits, **attributes))
    variant = variants[0]
    # TensorFlow Text may crash.
    none = np.zeros(0, np.int32), np.zeros(1, np.int64)
    judge.report(op + ' of no texts', op,
                 given(input_values=none[0], input_splits=none[1], **variant),
                 want=(0, [none[0], none[1], none[1][:0], none[1][:0], none[1]]))
    odd = np.array([-1, 0x110000, 65, 2**31 - 1, 0xd800, 32, -2**31], np.int32)
    judge.report(op + ' of no characters', op,
                 given(input_values=odd, input_splits=np.array([0, 3, 7], np.int64), **variant))
    # TensorFlow Text reads beyond its input for such.
    for splits in ([], [0, 9], [1, 3], [0, 2, 1, 3], [0, -1, 3]):
      judge.report('%s with the splits %s' % (op, splits), op, given(
          input_values=np.array([65, 32, 66], np.int32),
          input_splits=np.array(splits, np.int64), **variant), want=3)


def check_regex(judge, texts):
  whole = strings([t for t in texts if b'\0' not in t])  # behind it TensorFlow Text sees nothing
  for delimiter, kept in [(r'(\s)', ''), (r'(\s+|[^\w\s])', r'[^\s]'), (r'([,.;!])', '[,.]'),
                          (r'(a(b)c|\d)', r'\d'), (r'x(\d)', r'\d'), ('', ''), (r'\s', ''),
                          (r'(^a)', 'a'), (r'(\bb)', 'b'), (r'(\p{Han})', r'.*'),
                          (r'((?i)THE)', '')]:
    judge.report('RegexSplitWithOffsets at %s keeping %s' % (delimiter, kept),
                 'RegexSplitWithOffsets', given(
                     input=whole, delim_regex_pattern=strings([delimiter])[0:1].reshape(()),
                     keep_delim_regex_pattern=strings([kept]).reshape(())))
  for delimiter, kept in [('(', ''), (r'(\s)', '[')]:
    judge.report('RegexSplitWithOffsets with the pattern %s or %s' % (delimiter, kept),
                 'RegexSplitWithOffsets', given(
                     input=whole, delim_regex_pattern=strings([delimiter]).reshape(()),
                     keep_delim_regex_pattern=strings([kept]).reshape(())))
  # TensorFlow Text never ends.
  judge.report('RegexSplitWithOffsets at the empty text', 'RegexSplitWithOffsets', given(
      input=whole, delim_regex_pattern=strings([r'(\s*)']).reshape(()),
      keep_delim_regex_pattern=strings(['']).reshape(())), want=3)


def check_wordpiece(judge, texts):
  chance, op = random.Random(2), 'WordpieceTokenizeWithOffsets'
  words = strings([w for t in texts for w in t.split()][:400] + [b'', b'\xff', b'a\xc3\xa4\xe4b'])
  vocabulary = sorted({prefix + w.decode('utf8', 'ignore')[a:a + 1 + chance.randrange(4)]
                       for w in words for prefix in ('', '##')
                       for a in (0, 1, 2) if chance.random() < .8} | set('abcdehnt') - {''})

  def build(**attributes):
    def body():
      keys = strings(vocabulary)
      table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, name='table')
      fill = tf.raw_ops.LookupTableImportV2(table_handle=table, keys=keys, name='fill',
                                            values=np.arange(len(keys), dtype=np.int64))
      return dict(dict(input_values=tf.constant(words), vocab_lookup_table=table,
                       suffix_indicator='##', max_bytes_per_word=100, unknown_token='[UNK]',
                       use_unknown_token=True), **attributes), [fill]
    return body

  for number in range(24):
    attributes = dict(max_chars_per_token=chance.choice([0, 0, 2, 3]),
                      use_unknown_token=chance.random() < .5,
                      split_unknown_characters=chance.random() < .5,
                      max_bytes_per_word=chance.choice([100, 6, 0]),
                      output_row_partition_type=chance.choice(['row_lengths', 'row_splits']))
    judge.report('WordpieceTokenizeWithOffsets %d' % number, op, build(**attributes), only=(OURS,))
  # No function of TensorFlow's C API looks into a table.
  judge.report('WordpieceTokenizeWithOffsets in TensorFlow', op, build(), want=12, only=(THEIRS,))


def check_split_merge(judge, texts):
  chance = random.Random(3)
  counts = [len(t.decode()) for t in texts]
  splits = np.cumsum([0] + counts).astype(np.int32)
  labels = np.array([chance.randrange(2) for _ in range(splits[-1])], np.int32)
  for force in (False, True):
    judge.report('SplitMergeTokenizeWithOffsets force=%s' % force, 'SplitMergeTokenizeWithOffsets',
                 given(input_values=texts, labels=labels, row_splits=splits,
                       force_split_at_break_character=force))
  for bad in ([0, 1], [0, 0, 0, 0]):
    judge.report('SplitMergeTokenizeWithOffsets with the splits %s' % bad,
                 'SplitMergeTokenizeWithOffsets',
                 given(input_values=strings(['ab', 'c']), labels=np.zeros(3, np.int32),
                       row_splits=np.array(bad, np.int32)), want=3)
  judge.report('SplitMergeTokenizeWithOffsets with few labels', 'SplitMergeTokenizeWithOffsets',
               given(input_values=strings(['ab', 'c']), labels=np.zeros(2, np.int32),
                     row_splits=np.array([0, 1, 2], np.int32)))


def check_sequences(judge):
  chance = np.random.RandomState(4)
  for number in range(48):
    batch, steps, states = 1 + number % 3, number % 6, 1 + number % 5
    ends, log, viterbi = number % 2 == 0, number % 4 < 2, number % 8 < 4
    side = states + ends
    lengths = chance.randint(0, steps + 1, batch).astype([np.int32, np.int64][number % 2])
    allowed = chance.rand(side, side) < .7 if number % 3 else np.zeros((0, 0), bool)
    weights = chance.rand(side, side).astype('f4') if number % 5 else np.zeros((0, 0), 'f4')
    judge.report('ConstrainedSequence %d' % number, 'ConstrainedSequence', given(
        scores=chance.randn(batch, steps, states).astype('f4'), sequence_lengths=lengths,
        allowed_transitions=allowed, transition_weights=weights, use_viterbi=viterbi,
        use_log_space=log, use_start_and_end_states=ends,
        Tsplits=[tf.int32, tf.int64][number // 2 % 2]))
  good = dict(scores=np.ones((2, 3, 2), 'f4'), sequence_lengths=np.array([1, 3], np.int32),
              allowed_transitions=np.ones((2, 2), bool), transition_weights=np.ones((2, 2), 'f4'),
              use_viterbi=True, use_log_space=False, use_start_and_end_states=False)
  for name, change in [('a rank of 1', dict(scores=np.ones(3, 'f4'))),
                       ('one length', dict(sequence_lengths=np.array([1], np.int32))),
                       ('a long length', dict(sequence_lengths=np.array([1, 4], np.int32))),
                       ('a wide matrix', dict(allowed_transitions=np.ones((2, 3), bool))),
                       ('a vector', dict(transition_weights=np.ones(4, 'f4'))),
                       ('a negative weight', dict(transition_weights=-np.ones((2, 2), 'f4')))]:
    judge.report('ConstrainedSequence with ' + name, 'ConstrainedSequence',
                 given(**dict(good, **change)))
  judge.report('ConstrainedSequence with a negative length', 'ConstrainedSequence',
               given(**dict(good, sequence_lengths=np.array([-1, 3], np.int32))), want=3)


def check_rouge(judge):
  chance = np.random.RandomState(5)
  for number in range(12):
    rows = number % 4
    counts = chance.randint(0, 9, (2, rows))
    splits = [np.cumsum(np.r_[0, c]).astype([np.int32, np.int64][number % 2]) for c in counts]
    values = [chance.randint(0, 4, s[-1]) for s in splits]
    kind = [lambda v: v.astype(np.int32), lambda v: v.astype(np.int64),
            lambda v: strings(['w%d' % x for x in v])][number % 3]
    if number % 3 == 2 and not all(v.size for v in values):
      continue  # tf.constant cannot tell strings where there are none
    judge.report('RougeL %d' % number, 'RougeL', given(
        hyp_values=kind(values[0]), hyp_splits=splits[0], ref_values=kind(values[1]),
        ref_splits=splits[1], alpha=np.float32(chance.choice([.5, 0, 1, -1, .3]))), tolerance=1e-6)
  good = dict(hyp_values=np.arange(3), hyp_splits=np.array([0, 3]), ref_values=np.arange(2),
              ref_splits=np.array([0, 2]), alpha=np.float32(.5))
  for name, change, code in [('a high alpha', dict(alpha=np.float32(1.5)), None),
                             ('splits beyond', dict(ref_splits=np.array([0, 9])), 3)]:
    judge.report('RougeL with ' + name, 'RougeL', given(**dict(good, **change)), want=code)


def check_sentences(judge, texts):
  chance = random.Random(6)
  words = ['He', 'agreed', '.', '!', '?', '...', '…', "''", '"', ')', '(', ':)', 'U.S.', '”', '。',
           ']', '>', '<', '»', '՜', ';', ',', '-', '~', '`', '﴾', '﴿', '।', 'Yahoo', '»»']
  for number in range(20):
    lengths = [chance.randrange(12) for _ in range(chance.randrange(1, 4))]
    chosen = [chance.choice(words) for _ in range(sum(lengths))]
    if not chosen:
      continue
    kinds = [0x80 if w == ':)' else 0x100 if w == 'U.S.' else chance.choice([0, 0, 0, 1, 0x80])
             for w in chosen]
    at = np.arange(len(chosen))
    judge.report('SentenceFragments %d' % number, 'SentenceFragments', given(
        row_lengths=np.array(lengths), token_start=at, token_end=at + 1, token_word=strings(chosen),
        token_properties=np.array(kinds), input_encoding='UTF-8'))
  good = dict(row_lengths=np.array([2]), token_start=np.arange(2), token_end=np.arange(2),
              token_word=strings(['a', '.']), token_properties=np.zeros(2, np.int64),
              input_encoding='UTF-8')
  for name, change, code in [('an empty token', dict(token_word=strings(['a', ''])), None),
                             ('a length too much', dict(row_lengths=np.array([3])), None),
                             ('no encoding', dict(input_encoding='UTF-5'), None),
                             ('few properties', dict(token_properties=np.array([0])), 3)]:
    judge.report('SentenceFragments with ' + name, 'SentenceFragments',
                 given(**dict(good, **change)), want=code)


def check_trees(judge):
  chance = np.random.RandomState(7)
  for number in range(40):
    batch, side = 1 + number % 2, 1 + number % 9
    dtype = [np.float32, np.float64, np.int32][number % 3]
    scores = (chance.permutation(batch * side * side) * 3 + 1).reshape(batch, side, side)
    scores = (scores * scores if dtype is np.int32 else chance.randn(batch, side, side))
    scores = scores.astype(dtype)
    if dtype is not np.int32 and number % 4 == 0:
      scores[chance.rand(*scores.shape) < .4] = -np.inf
    judge.report('MaxSpanningTree %d' % number, 'MaxSpanningTree', given(
        num_nodes=chance.randint(1, side + 1, batch).astype(np.int32), scores=scores,
        forest=number % 2 == 0), tolerance=1e-5)
  for count in (0, 3):
    judge.report('MaxSpanningTree with %d nodes of 2' % count, 'MaxSpanningTree', given(
        num_nodes=np.array([count], np.int32), scores=np.ones((1, 2, 2), 'f4')))


def check_sentencepiece(judge, texts):
  for kind in ('unigram', 'bpe', 'bytes'):
    model = model_of(kind)

    def build(arguments, model=model):
      def body():
        handle = call('SentencepieceOp', 'model', model=model)
        return {k: tf.constant(v) if isinstance(v, np.ndarray) else v
                for k, v in dict(arguments, sp_handle=handle).items()}, []
      return body

    def flags(number):
      return {n: np.full((), number >> i & 1, bool)
              for i, n in enumerate(['add_bos', 'add_eos', 'reverse'])}

    for number in range(8):
      for op in ('SentencepieceTokenizeOp', 'SentencepieceTokenizeWithOffsetsOp'):
        for out, splits in [(tf.int32, tf.int64), (tf.string, tf.int32)]:
          judge.report('%s %s %d %s' % (op, kind, number, out.name), op, build(dict(
              input=texts, nbest_size=np.full((), number % 2, np.int32),
              alpha=np.ones((), 'f4'), out_type=out, Tsplits=splits, **flags(number))))
    if kind == 'unigram':
      for nbest in (3, 0):
        op = 'SentencepieceTokenizeOp'
        judge.report('%s returns %d' % (op, nbest), op, build(dict(
            input=texts[:12], nbest_size=np.full((), nbest, np.int32), alpha=np.ones((), 'f4'),
            return_nbest=True, **flags(0))))
    ids = np.array([5, 9, 7, 3, 0, 1, 2, 8], np.int32)
    for number in range(8):
      judge.report('SentencepieceDetokenizeOp %s %d' % (kind, number), 'SentencepieceDetokenizeOp',
                   build(dict(input_values=ids, input_splits=np.array([0, 3, 3, 8]),
                              **flags(number))))
    judge.report('SentencepieceDetokenizeOp %s of pieces' % kind, 'SentencepieceDetokenizeOp',
                 build(dict(input_values=strings(['\u2581the', 'no piece', 'a', '<s>']),
                            input_splits=np.array([0, 1, 4], np.int32), **flags(0))))
    judge.report('SentencepieceVocabSizeOp ' + kind, 'SentencepieceVocabSizeOp', build({}))
    judge.report('SentencepieceIdToStringOp ' + kind, 'SentencepieceIdToStringOp',
                 build(dict(input=ids)))
    judge.report('SentencepieceStringToIdOp ' + kind, 'SentencepieceStringToIdOp',
                 build(dict(input=strings(['\u2581the', 'q', '', '</s>']))))
  judge.report('SentencepieceDetokenizeOp of a number too high', 'SentencepieceDetokenizeOp',
               build(dict(input_values=np.array([100000], np.int32),
                          input_splits=np.array([0, 1]), **flags(0))))
  judge.report('SentencepieceIdToStringOp of a negative number', 'SentencepieceIdToStringOp',
               build(dict(input=np.array([-1], np.int32))), want=11)
  for name, model in [('no model', b''), ('another model', b'\x0a\x03abc')]:
    judge.report('SentencepieceVocabSizeOp of ' + name, 'SentencepieceVocabSizeOp',
                 lambda m=model: (dict(sp_handle=call('SentencepieceOp', 'model', model=m)), []),
                 want=3)


def main():
  characters = known_characters()
  texts = strings(list(WORDS) + random_texts(1, 300, characters))
  judge = Judge()
  check_normalize(judge, texts)
  check_characters(judge, texts)
  check_regex(judge, texts)
  check_wordpiece(judge, texts)
  check_split_merge(judge, texts)
  check_sequences(judge)
  check_rouge(judge)
  check_sentences(judge, texts)
  check_trees(judge)
  check_sentencepiece(judge, texts)
  for library in judge.libraries + [judge.text]:
    library.close()
  compare_models(PLUGIN)


if __name__ == '__main__':
  main()
