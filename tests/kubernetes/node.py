"""One machine as a whole Kubernetes: etcd, the API server, its controllers, the scheduler, CoreDNS,
and a kubelet whose containers are run by containerd.

Everything listens on addresses of the network namespace in which this program is, has its files in
one folder, and ends with the process namespace (hosts.isolate() of the tests of faults makes both).
Whoever reaches the API server may do anything: nobody but the test can.
"""
import os
import subprocess
import time

PATIENCE_S = 300  # a guard against a hang
GATEWAY = '10.89.0.1'  # the node's address in the network of the pods
PODS = '10.89.0.0/24'
SERVICES = '10.90.0.0/24'
BRIDGE = 'pods'
API = 'https://127.0.0.1:6443'

KUBECONFIG = '''apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "%s", insecure-skip-tls-verify: true}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
users: [{name: test, user: {token: test}}]
current-context: test
''' % API

KUBELET = '''apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
clusterDNS: ["%s"]
clusterDomain: cluster.local
containerRuntimeEndpoint: "unix://{folder}/containerd.sock"
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
localStorageCapacityIsolation: false
evictionHard: {memory.available: "0%%", nodefs.available: "0%%", imagefs.available: "0%%"}
imageGCHighThresholdPercent: 100
resolvConf: "{folder}/resolv.conf"
volumePluginDir: "{folder}/volume-plugins"
''' % GATEWAY

CONTAINERD = '''version = 2
root = "{folder}/containerd"
state = "{folder}/containerd-state"
[grpc]
address = "{folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "docker.io/library/pause:latest"
disable_apparmor = true
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{folder}/cni"
'''

NETWORK = '''{"cniVersion": "0.4.0", "name": "pods", "type": "bridge", "bridge": "%s",
"isGateway": true, "ipam": {"type": "host-local", "subnet": "%s", "dataDir": "{folder}/addresses",
"routes": [{"dst": "0.0.0.0/0"}]}}
''' % (BRIDGE, PODS)

COREDNS = '''cluster.local:53 {
  bind %s
  errors
  kubernetes {
    kubeconfig {folder}/kubeconfig test
  }
}
''' % GATEWAY


# What the kubelet sets for the whole machine.
TUNABLES = ('vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops',
            'kernel/keys/root_maxkeys', 'kernel/keys/root_maxbytes')


class Failure(Exception):
  """Kubernetes, or what runs on it, is not as it must be."""


def run(command, **options):
  done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                        errors='replace', check=False, **options)
  if done.returncode:
    raise Failure('%s ended with %d: %s' % (' '.join(command), done.returncode,
                                            done.stdout[-3000:]))
  return done.stdout


def wait_for(what, is_there):
  """Waits until |is_there()| is true or what it calls no longer fails."""
  deadline = time.monotonic() + PATIENCE_S
  while True:
    reason = ''
    try:
      if is_there():
        return
    except Failure as failure:
      reason = ': %s' % failure
    if time.monotonic() > deadline:
      raise Failure('%s is not there after %d s%s' % (what, PATIENCE_S, reason))
    time.sleep(0.2)


class Node:
  """Kubernetes, whose programs are in the folder |programs|, with the images of the archives."""

  def __init__(self, programs, folder, archives):
    self._programs = programs
    self._folder = folder
    self._daemons = {}
    run(['ip', 'link', 'set', 'lo', 'up'])
    run(['ip', 'link', 'add', BRIDGE, 'type', 'bridge'])
    run(['ip', 'address', 'add', GATEWAY + '/24', 'dev', BRIDGE])
    run(['ip', 'link', 'set', BRIDGE, 'up'])
    # The API server asks for a way out, though it takes none.
    run(['ip', 'route', 'add', 'default', 'dev', BRIDGE])
    for name, text in (('kubeconfig', KUBECONFIG), ('kubelet.yaml', KUBELET),
                       ('containerd.toml', CONTAINERD), ('cni/pods.conf', NETWORK),
                       ('Corefile', COREDNS), ('resolv.conf', ''),
                       ('tokens', 'test,test,test,system:masters\n')):
      self._write(name, text)
    run(['openssl', 'genrsa', '-out', self._path('accounts.pem'), '2048'])
    for name in TUNABLES:
      self._hide(name)
    self._start_control()
    self._start_containers(archives)
    wait_for('the node', lambda: 'True' in self.kubectl(
        'get', 'nodes', '-o', 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}'))
    # Made by a controller, and each pod names it.
    wait_for('the account', lambda: self.kubectl('get', 'serviceaccount', 'default'))

  def kubectl(self, *arguments, **options):
    return run([os.path.join(self._programs, 'kubectl'), *arguments], **options,
               env=dict(os.environ, KUBECONFIG=self._path('kubeconfig')))

  def stop(self):
    """Ends the daemons; the containers go with the process namespace."""
    for daemon in self._daemons.values():
      daemon.kill()
      daemon.wait()

  def logs(self):
    """The last words of each daemon."""
    for name in self._daemons:
      with open(self._path(name + '.log'), encoding='utf-8', errors='replace') as f:
        yield name, f.read()[-1500:]

  def _path(self, name):
    return os.path.join(self._folder, name)

  def _write(self, name, text):
    os.makedirs(os.path.dirname(self._path(name)), exist_ok=True)
    with open(self._path(name), 'w', encoding='utf-8') as f:
      f.write(text.replace('{folder}', self._folder))

  def _hide(self, tunable):
    """Whoever sets this parameter of the kernel's writes to a file of ours from now on."""
    path = os.path.join('/proc/sys', tunable)
    with open(path, encoding='utf-8') as f:
      self._write(tunable, f.read())
    run(['mount', '--bind', self._path(tunable), path])

  def _start(self, name, *arguments):
    program = os.path.join(self._programs, name)
    with open(self._path(name + '.log'), 'w') as log:
      self._daemons[name] = subprocess.Popen(
          [program if os.path.exists(program) else name, *arguments], stdin=subprocess.DEVNULL,
          stdout=log, stderr=log, cwd=self._folder)

  def _start_control(self):
    kubeconfig = '--kubeconfig=' + self._path('kubeconfig')
    accounts = self._path('accounts.pem')
    self._start('etcd', '--data-dir=' + self._path('etcd'))
    self._start('kube-apiserver', '--etcd-servers=http://127.0.0.1:2379',
                '--service-cluster-ip-range=' + SERVICES, '--advertise-address=' + GATEWAY,
                '--cert-dir=' + self._path('certificates'), '--authorization-mode=AlwaysAllow',
                '--token-auth-file=' + self._path('tokens'),
                '--service-account-issuer=' + API, '--service-account-key-file=' + accounts,
                '--service-account-signing-key-file=' + accounts,
                '--kubelet-preferred-address-types=InternalIP')
    wait_for('the API server', lambda: self.kubectl('get', '--raw', '/readyz') == 'ok')
    self._start('kube-controller-manager', kubeconfig, '--leader-elect=false',
                '--service-account-private-key-file=' + accounts)
    self._start('kube-scheduler', kubeconfig, '--leader-elect=false')
    self._start('coredns', '-conf', self._path('Corefile'))

  def _start_containers(self, archives):
    self._start('containerd', '--config', self._path('containerd.toml'))
    ctr = ['ctr', '--address', self._path('containerd.sock'), '--namespace', 'k8s.io']
    wait_for('containerd', lambda: run([*ctr, 'version']))
    for archive in archives:
      run([*ctr, 'images', 'import', archive])
    self._start('kubelet', '--config=' + self._path('kubelet.yaml'),
                '--kubeconfig=' + self._path('kubeconfig'), '--root-dir=' + self._path('kubelet'),
                '--node-ip=' + GATEWAY, '--hostname-override=node')
