"""Kubernetes' own programs, and CoreDNS, built from Go's module proxy.

Debian has no package of Kubernetes' servers. Their sources come as Go modules; Kubernetes names the
modules of its own that it consists of by folders of its repository, and here they are named by the
versions that were published with it. A build takes a quarter of an hour on two cores, so that the
programs are kept in the cache folder.
"""
import os
import re
import subprocess

KUBERNETES = '1.30.4'
COREDNS = '1.11.3'
GO = (1, 22)
PROGRAMS = ('kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kubectl')
# CoreDNS with what answers for pods, and without the plugins for the clouds.
COREDNS_MAIN = '''package main

import (
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() { coremain.Run() }
'''


def cache():
  home = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
  return os.path.join(home, 'leat', 'kubernetes-' + KUBERNETES)


def missing_go():
  """Why nothing can be built: a text, or None."""
  try:
    said = subprocess.run(['go', 'env', 'GOVERSION'], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
  except (OSError, subprocess.CalledProcessError):
    return 'Go is not installed'
  version = re.match(r'go(\d+)\.(\d+)', said)
  if not version or tuple(map(int, version.groups())) < GO:
    return 'Go is %s, must be %d.%d or newer' % (said.strip(), *GO)
  return None


def go(folder, *arguments):
  return subprocess.run(['go', *arguments], cwd=folder, env=dict(os.environ, GOFLAGS='-mod=mod'),
                        stdout=subprocess.PIPE, text=True, check=True).stdout


def write(folder, name, text):
  os.makedirs(folder, exist_ok=True)
  with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
    f.write(text)


def build_kubernetes(folder, to):
  write(folder, 'go.mod', 'module programs\n')
  source = go(folder, 'mod', 'download', '-json', 'k8s.io/kubernetes@v' + KUBERNETES)
  with open(re.search(r'"GoMod": "(.*)"', source).group(1), encoding='utf-8') as f:
    own = re.findall(r'^\s*(\S+) => \./staging/', f.read(), re.M)
  go(folder, 'mod', 'edit', '-require=k8s.io/kubernetes@v' + KUBERNETES)
  for module in own:
    go(folder, 'mod', 'edit', '-replace=%s=%s@v0%s' % (module, module, KUBERNETES[1:]))
  for program in PROGRAMS:
    print('  building %s' % program, flush=True)
    go(folder, 'build', '-o', to, 'k8s.io/kubernetes/cmd/' + program)


def build_coredns(folder, to):
  print('  building coredns', flush=True)
  write(folder, 'go.mod', 'module programs\n\nrequire github.com/coredns/coredns v%s\n' % COREDNS)
  write(folder, 'main.go', COREDNS_MAIN)
  go(folder, 'build', '-o', os.path.join(to, 'coredns'), '.')


def build():
  """The folder with the programs, which are built where they are not there yet."""
  folder = os.path.join(cache(), 'bin')
  have = os.listdir(folder) if os.path.isdir(folder) else []
  if not set(PROGRAMS) <= set(have):
    build_kubernetes(os.path.join(cache(), 'kubernetes'), folder + '/')
  if 'coredns' not in have:
    build_coredns(os.path.join(cache(), 'coredns'), folder)
  return folder
