"""deploy/: the manifests beside Kubernetes' schemas and what the tasks say, and the training.

No Kubernetes is asked. The addresses that `leat launch --cluster` makes of LEAT_CLUSTER must be
those of the pods that the StatefulSets have, and the Job's target one of them. The training runs as
the Job has it, but against servers of this machine.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import kubernetes_validate
import leat as tf
import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, 'deploy', 'kubernetes')
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(tf.__file__))))


def documents():
  """{kind/name: manifest} of all that kustomization.yaml names."""
  with open(os.path.join(FOLDER, 'kustomization.yaml'), encoding='utf-8') as f:
    resources = yaml.safe_load(f)['resources']
  found = {}
  for path in resources:
    with open(os.path.join(FOLDER, path), encoding='utf-8') as f:
      for document in yaml.safe_load_all(f):
        found['%s/%s' % (document['kind'], document['metadata']['name'])] = document
  return found


def cluster_source():
  with open(os.path.join(FOLDER, 'kustomization.yaml'), encoding='utf-8') as f:
    return re.search(r'LEAT_CLUSTER=(\S+)', f.read()).group(1)


class ManifestsTest(unittest.TestCase):

  def test_all_fit_the_schemas(self):
    self.assertEqual(sorted(documents()), [
        'Job/train', 'NetworkPolicy/leat', 'Service/leat', 'StatefulSet/ps', 'StatefulSet/worker'])
    for document in documents().values():
      kubernetes_validate.validate(document, '1.30', strict=True)
    broken = documents()['Service/leat']
    broken['spec']['clusterIPs'] = 'None'   # must be a list
    with self.assertRaises(kubernetes_validate.ValidationError):
      kubernetes_validate.validate(broken, '1.30', strict=True)

  def test_kustomize_takes_them(self):
    if not shutil.which('kubectl'):
      self.skipTest('SKIP there is no kubectl')
    out = subprocess.run(['kubectl', 'kustomize', FOLDER], stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    kinds = sorted(d['kind'] for d in yaml.safe_load_all(out))
    self.assertEqual(kinds, ['ConfigMap', 'ConfigMap', 'Job', 'NetworkPolicy', 'Service',
                             'StatefulSet', 'StatefulSet'])

  def test_pods_are_the_tasks(self):
    all_documents = documents()
    service = all_documents['Service/leat']
    addresses = {}
    for name in ('ps', 'worker'):
      spec = all_documents['StatefulSet/' + name]['spec']
      labels = spec['template']['metadata']['labels']
      self.assertLessEqual(service['spec']['selector'].items(), labels.items())
      self.assertEqual(spec['serviceName'], service['metadata']['name'])
      port = spec['template']['spec']['containers'][0]['ports'][0]['containerPort']
      self.assertEqual(port, service['spec']['ports'][0]['port'])
      addresses[name] = ['%s-%d.%s:%d' % (name, i, spec['serviceName'], port)
                         for i in range(spec['replicas'])]
    for job, tasks in addresses.items():
      for index in range(len(tasks)):
        out = subprocess.run(
            [os.path.join(BUILD, 'bin', 'leat'), 'launch', '--cluster', cluster_source(), '--',
             sys.executable, '-c', 'import os; print(os.environ["TF_CONFIG"])'],
            stdout=subprocess.PIPE, text=True, check=True,
            env=dict(os.environ, POD_NAME='%s-%d' % (job, index))).stdout
        self.assertEqual(json.loads(out),
                         {'cluster': addresses, 'task': {'type': job, 'index': index}})
    arguments = all_documents['Job/train']['spec']['template']['spec']['containers'][0]['args']
    self.assertIn('grpc://' + addresses['worker'][0], arguments)
    self.assertEqual(arguments[-2:], ['--workers', str(len(addresses['worker']))])

  def test_the_page_has_the_cluster(self):
    with open(os.path.join(ROOT, 'docs', 'cluster.md'), encoding='utf-8') as f:
      text = f.read()
    self.assertIn('kubectl apply -k deploy/kubernetes', text)
    self.assertIn('--cluster %s --allow-insecure' % cluster_source(), text)


class TrainingTest(unittest.TestCase):

  def test_it_trains(self):
    workers, servers = tf.test.create_local_cluster(2, 1)
    out = subprocess.run([sys.executable, os.path.join(FOLDER, 'train.py'), '--target',
                          workers[0].target, '--workers', '2'], stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    del servers
    losses = [float(loss) for loss in re.findall(r'loss (\S+)', out)]
    self.assertEqual(len(losses), 10)
    self.assertLess(losses[-1], losses[0] / 1000)


class ImageTest(unittest.TestCase):

  def test_the_static_program_needs_nothing(self):
    """In an empty root, as in an image from scratch, it serves and finds itself."""
    program = os.path.join(BUILD, 'bin', 'leat_image')
    if not os.path.exists(program) or os.geteuid() != 0:
      self.skipTest('SKIP there is no bin/leat_image (ninja leat_image), or this is not root')
    with open(os.path.join(ROOT, 'deploy', 'image', 'Dockerfile'), encoding='utf-8') as f:
      place = re.search(r'^COPY leat_image (\S+)$', f.read(), re.M).group(1)
    self.assertLessEqual(os.path.getsize(program), 15_000_000)
    with tempfile.TemporaryDirectory() as folder:
      shutil.copy(program, folder + place)
      command = ['chroot', '--userspec=65534:65534', folder, place]
      os.chmod(folder, 0o755)
      os.mkdir(os.path.join(folder, 'etc'))  # the one file that who runs containers puts into each
      with open(os.path.join(folder, 'etc', 'hosts'), 'w', encoding='utf-8') as f:
        f.write('127.0.0.1 localhost\n')
      with subprocess.Popen([*command, 'server', '--cluster', 'ps=localhost:0', '--job', 'ps'],
                            stdout=subprocess.PIPE, text=True) as server:
        address = re.search(r'grpc://(\S+)', server.stdout.readline()).group(1)
        report = subprocess.run([*command, 'doctor', '--cluster', 'ps=' + address, '--load', '1'],
                                stdout=subprocess.PIPE, text=True, check=True).stdout
        server.terminate()
        self.assertEqual(server.wait(30), 0)
      self.assertIn('bandwidth back', report)


if __name__ == '__main__':
  unittest.main()
