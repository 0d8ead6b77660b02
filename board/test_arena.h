// An arena for each case of a test: |arena| is begun by set_up and freed by tear_down.
#ifndef LEAT_BOARD_TEST_ARENA_H_
#define LEAT_BOARD_TEST_ARENA_H_

#include "base/arena.h"
#include "base/test.h"

static leat_arena_t arena;

static int set_up(void** state) {
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  return 0;
}

static int tear_down(void** state) {
  leat_arena_deinitialize(&arena);
  return 0;
}

#endif  // LEAT_BOARD_TEST_ARENA_H_
