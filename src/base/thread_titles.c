#include "base/thread_titles.h"

#include <stdio.h>
#include <string.h>

#include "base/thread.h"

void leat_thread_titles_clear(leat_thread_titles_t* titles) { titles->count = 0; }

leat_string_view_t leat_thread_titles_find(leat_thread_titles_t* titles, uint32_t process,
                                           uint32_t thread) {
  char name[16], program[16] = "";
  for (uint32_t i = 0; i < titles->count && i < LEAT_THREAD_TITLES; ++i) {
    const leat_thread_title_t* known = &titles->items[i];
    if (known->thread == thread) return leat_string_view_from(known->text);
  }
  leat_thread_title_t* title = &titles->items[titles->count++ % LEAT_THREAD_TITLES];
  title->thread = thread;
  leat_thread_name_of(process, thread, name);
  if (process != thread) leat_thread_name_of(process, process, program);
  const bool has_both = name[0] && program[0] && strcmp(name, program);
  snprintf(title->text, sizeof title->text, "%s%s%s", name, has_both ? " of " : "",
           has_both ? program : "");
  return leat_string_view_from(title->text);
}
