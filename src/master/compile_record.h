// What a compilation keeps of its stages, so that they can be shown later as they were. A session
// that measures its steps places each signature by the costs that it knows at that moment. Later it
// knows others, and compiling the signature again might place it anew. The passes, however, answer
// the same graph in the same way each time. So two graphs are kept, the one that was given and the
// one that was placed, with the placer's notes. From these the stages are made once more, when
// somebody asks for them (leat_compiled_show_stages); nothing is encoded before that.
//
// The copies share the attributes of their nodes with the graphs that they were made from.
#ifndef LEAT_MASTER_COMPILE_RECORD_H_
#define LEAT_MASTER_COMPILE_RECORD_H_

#include "master/master.h"

// Zeroed memory is a record that holds nothing. It is filled by one thread, and only read later.
typedef struct leat_compile_record_s {
  leat_rewrite_t source;  // the pruned graph; no graph: nothing is kept
  leat_rewrite_t placed;  // what the passes before placement made of it, with its devices
  leat_placer_options_t placement;  // with its notes and times, which lie in |arena|
  leat_arena_t arena;
} leat_compile_record_t;

// Copies |rewrite| with all of its nodes, which keep their numbers and devices.
LEAT_MUST_USE leat_status_t leat_rewrite_copy(const leat_rewrite_t* rewrite,
                                              leat_rewrite_t* out_copy);
// Begins a record with a copy of the pruned graph.
LEAT_MUST_USE leat_status_t leat_compile_record_begin(const leat_rewrite_t* source,
                                                      leat_compile_record_t* out_record);
// Places the graph of |rewrite| as leat_place does, and keeps it and the reasons.
LEAT_MUST_USE leat_status_t leat_compile_record_place(leat_compile_record_t* record,
                                                      leat_rewrite_t* rewrite,
                                                      const leat_placer_options_t* options);
void leat_compile_record_deinitialize(leat_compile_record_t* record);

#endif  // LEAT_MASTER_COMPILE_RECORD_H_
