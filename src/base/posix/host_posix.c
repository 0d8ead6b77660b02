// The part of base/host.h that a system has to answer: the host's name, the number of this process
// and whether another one lives, a free port, a signal that is noted, permission for the registers
// of the matrix unit, and the environment, as far as the program may trust it. The rest of the
// library may include hardly any header of the system (the law "os" of dev/check), so a port to
// another system is mostly a rewrite of this folder.
//
// No function here returns a status, because each has an answer for the case that the system gives
// none: a host without a name is called "localhost", a port that cannot be had is 0, and a process
// that belongs to somebody else counts as alive. base/file_temporary.c needs the last of these,
// since it removes files of writers that are dead, and must not remove one that another user is
// writing. The handler of a signal only sets a flag, which is all that a handler may safely do, and
// one flag serves all signals; the flight recorder's thread polls it (trace/flight.c). Variables
// that choose what the program loads, writes or connects to are read by
// leat_environment_get_trusted, which gives nothing in a program that has more rights than its
// user.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host.h"

void leat_host_name(char* buffer, size_t size) {
  static const char fallback[] = "localhost";
  if (gethostname(buffer, size) != 0) buffer[0] = 0;
  buffer[size - 1] = 0;
  if (buffer[0] != 0) return;
  size_t count = sizeof(fallback) < size ? sizeof(fallback) : size;
  memcpy(buffer, fallback, count);
  buffer[size - 1] = 0;
}

void leat_host_run(char* buffer, size_t size) {
  const char* chosen = leat_environment_get_trusted("LEAT_HOST");
  ssize_t length = -1;
  if (chosen && chosen[0]) {
    snprintf(buffer, size, "%s", chosen);
    return;
  }
  const int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    length = read(descriptor, buffer, size - 1);
    close(descriptor);
  }
  if (length > 0) {
    buffer[length] = 0;
    buffer[strcspn(buffer, "\n")] = 0;
  } else {
    leat_host_name(buffer, size);
  }
}

int64_t leat_host_process_id(void) { return getpid(); }

// The system chooses the port of a socket that is bound to port 0.
int leat_host_unused_port(void) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t size = sizeof address;
  int port = 0;
  int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return 0;
  if (bind(descriptor, (struct sockaddr*)&address, size) == 0 &&
      getsockname(descriptor, (struct sockaddr*)&address, &size) == 0) {
    port = ntohs(address.sin_port);
  }
  close(descriptor);
  return port;
}

// Signal 0 is not delivered; the system only checks whether it could be. EPERM means that there is
// such a process and that it is somebody else's.
bool leat_host_process_is_alive(int64_t id) {
  pid_t process = (pid_t)id;
  if (process <= 0 || process != id) return false;
  return kill(process, 0) == 0 || errno == EPERM;
}

bool leat_host_permits_tiles(void) {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };  // asm/prctl.h, since Linux 5.16
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
  return false;
#endif
}

const char* leat_environment_get_trusted(const char* name) {
#if defined(__GLIBC__)
  return secure_getenv(name);  // asks the kernel, which knows of capabilities too
#else
  return getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
}

static volatile sig_atomic_t has_come;

static struct sigaction former;  // what the noted signal did before

static void note(int number) { has_come = 1; }

bool leat_host_note_signal(int number, bool notes) {
  const struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
  return notes ? sigaction(number, &action, &former) == 0 : sigaction(number, &former, NULL) == 0;
}

bool leat_host_take_signal(void) {
  if (!has_come) return false;
  has_come = 0;
  return true;
}
