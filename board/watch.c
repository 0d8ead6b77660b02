#include "board/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif

// So long a wait goes on after the first change, for the others that come with it.
#define GATHER_MS 20

leat_status_t board_watch_initialize(board_watch_t* out_watch) {
  *out_watch = (board_watch_t){-1, {-1, -1}};
  if (pipe(out_watch->wake)) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Watching failed: %s", strerror(errno));
  }
  for (int i = 0; i < 2; ++i) {
    fcntl(out_watch->wake[i], F_SETFL, O_NONBLOCK);
    fcntl(out_watch->wake[i], F_SETFD, FD_CLOEXEC);
  }
#ifdef __linux__
  out_watch->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
#endif
  return leat_ok_status();
}

void board_watch_deinitialize(board_watch_t* watch) {
  if (watch->events >= 0) close(watch->events);
  if (watch->wake[0] >= 0) close(watch->wake[0]);
  if (watch->wake[1] >= 0) close(watch->wake[1]);
  *watch = (board_watch_t){-1, {-1, -1}};
}

void board_watch_add(board_watch_t* watch, const char* directory) {
#ifdef __linux__
  if (watch->events >= 0) {
    inotify_add_watch(watch->events, directory,
                      IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR);
  }
#else
  (void)watch;
  (void)directory;
#endif
}

// Reads all that is there, which nobody needs to know more of.
static void drain(int descriptor) {
  char bytes[4096];
  while (descriptor >= 0 && read(descriptor, bytes, sizeof bytes) > 0) {
  }
}

void board_watch_wait(board_watch_t* watch, uint32_t timeout_ms) {
  struct pollfd sources[] = {{watch->wake[0], POLLIN, 0}, {watch->events, POLLIN, 0}};
  int ready = poll(sources, 2, (int)timeout_ms);
  if (ready > 0 && !sources[0].revents) poll(sources, 1, GATHER_MS);
  drain(watch->events);
  drain(watch->wake[0]);
}

void board_watch_pause(board_watch_t* watch, uint32_t timeout_ms) {
  struct pollfd source = {watch->wake[0], POLLIN, 0};
  poll(&source, 1, (int)timeout_ms);
}

void board_watch_wake(board_watch_t* watch) {
  ssize_t written = write(watch->wake[1], "", 1);
  (void)written;  // a full pipe wakes as well
}
