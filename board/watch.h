// Tells when something is written below a directory, where the system can tell (inotify, Linux).
// Whoever waits must look by itself now and then: nothing is told of network file systems, nor of
// directories beyond the system's limit of watches.
#ifndef LEAT_BOARD_WATCH_H_
#define LEAT_BOARD_WATCH_H_

#include <stdint.h>

#include "base/status.h"

typedef struct board_watch_s {
  int events;   // inotify; -1 where there is none
  int wake[2];  // a pipe: what is written to [1] ends a wait
} board_watch_t;

LEAT_MUST_USE leat_status_t board_watch_initialize(board_watch_t* out_watch);
void board_watch_deinitialize(board_watch_t* watch);
// Watches one directory, not those below it; watching it twice is the same as once.
void board_watch_add(board_watch_t* watch, const char* directory);
// Waits for a change, for board_watch_wake, or for |timeout_ms|. Changes that come together within
// some milliseconds are one.
void board_watch_wait(board_watch_t* watch, uint32_t timeout_ms);
// Waits for board_watch_wake or |timeout_ms|, whatever changes meanwhile.
void board_watch_pause(board_watch_t* watch, uint32_t timeout_ms);
// Any thread.
void board_watch_wake(board_watch_t* watch);

#endif  // LEAT_BOARD_WATCH_H_
