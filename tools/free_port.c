#include "free_port.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// From 30000 on lie Kubernetes' node ports, and then the system's own.
enum { FIRST = 10000, COUNT = 20000 };

// The lock of a port is a socket of the abstract namespace, named after the port, which ends with
// the process. tests/cluster/rpc_scene.c and python/tests/free_ports.py take the same locks.
static bool lock_port(int port) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  const int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "leat-port-%d", port);
  const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
  const int lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (lock < 0) return false;
  if (bind(lock, (const struct sockaddr*)&name, size) == 0) return true;
  close(lock);
  return false;
}

bool is_free_port(int port) {
  const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  const int one = 1, tried = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (tried < 0) return false;
  setsockopt(tried, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);  // of connections that are over
  const bool is_bound = bind(tried, (const struct sockaddr*)&address, sizeof address) == 0;
  close(tried);
  return is_bound;
}

int take_free_port(void) {
  static unsigned place;
  if (place == 0 && getrandom(&place, sizeof place, 0) != sizeof place) place = (unsigned)getpid();
  for (int i = 0; i < COUNT; ++i) {
    const int port = FIRST + (int)(place++ % COUNT);
    if (is_free_port(port) && lock_port(port)) return port;
  }
  return 0;
}
