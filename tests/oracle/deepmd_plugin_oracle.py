"""The plug-in of examples/plugins/deepmd beside DeePMD-kit's own op library (the package
deepmd-kit, of which only that file is used), which its authors built for the TensorFlow that is
here. Graphs are run three times, each in a process of its own: by Leat with the plug-in, by
TensorFlow with DeePMD's library, and by TensorFlow with the plug-in, which knows nothing of Leat.
First single ops on made systems, then, where LEAT_DATA_DIR is, DeePMD's test models as a whole.

usage: deepmd_plugin_oracle.py                     the comparison
       deepmd_plugin_oracle.py WHICH LIBRARY FILE  runs what FILE holds; WHICH: leat, tensorflow
"""
import ctypes
import glob
import importlib.util
import os
import pickle
import subprocess
import sys

import numpy as np

PLUGIN = os.path.join(os.environ['LEAT_BUILD_DIR'], 'lib', 'deepmd_plugin.so')
MODELS = 'models/graphdef_text/deepmodeling_deepmd-kit/source'
WAYS = ('leat', 'tensorflow', 'tensorflow with the plug-in')
FLOAT, DOUBLE, INT32 = 1, 2, 3
# Neighbors at equal distances in single precision may change places, and sums their order.
TOLERANCE = {FLOAT: 5e-5, DOUBLE: 1e-10}


# ---- a process that runs graphs ------------------------------------------------------------------

def answer(which, library, path):
  """Writes to |path|.out what each question of |path| gives: values, or the error's text."""
  import capi  # the parent has TensorFlow's Python, this process the C API alone
  import library_process
  if which == library_process.OURS:
    ctypes.CDLL(os.environ['LEAT_LIBRARY'], ctypes.RTLD_GLOBAL)
  else:
    folder = os.path.dirname(importlib.util.find_spec('tensorflow').origin)
    ctypes.CDLL(os.path.join(folder, 'libtensorflow_framework.so.2'), ctypes.RTLD_GLOBAL)
    ctypes.CDLL(os.path.join(folder, 'libtensorflow_cc.so.2'), ctypes.RTLD_GLOBAL)
  api = library_process.load(which)
  load = api.handle.TF_LoadLibrary
  load.restype, load.argtypes = capi.P, (ctypes.c_char_p, capi.P)
  load(library.encode(), api.status)
  api.check()
  # DeePMD's ops have no shape functions, which a graph of the C API asks for unless told not to.
  need_shapes = api.handle.TF_SetRequireShapeInferenceFns
  need_shapes.restype, need_shapes.argtypes = None, (capi.P, ctypes.c_bool)
  answers = []
  with open(path, 'rb') as f:
    questions = pickle.load(f)
  for question in questions:
    if not question:
      answers.append(None)
      continue
    graph, feeds, fetches = question
    try:
      nodes = api.TF_NewGraph()
      need_shapes(nodes, False)
      session = capi.Session(api, graph, library_process.PLAIN, nodes)
      answers.append(session.run(fetches, feeds))
      session.close()
    except capi.Error as error:
      answers.append(str(error))
  with open(path + '.out', 'wb') as f:
    pickle.dump(answers, f)


def ask_all(questions, theirs):
  """What the three ways give for each question."""
  answers = []
  for way in WAYS:
    which, library = way.split()[0], theirs if way == 'tensorflow' else PLUGIN
    # What must be refused would make DeePMD's library read what is not there.
    asked = [None if way == 'tensorflow' and question[5] else question[1:4]
             for question in questions]
    with open('questions', 'wb') as f:
      pickle.dump(asked, f)
    run = subprocess.run([sys.executable, os.path.abspath(__file__), which, library, 'questions'],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode:
      raise SystemExit('deepmd: FAIL %s ended with %d: %s' % (way, run.returncode,
                                                             run.stdout[-500:]))
    with open('questions.out', 'rb') as f:
      answers.append(pickle.load(f))
  return list(zip(*answers))


# ---- comparing -----------------------------------------------------------------------------------

def difference(names, ours, theirs, tolerance):
  """What differs between two lists of arrays, or ''."""
  for name, x, y in zip(names, ours, theirs):
    if x.shape != y.shape or x.dtype != y.dtype:
      return '%s is %s%s, not %s%s' % (name, x.dtype, x.shape, y.dtype, y.shape)
    if x.dtype.kind in 'ib?':
      wrong = np.flatnonzero(x.ravel() != y.ravel())
      if len(wrong):
        return '%s differs in %d of %d places' % (name, len(wrong), x.size)
      continue
    scale = np.max(np.abs(y), initial=1e-3)
    error = np.max(np.abs(x - y), initial=0) / scale
    if not error <= tolerance:
      return '%s differs by %.1e of %.3g' % (name, error, scale)
  return ''


def judge(question, answers):
  _, _, _, fetches, tolerance, refused = question
  for way, given in zip(WAYS, answers):
    if given is None:
      continue
    if isinstance(given, str) != bool(refused):
      return '%s: %s' % (way, given if isinstance(given, str) else 'refused nothing')
    if refused and refused not in given:
      return '%s says: %s' % (way, given)
  if refused:
    return ''
  for way in (0, 2):
    why = difference(fetches, answers[way], answers[1], tolerance)
    if why:
      return '%s: %s' % (WAYS[way], why)
  return ''


# ---- single ops ----------------------------------------------------------------------------------

def node_graph(op, inputs, outputs, attrs):
  """A GraphDef with one node `y` of |op| over placeholders in0, in1, ..., and what to fetch."""
  from tensorflow.core.framework import graph_pb2
  graph = graph_pb2.GraphDef()
  graph.versions.producer = 1882
  for i, value in enumerate(inputs):
    node = graph.node.add(name='in%d' % i, op='Placeholder')
    node.attr['dtype'].type = {'f4': FLOAT, 'f8': DOUBLE, 'i4': INT32}[value.dtype.str[1:]]
    node.attr['shape'].shape.unknown_rank = True
  node = graph.node.add(name='y', op=op, input=['in%d' % i for i in range(len(inputs))])
  for name, value in attrs.items():
    if name == 'T':
      node.attr[name].type = value
    elif isinstance(value, float):
      node.attr[name].f = value
    elif isinstance(value, int):
      node.attr[name].i = value
    else:
      node.attr[name].list.i.extend(value)
  return (graph.SerializeToString(), {'in%d' % i: v for i, v in enumerate(inputs)},
          ['y:%d' % i for i in range(outputs)])


class Ops:
  """Questions about single ops, in the order of their making."""

  def __init__(self):
    self.random, self.questions = np.random.default_rng(7), []

  def add(self, name, op, inputs, outputs, attrs, refused=''):
    dtype = attrs.get('T', DOUBLE)
    self.questions.append((name, *node_graph(op, inputs, outputs, attrs), TOLERANCE[dtype],
                           refused))

  def system(self, frames, atoms, ghosts, box, dtype):
    """coord, type, natoms and box of a made system of two types."""
    real = {FLOAT: 'f4', DOUBLE: 'f8'}[dtype]
    total = atoms + ghosts
    coord = self.random.uniform(-1.5, 2.5, (frames, total, 3)) @ np.asarray(box)
    types = self.random.integers(0, 2, (frames, total)).astype('i4')
    natoms = np.array([atoms, total, atoms, 0], 'i4')
    return (coord.reshape(frames, -1).astype(real), types, natoms,
            np.tile(np.reshape(box, (1, 9)), (frames, 1)).astype(real))

  def environment(self, name, op, dtype, system, mesh, sel, rcut=4.0, smooth=1.0, refused=''):
    width = 1 if op in ('ProdEnvMatR', 'DescrptSeR') else 4
    columns = sum(sel) * width
    real = system[0].dtype
    mean = self.random.normal(size=(2, columns)).astype(real)
    deviation = self.random.uniform(0.5, 2, (2, columns)).astype(real)
    if width == 1:
      attrs = {'rcut': rcut, 'rcut_smth': smooth, 'sel': sel}
    else:
      attrs = {'rcut_a': -1.0, 'rcut_r': rcut, 'rcut_r_smth': smooth, 'sel_a': sel,
               'sel_r': [0] * len(sel)}
    self.add(name, op, [*system, mesh, mean, deviation], 6 if op.endswith('Mix') else 4,
             dict(attrs, T=dtype), refused)

  def environments(self):
    skew = [[7, 0.5, 0], [-2, 6, 1], [0.3, 1, 9]]
    boxes = {'box': np.eye(3) * 9, 'skew box': skew, 'thin box': np.diag([2.5, 8, 5.0]),
             'long box': np.diag([40, 5, 6.0])}
    for dtype, real in ((DOUBLE, 'double'), (FLOAT, 'float')):
      for op in ('ProdEnvMatA', 'DescrptSeA', 'DescrptNorot', 'ProdEnvMatR', 'DescrptSeR',
                 'ProdEnvMatAMix'):
        sel = [70] if op.endswith('Mix') else [40, 60]
        few = [5] if op.endswith('Mix') else [3, 2]
        for box in boxes:
          if dtype == FLOAT and box == 'thin box':
            continue  # an atom's images are at equal distances but for the rounding
          system = self.system(2, 23, 0, boxes[box], dtype)
          self.environment('%s %s %s' % (op, real, box), op, dtype, system, np.zeros(6, 'i4'), sel)
        system = self.system(2, 30, 0, np.eye(3) * 6, dtype)
        self.environment('%s %s few places' % (op, real), op, dtype, system, np.zeros(6, 'i4'), few)
        self.environment('%s %s open' % (op, real), op, dtype, system, np.zeros(0, 'i4'), sel)
        ghosts = self.system(2, 11, 13, np.eye(3) * 4, dtype)
        self.environment('%s %s ghosts' % (op, real), op, dtype, ghosts, np.zeros(0, 'i4'), sel)
        lists = [self.random.permutation([j for j in range(24) if j != i])[:9 + i % 4]
                 for i in range(11)]
        order = self.random.permutation(11)
        mesh = np.concatenate([np.zeros(16), order, [len(lists[i]) for i in order],
                               *[lists[i] for i in order]]).astype('i4')
        self.environment('%s %s lists' % (op, real), op, dtype, ghosts, mesh, sel)
        virtual = tuple(np.where(v % 5 == 3, -1, v) if k == 1 else v
                        for k, v in enumerate(self.system(2, 23, 0, np.eye(3) * 6, dtype)))
        virtual[1][:, ::6] = -1
        self.environment('%s %s virtual' % (op, real), op, dtype, virtual, np.zeros(6, 'i4'), sel)
        self.environment('%s %s virtual, open' % (op, real), op, dtype, virtual,
                         np.zeros(0, 'i4'), sel)
    # A crystal: many neighbors at the same distance, of which some find no place.
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), -1).reshape(1, -1) * 1.5
    crystal = (grid, np.zeros((1, 64), 'i4'), np.array([64, 64, 64, 0], 'i4'),
               np.reshape(np.eye(3) * 6, (1, 9)))
    self.environment('ProdEnvMatA crystal', 'ProdEnvMatA', DOUBLE, crystal, np.zeros(6, 'i4'),
                     [20, 5])
    none = self.system(2, 0, 0, np.eye(3) * 6, DOUBLE)
    self.environment('ProdEnvMatA no atoms', 'ProdEnvMatA', DOUBLE, none, np.zeros(6, 'i4'), [3, 3])
    system = self.system(1, 5, 0, np.eye(3) * 6, DOUBLE)
    self.environment('ProdEnvMatA pointers', 'ProdEnvMatA', DOUBLE, system, np.zeros(16, 'i4'),
                     [3, 3], refused='addresses of neighbor lists')
    wrong = (system[0], system[1] + 2, *system[2:])
    self.environment('ProdEnvMatA types', 'ProdEnvMatA', DOUBLE, wrong, np.zeros(6, 'i4'), [3, 3],
                     refused='must be less than 2')

  def products(self):
    for dtype, real in ((DOUBLE, 'f8'), (FLOAT, 'f4')):
      for force, virial, width in (('ProdForceSeA', 'ProdVirialSeA', 4),
                                   ('ProdForceNorot', 'ProdVirialNorot', 4),
                                   ('ProdForceSeR', 'ProdVirialSeR', 1)):
        frames, local, every, places = 3, 7, 12, 9
        count = local * places
        net, rij = (self.random.normal(size=(frames, count * n)).astype(real) for n in (width, 3))
        deriv = self.random.normal(size=(frames, count * width * 3)).astype(real)
        nlist = self.random.integers(-1, every, (frames, count)).astype('i4')
        natoms = np.array([local, every, local, 0], 'i4')
        attrs = {'T': dtype} if width == 1 else {'T': dtype, 'n_a_sel': places, 'n_r_sel': 0}
        self.add('%s %s' % (force, real), force, [net, deriv, nlist, natoms], 1, attrs)
        self.add('%s %s' % (virial, real), virial, [net, deriv, rij, nlist, natoms], 2, attrs)

  def masks(self):
    for dtype, real in ((DOUBLE, 'f8'), (FLOAT, 'f4')):
      coord, types, natoms, box = self.system(2, 9, 0, np.eye(3) * 5, dtype)
      mask = self.random.integers(0, 2, types.shape).astype('i4')
      mask[:, 2] = 1
      self.add('DescrptSeAMask ' + real, 'DescrptSeAMask',
               [coord, types, mask, box, natoms, np.zeros(0, 'i4')], 4, {'T': dtype})
      net = self.random.normal(size=(2, 9 * 9 * 4)).astype(real)
      deriv = self.random.normal(size=(2, 9 * 9 * 12)).astype(real)
      nlist = np.stack([np.concatenate([self.random.permutation(
          [j for j in range(9) if j != i] + [(i + 1) % 9]) for i in range(9)])
                        for _ in range(2)]).astype('i4')
      self.add('ProdForceSeAMask ' + real, 'ProdForceSeAMask', [net, deriv, mask, nlist], 1,
               {'T': dtype, 'total_atom_num': 9})

  def pairs(self):
    natoms = np.array([10, 12, 10, 0, 0], 'i4')
    for name, idxs in (
        ('', [[1, 1, 1, 0, 0, 2, 2, 2, 3, 3, 0, 1]]),
        (' frames', [[1, 1, 1, 0, 0, 2, 2, 2, 3, 3, 0, 1], [0, 4, 4, 4, 4, 0, 0, -1, -1, 7, 7, 4]]),
        (' one fragment', [[5, -1, 5, 5, -1, -1, -1, -1, -1, 5, 5, -1]])):
      self.add('DprcPairwiseIdx' + name, 'DprcPairwiseIdx', [np.array(idxs, 'i4'), natoms], 7, {})


# ---- models --------------------------------------------------------------------------------------

WATER = np.array([12.83, 2.56, 2.18, 12.09, 2.87, 2.74, 0.25, 3.32, 1.68,
                  3.36, 3.00, 1.81, 3.51, 2.51, 2.60, 4.27, 3.22, 1.56]).reshape(6, 3)


def constant(graph, name):
  from tensorflow.python.framework import tensor_util
  for node in graph.node:
    if node.name == name:
      return tensor_util.MakeNdarray(node.attr['value'].tensor)
  return None


def model_feeds(graph, periodic):
  """Feeds for the placeholders of a model: twelve atoms like two times two molecules of water, as
  many types as the model has, sorted by type."""
  shapes = {node.name: [d.size for d in node.attr['shape'].shape.dim] for node in graph.node
            if node.op == 'Placeholder'}
  types_count = next(shape[0] - 2 for name, shape in shapes.items() if name.endswith('t_natoms'))
  mixed = any(node.op.endswith('Mix') for node in graph.node)
  masked = [node for node in graph.node if node.op == 'ProdForceSeAMask']
  atoms = masked[0].attr['total_atom_num'].i if masked else 12
  random = np.random.default_rng(3)
  coord = np.concatenate([WATER, WATER[::-1] * [1, -1, 1] + [0.4, 7, 5.3]])
  if masked:
    coord = random.uniform(0, 12, (atoms, 3))
  types = np.sort(np.arange(atoms) % types_count).astype('i4')
  counts = np.bincount(types, minlength=types_count)
  feeds = {}
  for name, shape in shapes.items():
    last = name.rpartition('/')[2]
    if last == 't_coord':
      value = coord.ravel()
    elif last == 't_type':
      value = types
    elif last == 't_natoms':
      value = np.array([atoms, atoms, *counts], 'i4')
    elif last == 't_box':
      value = (np.eye(3) * 13).reshape(1, 9) if len(shape) == 2 else (np.eye(3) * 13).ravel()
    elif last == 't_mesh':
      value = np.zeros((7 if mixed else 6) if periodic else (1 if mixed else 0), 'i4')
    elif last == 't_fparam':
      value = np.array([0.25852028])
    elif last == 't_aparam':
      fragments = any(node.op == 'DprcPairwiseIdx' for node in graph.node)
      value = (np.arange(atoms) // 3 if fragments else
               (random.uniform(size=atoms) < 0.8) if masked else np.full(atoms, 0.25852028))
    elif last == 't_ef':
      chosen = constant(graph, 'dipole_charge/model_attr/sel_type')
      value = random.normal(size=3 * np.count_nonzero(np.isin(types, chosen)))
    feeds[name] = value.astype('i4') if value.dtype.kind == 'i' and last != 't_aparam' else \
        value.astype('f8')
  return feeds


def model_questions(folder):
  from google.protobuf import text_format
  from tensorflow.core.framework import graph_pb2
  found = []
  for path in sorted(glob.glob(os.path.join(folder, '**/*.pbtxt'), recursive=True)):
    graph = graph_pb2.GraphDef()
    with open(path) as f:
      text_format.Parse(f.read(), graph)
    read = {name.split(':')[0].lstrip('^') for node in graph.node for name in node.input}
    fetches = [node.name for node in graph.node if node.name.startswith('o_')]
    # One model has no outputs of such names: what no other node reads.
    fetches = fetches or [node.name for node in graph.node
                          if node.name not in read and node.op not in ('Const', 'NoOp')]
    single = any(node.attr['T'].type == FLOAT for node in graph.node if 'T' in node.attr)
    for periodic in (True, False):
      found.append(('model %s%s' % (os.path.basename(path)[:-6], '' if periodic else ', open'),
                    graph.SerializeToString(), model_feeds(graph, periodic), fetches,
                    2e-6 if single else 1e-9, ''))
  return found


def main():
  if len(sys.argv) == 4:
    return answer(*sys.argv[1:])
  spec = importlib.util.find_spec('deepmd')
  if not spec:
    print('SKIP deepmd: the package deepmd-kit is not installed')
    return None
  theirs = os.path.join(os.path.dirname(spec.origin), 'lib', 'libdeepmd_op.so')
  ops = Ops()
  ops.environments()
  ops.products()
  ops.masks()
  ops.pairs()
  questions = ops.questions
  folder = os.path.join(os.environ.get('LEAT_DATA_DIR', ''), MODELS)
  if os.path.isdir(folder):
    questions = questions + model_questions(folder)
  else:
    print('SKIP deepmd models: LEAT_DATA_DIR has no ' + MODELS)
  for question, answers in zip(questions, ask_all(questions, theirs)):
    why = judge(question, answers)
    print('deepmd %s: %s' % (question[0], 'FAIL ' + why if why else 'ok'), flush=True)
  return None


if __name__ == '__main__':
  sys.exit(main())
