// What people call threads of any process: the name of the program, or "thread of program" where it
// is not the program's first. A few answers are kept, because the system is asked through files; a
// number is given to another thread one day, so they are to be forgotten before long. One thread at
// a time uses titles.
#ifndef LEAT_BASE_THREAD_TITLES_H_
#define LEAT_BASE_THREAD_TITLES_H_

#include "base/string_view.h"

#define LEAT_THREAD_TITLES 16
#define LEAT_THREAD_TITLE_BYTES 40

typedef struct leat_thread_title_s {
  uint32_t thread;
  char text[LEAT_THREAD_TITLE_BYTES];
} leat_thread_title_t;

typedef struct leat_thread_titles_s {
  leat_thread_title_t items[LEAT_THREAD_TITLES];
  uint32_t count;  // that were asked for; the newest are kept
} leat_thread_titles_t;

// Forgets all.
void leat_thread_titles_clear(leat_thread_titles_t* titles);
// The title of a thread, by the system's numbers; empty where it is gone. It is the titles' and
// stands until the next call.
leat_string_view_t leat_thread_titles_find(leat_thread_titles_t* titles, uint32_t process,
                                           uint32_t thread);

#endif  // LEAT_BASE_THREAD_TITLES_H_
