"""The lists of cases in tests/conformance, by which dev/test-oracle and dev/test-corpus judge.

A list CORPUS.txt has a name a line: a case that is kept green, or a folder of them. A line
`! case  reason` excepts a case that fails today, and `? case  reason` one that passes sometimes.
Lines with # are comments. A list of exceptions alone means that every other case must pass.
"""
import collections
import os

LISTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'tests',
                     'conformance')


class Tally:
  """How many checks passed and failed; each tells its line."""

  def __init__(self):
    self.passed = self.failed = 0

  def add(self, ok, line=''):
    self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
    if line:
      print(line, flush=True)


def is_failure(outcome):
  """Whether a case that ended so does not pass; one whose op is absent counts for nothing."""
  return outcome not in ('pass', 'absent')


class Kept:
  """What a list says: |names| are kept green, |without| are excepted, with the reasons, and of
  these |uncertain| may pass as well."""

  def __init__(self, corpus):
    self.corpus, self.path = corpus, os.path.join(LISTS, corpus + '.txt')
    self.names, self.without, self.uncertain, self.comments = set(), {}, set(), []
    for line in open(self.path, encoding='utf-8') if os.path.exists(self.path) else []:
      words = line.strip().split(None, 2)
      if words and words[0] in '!?':
        self.without[words[1]] = words[2] if len(words) > 2 else ''
        if words[0] == '?':
          self.uncertain.add(words[1])
      elif words and not line.startswith('#'):
        self.names.add(words[0])
      elif words:
        self.comments.append(line)

  def holds(self, case):
    return case not in self.without and (
        case in self.names or os.path.dirname(case) in self.names)

  def update(self, results, has_whole_folders):
    folders = collections.defaultdict(list)
    for case, (outcome, _) in results.items():
      if case not in self.without:
        folders[os.path.dirname(case)].append((case, outcome == 'pass'))
    for folder, cases in folders.items():
      whole = has_whole_folders and folder.strip('/') not in ('', 'tr') and all(
          ok for _, ok in cases)
      self.names.update([folder] if whole else [case for case, ok in cases if ok])
    self.names = {n for n in self.names if os.path.dirname(n) not in self.names}
    self.write()

  def except_failed(self, results):
    """Makes the exceptions those that fail; a new one has what it failed with as its reason."""
    self.without = {case: self.without.get(case) or detail.split('\n')[0][:150]
                    for case, (outcome, detail) in results.items()
                    if is_failure(outcome) or case in self.uncertain}
    self.write()

  def write(self):
    with open(self.path, 'w', encoding='utf-8') as f:
      f.writelines(self.comments)
      f.writelines('%s %s  %s\n' % ('?' if case in self.uncertain else '!', case, reason)
                   for case, reason in sorted(self.without.items()))
      f.writelines(n + '\n' for n in sorted(self.names))


def judge_all(kept, results, tally, whole, update):
  """Judges {case: (outcome, detail)}, all of which pass but for those that `kept` excepts; an
  exception that passes is out of date, and so is one that names no case where `whole` says that all
  cases ran. With `update` the list is made to agree first."""
  if update and whole:
    kept.except_failed(results)
  for case, (outcome, detail) in sorted(results.items()):
    if outcome == 'absent':
      continue
    fails, excepted = is_failure(outcome), case in kept.without
    why = '%s: %s' % (outcome, ' '.join(detail.split())[:240]) if fails else \
        'passes, though it is excepted'
    is_right = fails == excepted or case in kept.uncertain
    tally.add(is_right, '' if is_right else '  %s %s: FAIL %s' % (kept.corpus, case, why))
  for case in sorted(c for c in kept.without if whole and c not in results):
    tally.add(False, '  %s %s: FAIL no such case' % (kept.corpus, case))
  count = collections.Counter(outcome for outcome, _ in results.values())
  print('%s: %d cases: %s; %d excepted' % (kept.corpus, len(results), ', '.join(
      '%d %s' % (n, o) for o, n in count.most_common()), len(kept.without)), flush=True)
