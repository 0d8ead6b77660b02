// The status of a program over HTTP, for those that watch it: /healthz answers while it lives, and
// /metrics gives its figures in the text format of Prometheus. `leat server --status-port` has it.
#ifndef LEAT_BOARD_STATUS_PAGE_H_
#define LEAT_BOARD_STATUS_PAGE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct board_status_page_s board_status_page_t;

typedef struct board_status_options_s {
  const char* host;   // "localhost" or an address; others than this machine's need a token
  uint16_t port;      // 0: any that is free
  const char* token;  // NULL: none is asked
  // Gives the figures, which are freed with free(); NULL without memory. On any thread.
  char* (*metrics)(void* data);
  void* data;
} board_status_options_t;

// Starts to answer. The options' texts must live until the page is stopped. NULL, with a message of
// |message_bytes| at most, where it cannot begin.
board_status_page_t* board_status_start(const board_status_options_t* options, char* out_message,
                                        int message_bytes);
uint16_t board_status_port(const board_status_page_t* page);
// Ends the requests under way. NULL is allowed.
void board_status_stop(board_status_page_t* page);

#endif  // LEAT_BOARD_STATUS_PAGE_H_
