// The board as the program `leat` sees it: one call that serves a log directory until a signal
// comes.
#ifndef LEAT_BOARD_BOARD_H_
#define LEAT_BOARD_BOARD_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct board_options_s {
  const char* logdir;
  const char* host;
  const char* path_prefix;  // "" or "/x"
  const char* token;        // NULL: none
  const char* cache;        // directory of index files; NULL: none
  uint16_t port;            // 0: any that is free
  uint32_t poll_ms;
  bool json;         // the line that says where is JSON
  bool is_framed;    // pages of this machine may show it in a frame
  bool deletes_runs;  // who may ask may delete runs
} board_options_t;

// Serves, and prints one line when it is ready: the address. SIGINT and SIGTERM end it. Returns
// true then, and false, with a message of |message_bytes| at most, where it could not begin. The
// caller must have started no thread.
bool board_serve(const board_options_t* options, char* out_message, int message_bytes);

#endif  // LEAT_BOARD_BOARD_H_
