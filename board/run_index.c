#include "board/run_index.h"

void board_run_index_read(board_run_t* run, const char* cache) {
  (void)run;
  (void)cache;
}
void board_run_index_write(board_run_t* run, const char* cache) {
  (void)run;
  (void)cache;
}
